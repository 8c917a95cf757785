"""Registered or explored: of each number, whether it was announced before the data.

A number is registered where its analysis is in a plan that was frozen before the first answer, the
run it belongs to is in that plan too, and nothing it depends on was chosen otherwise. Counts and
records of what was done (costs, exclusions, versions) are neither.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from analysis.data.arrays import Dataset, Plan, Run
from analysis.report.encode import Json, put

Mark = Literal["registered", "late", "explored"]
Path = Sequence[str | int]

WORDS: Mapping[str, str] = {
    "registered": "registered",
    "late": "planned after the first data",
    "explored": "explored",
}


def mark_word(mark: Mark) -> str:
    return WORDS[mark]


@dataclass(frozen=True)
class Analysis:
    """Something that a plan can name: the tables and the keys of report.json that show it.

    `paths` begin keys of report.json, with `*` for any place in a list; `uses` names the
    parameters that change its numbers.
    """

    code: str
    label: str
    tables: tuple[str, ...]
    paths: tuple[str, ...]
    uses: frozenset[str] = frozenset()


def _analysis(code: str, label: str, tables: str, paths: str, uses: str = "") -> Analysis:
    return Analysis(
        code, label, tuple(tables.split()), tuple(paths.split()), frozenset(uses.split())
    )


ANALYSES = (
    _analysis(
        "accuracy",
        "How often people and judges are right",
        "at_a_glance clusters",
        "human.majority human.individual judges.*",
    ),
    _analysis(
        "certain",
        "How often each is right where it is certain",
        "table_a table_b table_b_single single_intervals paper_compat",
        "human.majority.high human.majority.low human.majority.at_threshold "
        "human.individual.high human.individual.low human.individual.at_threshold "
        "judges.*.high judges.*.low judges.*.at_threshold "
        "human.majority.paper_compat human.individual.paper_compat judges.*.paper_compat",
        "threshold",
    ),
    _analysis(
        "difference",
        "Judge less majority of people, in general and for these annotators",
        "comparison difference_intervals",
        "headline comparison.*.difference comparison.*.difference_general comparison.*.mcnemar",
    ),
    _analysis(
        "equivalence",
        "Whether the two are equivalent within the margin",
        "",
        "comparison.*.difference.state comparison.*.difference.equivalence_p "
        "comparison.*.difference.equivalence_ci comparison.*.difference.margin "
        "comparison.*.difference_general.state comparison.*.difference_general.equivalence_p "
        "comparison.*.difference_general.equivalence_p_holm "
        "comparison.*.difference_general.equivalence_ci comparison.*.difference_general.margin",
        "margin",
    ),
    _analysis(
        "agreement",
        "Agreement among people, and of judges with them",
        "agreement aggregation agreement_matrix agreement_matrix_alpha",
        "human.agreement human.aggregation matrix comparison.*.agreement_with_majority "
        "comparison.*.agreement_ci comparison.*.cohen_kappa comparison.*.cohen_kappa_ci",
        "resamples",
    ),
    _analysis(
        "replacement",
        "Whether the judge could sit among the people (alt-test, kappa, leave one out)",
        "replacement leave_one_out",
        "comparison.*.alt_test comparison.*.pooled_replacement comparison.*.human_likeness "
        "comparison.*.human_likeness_z comparison.*.leave_one_out",
        "resamples",
    ),
    _analysis(
        "calibration",
        "Whether certainty tells right from wrong (ECE, Brier, AUROC, risk and coverage)",
        "certainty certainty_histogram reliability thresholds coverage bands certainty_measures "
        "other_certainties certified",
        "human.majority.calibration human.majority.certainty human.individual.calibration "
        "human.individual.certainty judges.*.calibration judges.*.certainty "
        "judges.*.other_certainties selective",
        "threshold resamples",
    ),
    _analysis(
        "certainty_beside",
        "People's certainty beside the judge's, and both where they are certain",
        "like_for_like high_sets interaction certainty_by_item by_band",
        "certainty_headline comparison.*.certainty comparison.*.by_band",
        "threshold resamples",
    ),
    _analysis(
        "ablations",
        "What judges lose with less of the persona",
        "ablations ablation_cells",
        "ablations",
    ),
    _analysis(
        "position",
        "Whether the side of the screen matters",
        "position ties verbosity",
        "human.position judges.*.position judges.*.ties human.verbosity judges.*.verbosity",
    ),
    _analysis(
        "groups",
        "Topics, groups of personas, and who judges whom",
        "groups personas own_group",
        "groups who_judges_whom annotator_groups",
    ),
    _analysis(
        "several",
        "Which judge is best (Cochran's Q, pairs, ranks)",
        "several_judges ranks",
        "several_judges",
        "resamples",
    ),
)
CODES = tuple(analysis.code for analysis in ANALYSES)

# What was done rather than found out; `items` and `bands` hold data and definitions.
RECORDS = (
    "schema study inputs seed parameters software bands items registration limitations "
    "human.annotators human.answers human.people human.quotas human.checks human.not_counted "
    "human.pay human.coverage human.raters human.majority.ties human.majority.no_truth "
    "human.majority.no_votes human.individual.no_truth judges.*.judge judges.*.run "
    "judges.*.setting judges.*.features judges.*.items judges.*.excluded judges.*.judgments "
    "judges.*.replies judges.*.cost judges.*.record"
).split()
# Of these tables there is one for each grouping.
GROUP_TABLES = ("group_", "differences_", "whom_", "annotators_", "annotator_differences_")
RECORD_TABLES = frozenset(
    "people quotas excluded cost price raters items methods band_definitions registered".split()
)


def registration(data: Dataset, *, threshold: float, seed: int, bootstrap: int) -> Json:
    """What was planned, what was done otherwise, and the mark of every analysis and run."""
    plan = data.plan
    out: Json = {}
    put(out, "plan", None if plan is None else _told(plan), "no_plan")
    if plan is None:
        out["because"] = data.no_plan
    done = {"threshold": threshold, "seed": seed, "bootstrap": bootstrap}
    departures = [] if plan is None else _departures(plan, data, done)
    out["departures"] = departures
    out["late_changes"] = [asdict(change) for change in data.late_changes]
    out["analyses"] = [
        {"analysis": a.code, "label": a.label, "tables": list(a.tables), "paths": list(a.paths)}
        | (_mark(plan, a, departures) if plan else {"mark": "explored", "because": data.no_plan})
        for a in ANALYSES
    ]
    out["runs"] = [
        {"run": run.run, "judge": run.judge, "mark": _run_mark(plan, run)} for run in data.runs
    ]
    out["rule"] = (
        "A number has the mark of the analysis with the longest path that begins its own; without "
        "one it is explored. Below an entry that names a run it is registered only if that run is."
    )
    out["records"] = list(RECORDS)
    return out


def mark_of(report: Mapping[str, Any], path: Path) -> Mark | None:
    """The mark of the number at `path` of report.json; None for a record of what was done."""
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
    planned = {entry["run"]: entry["mark"] != "explored" for entry in found["runs"]}
    return mark if run is None or planned[run] else "explored"


@dataclass(frozen=True)
class TableMark:
    """How a table is marked: one word, and a sentence for whoever asks why."""

    mark: Mark
    word: str
    because: str


def table_mark(report: Mapping[str, Any], table: str) -> TableMark | None:
    """The mark of a table of the report; None for records and where there is no plan at all."""
    found = report.get("registration")
    if found is None or found["plan"] is None or table in RECORD_TABLES:
        return None
    kind = "groups" if table.startswith(GROUP_TABLES) else table
    entry = next((entry for entry in found["analyses"] if kind in entry["tables"]), None)
    if entry is None:
        return TableMark("explored", WORDS["explored"], "The plan does not name this analysis.")
    word, because = WORDS[entry["mark"]], entry["because"]
    others = sorted({run["judge"] for run in found["runs"] if run["mark"] == "explored"})
    if entry["mark"] != "explored" and others:
        word += ", in part"
        because += f" Not in the plan, and so explored: runs of {', '.join(others)}."
    return TableMark(entry["mark"], word, because)


def _told(plan: Plan) -> Json:
    return {
        **plan.content,
        "seal": plan.seal,
        "frozen_at": plan.frozen_at,
        "answers_by_then": plan.answers,
        "judgments_by_then": plan.judgments,
        "before_data": plan.is_before_data,
    }


def _departures(plan: Plan, data: Dataset, done: Mapping[str, Any]) -> list[Json]:
    """What was done otherwise than planned, and which analyses that makes explored."""
    found = []
    for key, affected in (("threshold", "threshold"), ("seed", "resamples"),
                          ("bootstrap", "resamples")):  # fmt: skip
        if done[key] != plan.content[key]:
            found.append(
                {
                    "what": key,
                    "planned": plan.content[key],
                    "done": done[key],
                    "affects": [a.code for a in ANALYSES if affected in a.uses],
                }
            )
    people = data.not_counted.get("excluded_people", 0)
    if people and not plan.content["exclusions"]:
        found.append(
            {
                "what": "exclusions",
                "planned": "nobody is excluded",
                "done": f"{people} people are excluded",
                # Runs of judges rest on nobody's answers, but every comparison does.
                "affects": list(CODES),
            }
        )
    asked = {(run.judge, run.setting, run.features) for run in data.runs}
    for wanted in plan.content["judges"]:
        if (wanted["judge"], wanted["setting"], wanted["features"]) not in asked:
            name = f"{wanted['judge']} ({wanted['setting']}, {wanted['features']})"
            found.append({"what": "judge", "planned": name, "done": "not run", "affects": []})
    return found


def _mark(plan: Plan, analysis: Analysis, departures: Sequence[Json]) -> Json:
    if analysis.code not in plan.content["analyses"]:
        return {"mark": "explored", "because": "The plan does not name this analysis."}
    broken = [d for d in departures if analysis.code in d["affects"]]
    if broken:
        told = "; ".join(f"{d['what']}: {d['done']}, planned {d['planned']}" for d in broken)
        return {"mark": "explored", "because": f"Done otherwise than planned ({told})."}
    if not plan.is_before_data:
        return {
            "mark": "late",
            "because": f"The plan was frozen when {plan.answers:,} answers and "
            f"{plan.judgments:,} judgments were there already.",
        }
    return {"mark": "registered", "because": "In the plan that was frozen before the data."}


def _run_mark(plan: Plan | None, run: Run) -> Mark:
    if plan is None:
        return "explored"
    own = {"judge": run.judge, "setting": run.setting, "features": run.features}
    if own not in plan.content["judges"]:
        return "explored"
    return "registered" if plan.is_before_data else "late"


def _run_at(report: Mapping[str, Any], path: Path) -> str | None:
    """The run that the number at `path` belongs to, if it belongs to one."""
    entry: Any = report
    for key in path[:2]:
        entry = entry[key]
        if isinstance(entry, Mapping) and "run" in entry:
            break
    return entry.get("run") if isinstance(entry, Mapping) else None


def _longest(keys: Sequence[str], patterns: Sequence[str]) -> int:
    """The length of the longest of `patterns` that begins `keys`; 0 without any."""
    lengths = [0]
    for pattern in patterns:
        parts = pattern.split(".")
        if list(keys[: len(parts)]) == parts:
            lengths.append(len(parts))
    return max(lengths)
