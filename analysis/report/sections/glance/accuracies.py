"""Accuracy of annotators and every run, with numbers of clusters."""

from collections.abc import Iterator
from itertools import combinations

import numpy as np
import numpy.typing as npt

from analysis.data.arrays import Floats, RunData
from analysis.data.verdicts import (
    Ints,
    Verdicts,
    run_options,
)
from analysis.report.figures import (
    PEOPLE,
    Figure,
    rows_of_shares,
    share_axis,
    styled_runs,
    vertical,
)
from analysis.report.quantities import Name, Population, Quantity, Text, Words, clause, say
from analysis.report.registration import run_mark
from analysis.report.report_json import Json, cell, put_ci
from analysis.report.results import (
    NOTHING,
    accuracy_of,
    cannot_tell,
    decided_by_judge,
    decided_by_people,
)
from analysis.report.rules import MIN_COMPARED
from analysis.report.section import RUN, Analysis, NumberSource, ReportJson, Section, Sentence
from analysis.report.sentences import at
from analysis.report.study import (
    ReportedStudy,
    asked_of_all,
    counted,
    families,
    identity,
    is_whole,
)
from analysis.report.tables import CONDITIONAL, Table, TableColumn, as_best, in_general
from analysis.report.words import people_words, run_name, run_names
from analysis.stats.accuracy.bands import (
    AccuracyCells,
    answer_accuracy,
    individual_accuracy,
    majority_accuracy,
)
from analysis.stats.accuracy.general_accuracy import general_proportion
from analysis.stats.core.results import n_distinct
from analysis.stats.core.shared_variance import Sharing

# Labels of the rows of annotators.
MAJORITY, SINGLE = "People, majority", "People, single answers"


class Accuracies(Section):
    """Accuracy overall and at high and low certainty, for annotators and every run."""

    name = "accuracies"
    analyses = (
        Analysis(
            "accuracy",
            tables=("at_a_glance", "clusters"),
            paths=("human.majority", "human.individual", "human.reference_accuracy", "judges.*"),
            main=("human.majority.accuracy", "judges.*.accuracy"),
        ),
    )
    sources = (
        NumberSource("human.majority", "at_a_glance", MAJORITY),
        NumberSource("human.majority.clusters", "clusters", MAJORITY),
        NumberSource("human.majority.high.clusters", "clusters", MAJORITY),
        NumberSource("human.individual", "at_a_glance", SINGLE),
        NumberSource("judges.*", "at_a_glance", RUN),
        NumberSource("judges.*.clusters", "clusters", RUN),
        NumberSource("judges.*.high.clusters", "clusters", RUN),
    )

    def compute(self, study: ReportedStudy, earlier: ReportJson) -> Json:
        judges = [
            _of_judge(study, run, verdicts)
            for run, verdicts in zip(study.data.runs, study.judges, strict=True)
        ]
        planned = [run_mark(study.data.plan, run) != "explored" for run in study.data.runs]
        for judge, is_planned, whole in zip(judges, planned, is_whole(judges), strict=True):
            judge["competes"] = is_planned or whole
        for family in families(judges):
            common = asked_of_all(study.data, family)
            for index in family:
                side = study.judges[index]
                if common is not None:
                    known = common & (study.truth_for(study.data.runs[index]) >= 0)
                    judges[index]["asked_of_all"] = {
                        "items": int(known.sum()),
                        "correct": int((side.correct[known] == 1).sum()),
                    }
                add_as_best(
                    judges[index],
                    side.correct,
                    side.certainty,
                    study.shared.judged,
                    threshold=study.threshold,
                    among=len(family),
                )
        return {"human": _of_people(study), "judges": judges}

    def sentences(self, report: ReportJson) -> Iterator[Sentence]:
        if report["human"]["majority"]["accuracy"] is not None:
            x = accuracy_of(
                report["human"]["majority"], "human.majority", decided_by_people(report)
            )
            interval = clause(" ({x.interval})", x=x) if x.interval.ends else Words("")
            form = "{who} was correct on {x} of {x.of}{interval}."
            who = Words(people_words(report).capitalize())
            yield Sentence("methods", say(form, who=who, x=x, interval=interval))

    def tables(self, report: ReportJson) -> Iterator[Table]:
        yield at_a_glance(report)
        yield clusters(report)

    def figures(self, report: ReportJson) -> Iterator[Figure | None]:
        yield forest(report)


