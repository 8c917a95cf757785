"""Marks on numbers: registered if the analysis was planned before the data, otherwise explored.

A number is registered if a plan frozen before the first answer names its analysis and run, and
nothing it depends on departs from the plan. Counts and records (costs, exclusions, versions) have
no mark.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Literal

from analysis.data.frozen_plan import USUAL_FRAMING, keeper
from analysis.report.report_json import Json, put

if TYPE_CHECKING:
    from analysis.data.arrays import RunData
    from analysis.data.frozen_plan import FrozenPlan
    from analysis.report.report_json import ReportJson
    from analysis.report.section import Analysis
    from analysis.report.study import ReportedStudy
    from analysis.report.tables import Table

RegistrationMark = Literal["registered", "late", "explored"]
Path = Sequence[str | int]

WORDS: Mapping[str, str] = {
    "registered": "registered",
    "late": "planned after the first data",
    "explored": "explored",
}


def mark_word(mark: RegistrationMark) -> str:
    return WORDS[mark]


# Records rather than findings; `items` and `bands` hold data and definitions.
RECORDS = (
    "schema study inputs seed parameters software bands items items_left_out view deviations "
    "registration "
    "limitations "
    "human.annotators human.answers human.people human.imported human.quotas human.checks "
    "human.not_counted human.pay human.coverage human.raters human.majority.ties "
    "human.majority.no_truth human.majority.no_votes human.individual.no_truth judges.*.judge "
    "judges.*.run "
    "judges.*.setting judges.*.features judges.*.items judges.*.excluded judges.*.judgments "
    "judges.*.replies judges.*.cost judges.*.record"
).split()


def registration(
    study: ReportedStudy,
    report: ReportJson,
    analyses: Sequence[Analysis],
    alone: Json | None,
    asked: Mapping[str, str],
) -> Json:
    """The plan, departures from it, and the mark of every analysis and run.

    `report` has all chapters; `alone` is the report of the registered analyses on the sealed items,
    if these are not all items; `asked` is when and by whom the report was requested.
    """
    data, plans = study.data, keeper()
    planned: Json = {}
    if data.plan is not None and plans is not None:
        planned = plans.registration(study, report, analyses, asked)
    out: Json = {}
    put(out, "plan", planned.get("plan"), "no_plan")
    put(out, "as_registered", None if alone is None else main_part(alone), "no_other_items")
    out |= {"not_sealed": planned["not_sealed"]} if planned else {"because": data.no_plan}
    out["departures"] = planned.get("departures", [])
    out["late_changes"] = [asdict(change) for change in data.late_changes]
    out["late_extras"] = [asdict(extra) for extra in data.late_extras]
    unplanned = {"mark": "explored", "because": data.no_plan}
    out["analyses"] = [
        {"analysis": a.code, "label": a.label, "tables": list(a.tables), "paths": list(a.paths)}
        | (planned["analyses"][a.code] if planned else unplanned)
        for a in analyses
    ]
    out["runs"] = [
        {"run": run.run, "judge": run.judge, "mark": run_mark(data.plan, run)} for run in data.runs
    ]
    out["rule"] = (
        "A number has the mark of the analysis with the longest matching path prefix; without "
        "one it is explored. Inside the entry of a run, it is registered only if that run is."
    )
    out["records"] = list(RECORDS)
    return out


def mark_of(report: Mapping[str, Any], path: Path) -> RegistrationMark | None:
    """The mark of the number at `path` of report.json; None for a record."""
    registered = report["registration"]
    keys = ["*" if isinstance(key, int) else key for key in path]
    best, mark = _longest(keys, registered["records"]), None
    for entry in registered["analyses"]:
        length = _longest(keys, entry["paths"])
        if length > best:
            best, mark = length, entry["mark"]
    if mark is None:
        return None if best else "explored"
    run = _run_at(report, path)
    if (
        run is None
        and not is_single(str(path[0]))
        and any("run" in d for d in registered["departures"])
    ):
        return "explored"
    planned = {entry["run"]: entry["mark"] != "explored" for entry in registered["runs"]}
    return mark if run is None or planned[run] else "explored"


@dataclass(frozen=True)
class TableMark:
    """The mark of a table: one word, and a sentence that explains it."""

    mark: RegistrationMark
    word: str
    because: str


def table_mark(report: Mapping[str, Any], table: Table) -> TableMark | None:
    """The mark of a table of the report; None for records and for reports without a plan."""
    registered = report.get("registration")
    if registered is None or registered["plan"] is None or table.is_record:
        return None
    kind = table.family or table.name
    entry = next((entry for entry in registered["analyses"] if kind in entry["tables"]), None)
    if entry is None:
        return TableMark("explored", WORDS["explored"], "The plan does not name this analysis.")
    word, because = WORDS[entry["mark"]], entry["because"]
    others = sorted({run["judge"] for run in registered["runs"] if run["mark"] == "explored"})
    if entry["mark"] != "explored" and others:
        word += ", in part"
        because += f" Explored, because they differ from the plan: runs of {', '.join(others)}."
    return TableMark(entry["mark"], word, because)


def main_part(report: Json) -> Json:
    """The headline of a report, and its numbers."""
    return {
        "state": report["headline"]["state"],
        "answers": report["human"]["answers"],
        "majority": _share(report["human"]["majority"]),
        "judges": [
            {
                **{key: judge[key] for key in ("judge", "run", "setting", "features")},
                **_share(judge),
            }
            for judge in report["judges"]
        ],
        "differences": [
            {
                key: value
                for key, value in entry["difference_general"].items()
                if key in ("value", "value_reason", "n", "ci", "ci_reason", "p_holm", "state")
            }
            for entry in report["comparison"]
        ],
    }


def _share(cell: Json) -> Json:
    """A share for tables, with its interval in general."""
    names = ("n", "correct", "accuracy", "accuracy_reason")
    share = {key: cell[key] for key in names if key in cell}
    ci = cell["clusters"]
    return share | {key: ci[key] for key in ("ci", "ci_reason") if key in ci}


def is_single(path: str) -> bool:
    """Whether numbers below a path are about people alone, or about a named run."""
    return path.partition(".")[0] in ("human", "judges", "comparison")


def has_other_words(plan: FrozenPlan, place: int, run: RunData) -> bool:
    """Whether a run is known to differ from its entry in the plan."""
    prompts = plan.content.get("sealed", {}).get("prompts")
    return bool(prompts and run.prompt.stored and run.prompt.stored != prompts[place])


def run_mark(plan: FrozenPlan | None, run: RunData) -> RegistrationMark:
    """The mark of a run; plans also identify wordings by hash."""
    wanted = [] if plan is None else plan.content["judges"]
    if plan is None or planned_as(run) not in wanted:
        return "explored"
    if has_other_words(plan, wanted.index(planned_as(run)), run):
        return "explored"
    return "registered" if plan.is_before_data else "late"


def planned_as(run: RunData) -> Json:
    """The plan entry that names this run; wording and framing only if not the defaults."""
    entry = {"judge": run.judge, "setting": run.setting, "features": run.features}
    if run.wording:
        entry |= {"wording": run.wording, "wording_sha256": run.wording_sha256}
    if run.framing != USUAL_FRAMING:
        entry["framing"] = run.framing
    return entry


def _run_at(report: Mapping[str, Any], path: Path) -> str | None:
    """The run that the number at `path` belongs to, if it belongs to one."""
    entry: Any = report
    for key in path[:2]:
        entry = entry[key]
        if isinstance(entry, Mapping) and "run" in entry:
            break
    return entry.get("run") if isinstance(entry, Mapping) else None


def _longest(keys: Sequence[str], patterns: Sequence[str]) -> int:
    """The length of the longest of `patterns` that begins `keys`; 0 if none does."""
    lengths = [0]
    for pattern in patterns:
        parts = pattern.split(".")
        if list(keys[: len(parts)]) == parts:
            lengths.append(len(parts))
    return max(lengths)
