"""Marks on numbers: registered if the analysis was planned before the data, otherwise explored.

A number is registered if a plan frozen before the first answer names its analysis and run, and
nothing it depends on departs from the plan. Counts and records (costs, exclusions, versions) have
no mark.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from analysis.data.frozen_plan import SEALED, USUAL_FRAMING, Departure
from analysis.report.report_json import Json, put
from analysis.report.words import number_of, reason

if TYPE_CHECKING:
    from analysis.data.arrays import Exclusion, RunData
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
    "human.annotators human.answers human.people human.quotas human.checks human.not_counted "
    "human.pay human.coverage human.raters human.majority.ties human.majority.no_truth "
    "human.majority.no_votes human.individual.no_truth judges.*.judge judges.*.run "
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
    data, plan = study.data, study.data.plan
    out: Json = {}
    put(out, "plan", None if plan is None else _plan_entry(plan), "no_plan")
    put(out, "as_registered", None if alone is None else main_part(alone), "no_other_items")
    if plan is not None:
        sealed = plan.content.get("sealed", {})
        out["not_sealed"] = [words for key, words in SEALED.items() if not sealed.get(key)]
    if plan is None:
        out["because"] = data.no_plan
    departures = [] if plan is None else _departures(plan, study, analyses, asked)
    out["departures"] = departures
    out["late_changes"] = [asdict(change) for change in data.late_changes]
    out["analyses"] = [
        {"analysis": a.code, "label": a.label, "tables": list(a.tables), "paths": list(a.paths)}
        | (_mark(plan, a, departures) if plan else {"mark": "explored", "because": data.no_plan})
        | (_not_computed(report, a) if plan and a.code in plan.content["analyses"] else {})
        for a in analyses
    ]
    out["runs"] = [
        {"run": run.run, "judge": run.judge, "mark": run_mark(plan, run)} for run in data.runs
    ]
    out["rule"] = (
        "A number has the mark of the analysis with the longest matching path prefix; without "
        "one it is explored. Inside the entry of a run, it is registered only if that run is."
    )
    out["records"] = list(RECORDS)
    return out


def mark_of(report: Mapping[str, Any], path: Path) -> RegistrationMark | None:
    """The mark of the number at `path` of report.json; None for a record."""
    found = report["registration"]
    keys = ["*" if isinstance(key, int) else key for key in path]
    best, mark = _longest(keys, found["records"]), None
    for entry in found["analyses"]:
        length = _longest(keys, entry["paths"])
        if length > best:
            best, mark = length, entry["mark"]
    if mark is None:
        return None if best else "explored"
    run = _run_at(report, path)
    if (
        run is None
        and not _is_single(str(path[0]))
        and any("run" in d for d in found["departures"])
    ):
        return "explored"
    planned = {entry["run"]: entry["mark"] != "explored" for entry in found["runs"]}
    return mark if run is None or planned[run] else "explored"


@dataclass(frozen=True)
class TableMark:
    """The mark of a table: one word, and a sentence that explains it."""

    mark: RegistrationMark
    word: str
    because: str


def table_mark(report: Mapping[str, Any], table: Table) -> TableMark | None:
    """The mark of a table of the report; None for records and for reports without a plan."""
    found = report.get("registration")
    if found is None or found["plan"] is None or table.is_record:
        return None
    kind = table.family or table.name
    entry = next((entry for entry in found["analyses"] if kind in entry["tables"]), None)
    if entry is None:
        return TableMark("explored", WORDS["explored"], "The plan does not name this analysis.")
    word, because = WORDS[entry["mark"]], entry["because"]
    others = sorted({run["judge"] for run in found["runs"] if run["mark"] == "explored"})
    if entry["mark"] != "explored" and others:
        word += ", in part"
        because += f" Explored, because they differ from the plan: runs of {', '.join(others)}."
    return TableMark(entry["mark"], word, because)


def alone_on_sealed(study: ReportedStudy) -> ReportedStudy | None:
    """The registered data:

    sealed items, planned runs and the plan's parameters. None if the plan sealed all items of the
    study or none.
    """
    data, plan = study.data, study.data.plan
    if plan is None or data.is_sealed is None:
        return None
    planned = [run for run in data.runs if planned_as(run) in plan.content["judges"]]
    return replace(
        study,
        data=data.on_sealed_items(planned or data.runs),
        threshold=plan.content["threshold"],
        seed=plan.content["seed"],
        draws=plan.content["bootstrap"],
    )


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
    found = {key: cell[key] for key in names if key in cell}
    ci = cell["clusters"]
    return found | {key: ci[key] for key in ("ci", "ci_reason") if key in ci}


def _plan_entry(plan: FrozenPlan) -> Json:
    sealed = plan.content.get("sealed", {})
    items = {key: value for key, value in sealed.get("items", {}).items() if key != "each"}
    return {
        **plan.content,
        "sealed": sealed | {"items": items},
        "seal": plan.seal,
        "frozen_at": plan.frozen_at,
        "answers_by_then": plan.answers,
        "judgments_by_then": plan.judgments,
        "before_data": plan.is_before_data,
    }


def _departures(
    plan: FrozenPlan, study: ReportedStudy, analyses: Sequence[Analysis], asked: Mapping[str, str]
) -> list[Json]:
    """Departures from the plan, and the analyses that they make explored.

    Different words make their run explored, and everything that several runs share.
    """
    data, found = study.data, list[Json]()
    for key, affected, done in (
        ("threshold", "threshold", study.threshold),
        ("seed", "resamples", study.seed),
        ("bootstrap", "resamples", study.draws),
    ):
        if done != plan.content[key]:
            found.append(
                {
                    "what": key,
                    "planned": plan.content[key],
                    "done": done,
                    "affects": [a.code for a in analyses if affected in a.uses],
                    **asked,
                }
            )
    # Runs of judges do not depend on annotators' answers, but every comparison does.
    everything = [a.code for a in analyses]
    if people := data.not_counted.get("excluded_people", 0):
        # A rule in words cannot be checked by the program, so any exclusion is a departure.
        found.append(
            {
                "what": "exclusions",
                "planned": plan.content["exclusions"] or "nobody is excluded",
                "done": f"{number_of(people, 'person')} {'is' if people == 1 else 'are'} excluded",
                "affects": everything,
            }
            | _when_excluded(data.exclusions)
        )
    found += [asdict(each) | {"affects": everything} for each in data.departures]
    prompts = plan.content.get("sealed", {}).get("prompts", [])
    for place, wanted in enumerate(plan.content["judges"]):
        same = [run for run in data.runs if planned_as(run) == wanted]
        shared = [a.code for a in analyses if not any(map(_is_single, a.paths))]
        for run in same:
            if _has_other_words(plan, place, run):
                what = f"wording for {wanted['judge']}"
                hashes = f"{prompts[place][:12]}…", f"{run.prompt.stored[:12]}…"
                departure = Departure(what, *hashes, *data.begun.get(run.run, ()))
                found.append(asdict(departure) | {"affects": shared, "run": run.run})
        if not same:
            parts = [wanted["setting"], wanted["features"]]
            parts += [wanted[key] for key in ("wording", "framing") if key in wanted]
            name = f"{wanted['judge']} ({', '.join(parts)})"
            found.append({"what": "judge", "planned": name, "done": "not run", "affects": []})
    return found


def _mark(plan: FrozenPlan, analysis: Analysis, departures: Sequence[Json]) -> Json:
    if analysis.code not in plan.content["analyses"]:
        return {"mark": "explored", "because": "The plan does not name this analysis."}
    broken = [d for d in departures if analysis.code in d["affects"]]
    if broken:
        changes = "; ".join(f"{d['what']}: {d['done']}, planned {d['planned']}" for d in broken)
        return {"mark": "explored", "because": f"Changed from the plan ({changes})."}
    if not plan.is_before_data:
        return {
            "mark": "late",
            "because": (
                f"The plan was frozen when {plan.answers:,} answers and {plan.judgments:,} "
                "judgments already existed."
            ),
        }
    return {"mark": "registered", "because": "In the plan frozen before the data."}


def _not_computed(report: ReportJson, analysis: Analysis) -> Json:
    """Why the report has no number of a planned analysis; empty if it has one."""
    reasons = dict[str, None]()
    for path in analysis.main or analysis.paths:
        for value, why in _values(report, path.split(".")):
            if isinstance(value, float):  # Counts are whole numbers.
                return {}
            if value is None:
                reasons[reason(why)] = None
    if not reasons and "failed_parts" in report:
        reasons["a part of the report failed"] = None
    return {"not_computed": "; ".join(reasons) or "there are no data for it"}


def _values(value: Any, path: Sequence[str], why: str = "") -> Iterator[tuple[Any, str]]:
    """The values at a path and below it, each with the code of the reason if it is undefined."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            if not path or path[0] == key:
                yield from _values(inner, path[1:], value.get(f"{key}_reason", ""))
    elif isinstance(value, list):
        for inner in value:
            yield from _values(inner, path[1:], why)
    else:
        yield value, why


def _is_single(path: str) -> bool:
    """Whether numbers below a path are about people alone, or about a named run."""
    return path.partition(".")[0] in ("human", "judges", "comparison")


def _has_other_words(plan: FrozenPlan, place: int, run: RunData) -> bool:
    """Whether a run is known to differ from its entry in the plan."""
    prompts = plan.content.get("sealed", {}).get("prompts")
    return bool(prompts and run.prompt.stored and run.prompt.stored != prompts[place])


def run_mark(plan: FrozenPlan | None, run: RunData) -> RegistrationMark:
    """The mark of a run; plans also identify wordings by hash."""
    wanted = [] if plan is None else plan.content["judges"]
    if plan is None or planned_as(run) not in wanted:
        return "explored"
    if _has_other_words(plan, wanted.index(planned_as(run)), run):
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


def _when_excluded(exclusions: Sequence[Exclusion]) -> Json:
    """The days of exclusions, who made them, and how many came after a first report."""
    if not exclusions:
        return {}
    late = sum(each.after_report for each in exclusions)
    return {
        "on": ", ".join(sorted({each.on for each in exclusions})),
        "by": ", ".join(sorted({each.by for each in exclusions} - {""})),
        "after_first_report": late,
    }
