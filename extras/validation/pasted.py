"""Answers that machines may have pasted: how many would change the verdict, in a report."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from analysis.data.arrays import MISSING, TIE
from analysis.data.verdicts import Ints
from analysis.report.quantities import Population, Quantity, Slot, Words, clause, say
from analysis.report.report_json import Json, put, undefined
from analysis.report.results import cannot_tell, not_settled
from analysis.report.section import ReportJson, Sentence
from analysis.report.study import ReportedStudy, best_run, identity
from analysis.report.tables import Table, TableColumn
from analysis.report.verdict.answer import ReplacementVerdict, replacement_of
from analysis.report.words import reason, run_name
from extras.validation.stats import BreakdownPoint, breakdown_point, replacement_breakdown

KINDS = {
    "own": "the judge’s answers",
    "another": "another judge’s answers",
    "opposite": "the opposite of the judge’s answers",
}
STATES = {
    "better": "the judge is better than people",
    "worse": "the judge is worse than people",
    "equivalent": "the judge is equivalent to people",
    "cannot_tell": str(cannot_tell(clause("the judge is as good as people"))),
    "replaceable": "the judge could replace an annotator",
    "not_replaceable": "the judge could not replace an annotator",
    "not_settled": str(not_settled(clause("the judge could replace an annotator"))),
}
WITHOUT_TRUTH = ("replaceable", "not_replaceable", "not_settled")
# Of people; with more, replacing them takes minutes.
MOST_ANSWERS, MOST_WITHOUT_TRUTH = 200_000, 40_000


def breakdowns(study: ReportedStudy, earlier: ReportJson) -> Json:
    """The entry of report.json; empty without people or without a judge to compare.

    Without right answers it is about the judge and the verdict of the first screen.
    """
    without_truth = replacement_of(earlier)
    place = without_truth.index if without_truth else best_run(earlier["judges"])
    most = MOST_WITHOUT_TRUTH if without_truth else MOST_ANSWERS
    if place is None or not 0 < study.votes.n <= most:
        return {}
    run, answer = study.data.runs[place], study.judges[place].answer
    others = [
        other.answer
        for index, other in enumerate(study.judges)
        if index in study.whole_runs and study.data.runs[index].judge != run.judge
    ]
    flipped = np.where(answer == TIE, TIE, 1 - answer)
    pasted: dict[str, Ints | None] = {
        "own": answer,
        "another": others[0] if others else None,
        "opposite": np.where(answer >= 0, flipped, MISSING).astype(np.int64),
    }
    entries = []
    for kind, answers in pasted.items():
        if answers is None:
            none: Json = {"pasted": kind, "curve": []}
            entries.append(none | undefined("one_judge", "state", "becomes", "low", "high"))
        else:
            point = _broken_by(study, place, answers, without_truth)
            entries.append({"pasted": kind} | _breakdown(point))
    return {
        "breakdown": identity(run)
        | {"people": int(np.unique(study.votes.annotator).size), "pasted_answers": entries}
    }


def _broken_by(
    study: ReportedStudy, place: int, pasted: Ints, without_truth: ReplacementVerdict | None
) -> BreakdownPoint:
    answer, suspects = study.judges[place].answer, study.data.flagged
    if without_truth is not None:
        return replacement_breakdown(
            study.votes_with_options_of(study.data.runs[place]),
            answer,
            pasted,
            study.shared.judged if study.data.people_are_fixed else study.shared.items,
            epsilon=study.data.epsilon,
            among=without_truth.family,
            suspects=suspects,
            rng=study.rng(),
        )
    return breakdown_point(
        study.votes,
        answer,
        study.truth,
        pasted,
        study.shared.items,
        margin=float(study.data.study.equivalence_margin),
        suspects=suspects,
        rng=study.rng(),
    )


def _breakdown(breakdown_point: BreakdownPoint) -> Json:
    out: Json = {}
    why = breakdown_point.reason or "none_found"
    for name in ("state", "becomes", "low", "high"):
        put(out, name, getattr(breakdown_point, name), why)
    if breakdown_point.low is None and breakdown_point.state is not None:
        out["low_reason"] = "none_found"
    out["curve"] = [
        {"share": share, "replaced": n, "changed": round(changed, 6)}
        for share, n, changed in breakdown_point.curve
    ]
    return out


def breakdown_table(report: ReportJson) -> Table:
    breakdown = report["breakdown"]
    shares = breakdown["pasted_answers"][0]["curve"]
    columns = (
        TableColumn("Instead of own answers"),
        TableColumn("at least", "count", "People"),
        TableColumn("at most", "count", "People"),
        TableColumn("New verdict"),
        *(
            TableColumn(
                f"{point['share'] * 100:g} % ({point['replaced']})",
                "percent",
                "Changed, if drawn at random",
            )
            for point in shares
        ),
    )
    rows = [
        [
            KINDS[pasted["pasted"]],
            pasted["low"],
            pasted["high"],
            STATES[pasted["becomes"]] if pasted["becomes"] else _why_none(pasted),
            *([point["changed"] for point in pasted["curve"]] or [None] * len(shares)),
        ]
        for pasted in breakdown["pasted_answers"]
    ]
    return Table(
        "breakdown",
        "People whose answers would have to be pasted",
        columns,
        rows,
        f"Verdict on {run_name(breakdown)} as answered: "
        f"{STATES.get(breakdown['pasted_answers'][0]['state'], 'none')}. "
        "At least: no smaller group of annotators changes the verdict if they give these answers "
        "instead of their own; all groups are tried, with more than 12 people only small ones. At "
        "most: the size of a group that does. Changed: share of random groups of this size that "
        f"change it. {_of_ties(breakdown)}",
    )


def _of_ties(report: ReportJson) -> str:
    if report["pasted_answers"][0]["state"] in WITHOUT_TRUTH:
        return "The right answers are unknown: the verdict is about agreement with other people."
    return "A tied vote is worth the share of tied answers that is right."


def _why_none(entry: ReportJson) -> str:
    if entry["high_reason"] != "none_found":
        return reason(entry["high_reason"])
    return "no group changes it" if entry["low"] is None else "no such group was found"


def pasted_sentences(breakdown: Mapping[str, Any]) -> Iterator[Sentence]:
    people = Population("person", n=breakdown["people"], path="breakdown.people")
    for place, pasted in enumerate(breakdown["pasted_answers"]):
        if pasted["state"] is None or pasted["pasted"] == "opposite":
            continue
        if pasted["high"] is None and pasted["low"] is not None:
            continue
        path = f"breakdown.pasted_answers.{place}"
        slots: dict[str, Slot] = {
            name: Quantity("count", people, pasted[name], f"{path}.{name}")
            for name in ("low", "high")
            if pasted[name] is not None
        }
        if pasted["high"] is None:
            form = "Whichever of the {people} had pasted {whose}, the verdict would be the same."
        elif pasted["low"] != pasted["high"]:
            form = (
                "If {low} to {high} of {people} had pasted {whose}, the verdict would, with the "
                "right choice of people, become: {verdict}."
            )
        else:
            form = "If {high} of {people} had pasted {whose}, the verdict would become: {verdict}."
        slots["whose"] = Words(KINDS[pasted["pasted"]])
        slots["verdict"] = Words(STATES.get(pasted["becomes"], ""))
        yield Sentence("finding", say(form, people=people, **slots))