def _of_people(study: ReportedStudy) -> Json:
    verdicts, votes, threshold = study.people, study.votes, study.threshold
    majority, majority_compat = (
        majority_accuracy(verdicts.majority, study.truth, threshold=threshold, paper_compat=paper)
        for paper in (False, True)
    )
    individual, individual_compat = (
        individual_accuracy(votes, study.truth, threshold=threshold, paper_compat=paper)
        for paper in (False, True)
    )
    out: Json = {
        "annotators": len(study.data.raters),
        "answers": votes.n,
        "majority": cells(majority, majority_compat)
        | {
            "ties": verdicts.excluded["tie"],
            "no_truth": verdicts.excluded["no_truth"],
            "no_votes": verdicts.excluded["no_votes"],
        },
        "individual": cells(individual, individual_compat)
        | {"no_truth": individual.excluded["no_truth"]},
        "reference_accuracy": _references(study),
    }
    shared = study.shared
    for side, correct, certainty, sharing in (
        (out["majority"], verdicts.correct, verdicts.certainty, shared.items),
        (out["individual"], study.correct_alone, votes.certainty, shared.answers),
    ):
        add_clusters(side, correct, certainty, sharing, threshold=threshold)
    return out


def _references(study: ReportedStudy) -> list[Json]:
    """Always the most common right answer, and a coin; empty if no right answer is known."""
    counts = np.bincount(study.truth[study.truth >= 0], minlength=2)
    if not counts.any():
        return []
    return [
        {"reference": "commonest label", "accuracy": float(counts.max() / counts.sum())},
        {"reference": "coin", "accuracy": 1 / max(2, int((counts > 0).sum()))},
    ]


def _of_judge(study: ReportedStudy, run: RunData, verdicts: Verdicts) -> Json:
    accuracy, paper_compat = (
        answer_accuracy(
            verdicts.answer,
            study.truth_for(run),
            verdicts.certainty,
            threshold=study.threshold,
            n_options=run_options(run),
            paper_compat=paper,
        )
        for paper in (False, True)
    )
    out = identity(run) | {"items": int(n_distinct(run.judgments.item))}
    out |= cells(accuracy, paper_compat) | {"excluded": verdicts.excluded}
    add_clusters(
        out, verdicts.correct, verdicts.certainty, study.shared.judged, threshold=study.threshold
    )
    return out


def cells(accuracy: AccuracyCells, paper_compat: AccuracyCells) -> Json:
    """Accuracy overall, and of high, low and unstated certainty.

    `paper_compat` counts a missing certainty as low, which changes only the low cell.
    """
    return cell(accuracy.overall) | {
        "high": cell(accuracy.high),
        "low": cell(accuracy.low),
        "paper_compat": {"low": cell(paper_compat.low)},
        "no_certainty": accuracy.no_certainty.n,
        "at_threshold": accuracy.n_at_threshold,
    }


def add_clusters(
    side: Json, correct: Ints, certainty: Floats, sharing: Sharing, *, threshold: float
) -> None:
    """Add clusters, and the interval that allows for them, to a side's cells.

    Arrays have one entry per answer; rows that are neither right nor wrong are left out.
    """
    for part, rows in _cells(side, correct, certainty, threshold):
        within = sharing.take(rows)
        share = general_proportion(correct[rows] == 1, within)
        out = counted(within)
        put_ci(out, "ci", share)
        if share.interval is not None:
            out["ci_made"]["by"] = list(within.used)
        part["clusters"] = out


def add_as_best(
    side: Json,
    correct: Ints,
    certainty: Floats,
    sharing: Sharing,
    *,
    threshold: float,
    among: int,
) -> None:
    """Add the same intervals, allowing for choosing the best of `among` runs."""
    for part, rows in _cells(side, correct, certainty, threshold):
        share = general_proportion(correct[rows] == 1, sharing.take(rows), among=among)
        put_ci(part["clusters"], "ci_as_best", share)
        if share.interval is not None:
            part["clusters"]["ci_as_best_made"]["among"] = among


def _cells(
    side: Json, correct: Ints, certainty: Floats, threshold: float
) -> tuple[tuple[Json, npt.NDArray[np.bool_]], ...]:
    scored = correct >= 0
    return (
        (side, scored),
        (side["high"], scored & (certainty >= threshold)),
        (side["low"], scored & (certainty < threshold)),
    )


def at_a_glance(report: ReportJson) -> Table:
    people = report["human"]
    majority, single = (in_general(people[key]) for key in ("majority", "individual"))
    rows = [
        ["People, majority", majority, None, None, majority["ties"]],
        ["People, single answers", single, None, None, None],
    ]
    for reference in people["reference_accuracy"]:
        uncounted = {"correct": None, "n": None, "ci": None, "small": False}
        reached = uncounted | {"accuracy": reference["accuracy"]}
        rows.append([f"Reference: {reference['reference']}", reached, None, None, None])
    for name, judge, versus in zip(
        run_names(report), report["judges"], report["comparison"], strict=True
    ):
        gap, share = versus["difference_general"], in_general(judge)
        ends = gap["ci_as_best"] or gap["ci"]
        rows.append([name, share, gap["value"], ends, judge["excluded"]["tie"]])
    columns = (
        TableColumn("Who"),
        TableColumn("Accuracy", "share"),
        TableColumn("Minus the majority", "points"),
        TableColumn("95 % interval", "points_range"),
        TableColumn("Undecided", "count"),
    )
    return Table(
        "at_a_glance",
        "Accuracy of people and of every run",
        columns,
        rows,
        CONDITIONAL
        + " Replies that name no side are left out. The difference is on items that both decided"
        + _of_different_items(report)
        + ". References are trivial judges; the single answers of people are another reference.",
    )


