"""What a report says of a plan: the plan itself, departures from it, and marks of analyses."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

from analysis.data.arrays import Exclusion
from analysis.data.frozen_plan import Departure, FrozenPlan
from analysis.report.registration import has_other_words, is_single, mark_word, planned_as
from analysis.report.report_json import Json, ReportJson
from analysis.report.section import Analysis, Section
from analysis.report.study import ReportedStudy
from analysis.report.tables import CellKind, Table, TableColumn
from analysis.report.words import number_of, reason, run_names
from extras.frozen_plans.deviations import effect_words
from extras.frozen_plans.plans import SEALED


def of_plan(
    study: ReportedStudy,
    report: ReportJson,
    analyses: Sequence[Analysis],
    asked: Mapping[str, str],
) -> Json:
    """The plan, what it did not seal, departures, and the mark of each analysis by its code."""
    plan = study.data.plan
    assert plan is not None  # noqa: S101 - only reports with a plan ask
    sealed = plan.content.get("sealed", {})
    departures = _departures(plan, study, analyses, asked)
    planned = plan.content["analyses"]
    return {
        "plan": _plan_entry(plan),
        "not_sealed": [words for key, words in SEALED.items() if not sealed.get(key)],
        "departures": departures,
        "analyses": {
            a.code: _mark(plan, a, departures)
            | (_not_computed(report, a) if a.code in planned else {})
            for a in analyses
        },
    }


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
    data, departures = study.data, list[Json]()
    for key, affected, done in (
        ("threshold", "threshold", study.threshold),
        ("seed", "resamples", study.seed),
        ("bootstrap", "resamples", study.draws),
    ):
        if done != plan.content[key]:
            departures.append(
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
        departures.append(
            {
                "what": "exclusions",
                "planned": plan.content["exclusions"] or "nobody is excluded",
                "done": f"{number_of(people, 'person')} {'is' if people == 1 else 'are'} excluded",
                "affects": everything,
            }
            | _when_excluded(data.exclusions)
        )
    departures += [asdict(one) | {"affects": everything} for one in data.departures]
    prompts = plan.content.get("sealed", {}).get("prompts", [])
    for place, wanted in enumerate(plan.content["judges"]):
        same = [run for run in data.runs if planned_as(run) == wanted]
        shared = [a.code for a in analyses if not any(map(is_single, a.paths))]
        for run in same:
            if has_other_words(plan, place, run):
                what = f"wording for {wanted['judge']}"
                hashes = f"{prompts[place][:12]}…", f"{run.prompt.stored[:12]}…"
                departure = Departure(what, *hashes, *data.begun.get(run.run, ()))
                departures.append(asdict(departure) | {"affects": shared, "run": run.run})
        if not same:
            parts = [wanted["setting"], wanted["features"]]
            parts += [wanted[key] for key in ("wording", "framing") if key in wanted]
            name = f"{wanted['judge']} ({', '.join(parts)})"
            departures.append({"what": "judge", "planned": name, "done": "not run", "affects": []})
    return departures


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


def _when_excluded(exclusions: Sequence[Exclusion]) -> Json:
    """The days of exclusions, who made them, and how many came after a first report."""
    if not exclusions:
        return {}
    late = sum(exclusion.after_report for exclusion in exclusions)
    return {
        "on": ", ".join(sorted({exclusion.on for exclusion in exclusions})),
        "by": ", ".join(sorted({exclusion.by for exclusion in exclusions} - {""})),
        "after_first_report": late,
    }


def registered(report: ReportJson) -> Table:
    """The mark of every analysis; empty without a plan, because then all are explored."""
    registration = report["registration"]
    rows = [
        [entry["label"], mark_word(entry["mark"]), " ".join(_why(entry))]
        for entry in registration["analyses"]
    ]
    columns = (TableColumn("Analysis"), TableColumn("Mark"), TableColumn("Why"))
    title = "What was registered and what was explored"
    return Table("registered", title, columns, rows if registration["plan"] else [], is_record=True)


def _why(analysis: Mapping[str, str]) -> Iterator[str]:
    yield analysis["because"]
    if why := analysis.get("not_computed"):
        yield f"Not computed: {why}."


_GAP: tuple[tuple[str, CellKind], ...] = (("points", "points"), ("95 % interval", "points_range"))


def as_registered(report: ReportJson) -> Table:
    """The sealed items and all items; empty if the plan sealed all or none."""
    alone = report["registration"].get("as_registered")
    rows: list[list[Any]] = []
    if alone is not None:
        rows.append(["Majority of people", alone["majority"], report["human"]["majority"]])
        rows[0] += [None] * 4
        names = run_names(report)
        place = {judge["run"]: number for number, judge in enumerate(report["judges"])}
        for judge, difference in zip(alone["judges"], alone["differences"], strict=True):
            own = place[judge["run"]]
            gap = report["comparison"][own]["difference_general"]
            rows.append([names[own], judge, report["judges"][own]])
            rows[-1] += [estimate[key] for estimate in (difference, gap) for key in ("value", "ci")]
    columns = (
        TableColumn("Who"),
        TableColumn("sealed items", "share", "Accuracy"),
        TableColumn("all items", "share", "Accuracy"),
        *(
            TableColumn(heading, kind, group)
            for group in ("Judge minus majority, sealed items", "Judge minus majority, all items")
            for heading, kind in _GAP
        ),
    )
    return Table(
        "as_registered",
        "What was registered: the items that the plan sealed, and all items",
        columns,
        rows,
        "The first of each pair uses only the sealed items and planned runs, with the plan's "
        "threshold, seed and resamples. Items added or changed after the plan are only in the "
        "second, which is explored.",
        is_record=True,
    )


def deviation_effects(report: ReportJson) -> Table:
    """The main results with and without each deviation from the plan that can be undone."""
    rows = [
        [
            deviation["what"],
            deviation["done"],
            row["result"],
            *map(effect_words, (row["with"], row["without"])),
        ]
        for deviation in report.get("deviations", ())
        for row in deviation["effect"] or ()
    ]
    headings = ("Deviation", "Done", "Result", "With it", "Without it")
    return Table(
        "deviations",
        "Deviations from the plan, and the results without each of them",
        tuple(map(TableColumn, headings)),
        rows,
        "With the plan's threshold and seed. The page Deviations lists all of them, with reasons.",
        is_record=True,
    )


class FrozenPlanPart(Section):
    """The tables about a plan, in the chapter on methods."""

    name = "frozen_plan"
    shows = ("as_registered", "deviations", "registered")
    keys = """