def _of_different_items(report: ReportJson) -> str:
    """What the differences of runs that were asked different items are about."""
    if any("asked_of_all" in one["difference_general"] for one in report["comparison"]):
        return " and every competing judge was asked"
    sizes = [judge["n"] for judge in report["judges"]]
    # The matrix begins with the people.
    shared = (
        report["matrix"][one][other]["n"]
        for one, other in combinations(range(1, len(sizes) + 1), 2)
    )
    if sizes and min(sizes) >= MIN_COMPARED > min(shared, default=MIN_COMPARED):
        return "; runs had too few items in common, so some may have had easier ones"
    return ""


def clusters(report: ReportJson) -> Table:
    human = report["human"]
    sides = [("People, majority", human["majority"])]
    sides += [("People, single answers", human["individual"])]
    sides += zip(run_names(report), report["judges"], strict=True)
    rows = []
    for who, side in sides:
        for part, within in (("overall", side), ("high", side["high"]), ("low", side["low"])):
            n_clusters = within["clusters"]
            if within["n"]:
                kinds = (n_clusters["personas"], n_clusters["questions"], n_clusters.get("people"))
                rows.append([who, part, in_general(within), *kinds])
    columns = (
        TableColumn("Who"),
        TableColumn("Certainty"),
        TableColumn("Accuracy", "share"),
        TableColumn("Personas", "count"),
        TableColumn("Questions", "count"),
        TableColumn("People", "count"),
    )
    return Table(
        "clusters",
        "Personas and questions behind each accuracy",
        columns,
        rows,
        "Answers about the same persona or question, or by the same person, are correlated. The "
        "interval, which the headline uses too, allows for all three"
        + as_best(report, " and, for a run, for choosing the best of several")
        + f". {CONDITIONAL}",
    )


def forest(report: ReportJson) -> Figure | None:
    """Accuracy of all sides, with intervals."""
    human = report["human"]
    answers = Population("answer", n=human["individual"]["n"], path="human.individual.n")
    people = [
        (MAJORITY, "human.majority", decided_by_people(report), "circle"),
        (SINGLE, "human.individual", answers, "circle-open"),
    ]
    rows = [
        (name, accuracy_of(at(report, path), path, of), PEOPLE, symbol)
        for name, path, of, symbol in people
        if of.n
    ]
    for place, (name, judge, (colour, _, symbol)) in enumerate(styled_runs(report)):
        if judge["n"]:
            key = "ci_as_best" if judge["clusters"].get("ci_as_best") else "ci"
            of = decided_by_judge(report, place)
            rows.append((name, accuracy_of(judge, f"judges.{place}", of, key), colour, symbol))
    if not rows:
        return None
    reference = human["majority"]["accuracy"]
    lines = [] if reference is None else [vertical(reference, PEOPLE)]
    drawing = rows_of_shares(
        "Accuracy with 95 % intervals: ",
        rows,
        row_height=46,
        xaxis=share_axis("accuracy"),
        shapes=lines,
    )
    return Figure(
        "accuracy",
        _forest_title(report),
        say(
            "Share of right answers, with 95 % intervals.{line}",
            line=clause(" The line marks {who}.", who=Words(people_words(report)))
            if lines
            else NOTHING,
        ),
        "at_a_glance",
        [drawing],
    )


def _forest_title(report: ReportJson) -> Text:
    forms = {
        "better": "{judge} is correct more often than {people}",
        "worse": "{people} is correct more often than {judge}",
        "equivalent": "{judge} and {people} are equally accurate within {margin} points",
    }
    state = report["headline"]["state"]
    if state not in {*forms, "cannot_tell"}:
        judges = Words(" and judges" if report["judges"] else "")
        return say("Accuracy of people{judges}", judges=judges)
    people, judge = (
        Words(people_words(report)),
        Name(run_name(report["headline"], report["judges"])),
    )
    if state == "cannot_tell":
        which = clause("{judge} or {people} is more accurate", judge=judge, people=people)
        return say("{open}", open=cannot_tell(which))
    margin = Quantity("margin", None, report["parameters"]["margin"], "parameters.margin")
    return say(forms[state], judge=judge, people=people, margin=margin)