deviations | list | Deviations that can be undone in the data; only there if there are any.
deviations.key | text | Name of the deviation in the list of deviations.
deviations.what | text | What was done otherwise.
deviations.registered | text | What the plan says.
deviations.done | text | What was done.
deviations.on | text | Days (UTC).
deviations.by | text | Accounts that did it.
deviations.effect | list | Main results with and without the deviation.
effect.result | text | Which result.
effect.with | object | The result with the deviation.
effect.without | object | The result without it.
effect.*.accuracy | share | Share of right answers; null where there is no result.
effect.*.n | count | Items that were decided.
effect.*.state | text | State of the headline.
plan.* | text | A value of the plan.
plan.sealed | object | The items and the design when the plan was frozen.
sealed.items | object | The number of items, and a hash of their contents and right answers.
sealed.groups | object | Places of each quota group.
sealed.draw | object | The items that had been drawn for annotators.
sealed.prompts | list | Hash of the words that each planned run would have been asked with.
sealed.* | text | A value of the design.
groups.* | count | Places of the group.
draw.* | text | A value of the draw.
departures.* | text | What was planned and done, on which days, by whom, or its run.
departures.affects | list | Analyses that are explored because of it.
departures.after_first_report | count | People of them who were excluded after a first report.
not_computed | text | Why the report has no number of a planned analysis; only there then.
"""

    def tables(self, report: ReportJson) -> Iterator[Table]:
        yield registered(report)
        yield as_registered(report)
        yield deviation_effects(report)


PART = FrozenPlanPart()
