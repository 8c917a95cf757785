"""The number of annotators that a judge is worth, and the cost of mixing both."""

from collections.abc import Iterator

import numpy as np

from analysis.data.verdicts import Verdicts
from analysis.report.report_json import Json, number, put, put_interval, undefined
from analysis.report.section import ReportJson, Section
from analysis.report.study import ReportedStudy
from analysis.report.tables import Table, TableColumn
from analysis.report.words import named_comparisons, reason
from analysis.stats.core.votes import Votes
from extras.methods.stats.cost_accuracy import price_mixes
from extras.methods.stats.crowd_equivalence import crowd_equivalence


def _equivalence(
    votes: Votes, judge: Verdicts, truth: np.ndarray, *, seed: int, draws: int
) -> Json:
    found = crowd_equivalence(
        votes, judge.answer, truth, rng=np.random.default_rng(seed), n_draws=draws
    )
    out: Json = {"n": found.n_items}
    put(out, "people", number(found.people), found.reason)
    put(out, "place", found.place, found.reason)
    # Ends can be open: less than one annotator, or more than a hundred.
    put(out, "low", number(found.low), found.reason or "below_one")
    put(out, "high", number(found.high), found.reason or "above_any")
    put(out, "judge_accuracy", number(found.judge_accuracy), found.reason)
    put(out, "ceiling", number(found.ceiling), found.reason)
    out["curve"] = [
        {"people": point.k, "accuracy": point.accuracy, "predicted": point.n_items == 0}
        for point in found.curve
    ]
    return out


def equivalence_table(report: ReportJson) -> Table:
    rows = []
    for name, versus in named_comparisons(report):
        found = versus["worth"]
        if found["judge_accuracy"] is not None:
            rows.append(
                [
                    name,
                    found["n"],
                    found["judge_accuracy"],
                    _people(found),
                    _range(found),
                    found["ceiling"],
                ]
            )
    columns = (
        TableColumn("Run"),
        TableColumn("Items", "count"),
        TableColumn("Accuracy", "percent"),
        TableColumn("Worth people"),
        TableColumn("95 % interval"),
        TableColumn("Majority of very many", "percent"),
    )
    return Table(
        "worth",
        "How many people a judge is worth",
        columns,
        rows,
        "The number of people whose majority is equally accurate on the same items: counted as "
        "far as items have answers, then extrapolated by a beta distribution of the items' "
        "difficulty. Intervals resample items: they hold for these people, personas and "
        "questions.",
    )


def _people(found: ReportJson) -> str:
    if found["people"] is None:
        return {"below one": "less than one", "above any": "more than any number"}.get(
            found["place"], reason(found["people_reason"])
        )
    return f"{found['people']:.1f}"


def _range(found: ReportJson) -> str:
    low = "less than one" if found["low"] is None else f"{found['low']:.1f}"
    high = "any number" if found["high"] is None else f"{found['high']:.1f}"
    return f"{low} to {high}"


class CrowdEquivalenceSection(Section):
    """For each run, the number of annotators whose majority is equally accurate."""

    name = "crowd_equivalence"
    shows = ("worth",)
    keys = """
worth | object | How many annotators a verdict of the judge is worth.
worth.place | text | Where the judge is if it is not on the curve.
worth.ceiling | share | Accuracy of infinitely many annotators.
curve | list | Accuracy of the majority of each number of annotators.
curve.people | count | Annotators.
predicted | flag | Whether the accuracy is predicted, not observed.
"""

    def compute(self, study: ReportedStudy, earlier: ReportJson) -> Json:
        return {"comparison": [{"worth": self._of_run(study, judge)} for judge in study.judges]}

    def tables(self, report: ReportJson) -> Iterator[Table]:
        yield equivalence_table(report)

    def _of_run(self, study: ReportedStudy, judge: Verdicts) -> Json:
        if not study.is_binary(judge):
            unknown = undefined("not_offered", "people", "place", "ceiling", "judge_accuracy")
            return unknown | {"n": 0, "curve": []}
        return _equivalence(
            study.votes, judge, study.binary_truth, seed=study.seed, draws=study.draws
        )


def _frontier(
    votes: Votes, judge: Verdicts, truth: np.ndarray, *, seed: int, draws: int
) -> list[Json]:
    """The mixes that no cheaper one matches; the price is annotators' answers per item."""
    mixes = price_mixes(
        votes,
        judge.answer,
        judge.certainty,
        truth,
        price_person=1.0,
        price_judge=0.0,
        rng=np.random.default_rng(seed),
        n_draws=draws,
    )
    out = []
    for mix in mixes:
        if mix.best:
            entry: Json = {"policy": mix.policy, "people": mix.people}
            put(entry, "threshold", mix.threshold, "no_threshold")
            entry |= {"answers_per_item": mix.price, "accuracy": mix.accuracy}
            put_interval(entry, "ci", mix.interval, "no_variation")
            put(entry, "often_best", number(mix.often_best), "too_few_items")
            out.append(entry)
    return out


def frontier_table(report: ReportJson) -> Table:
    rows = [
        [
            name,
            mix["policy"],
            mix["people"],
            mix["threshold"],
            mix["answers_per_item"],
            mix["accuracy"],
            mix["ci"],
            mix["often_best"],
        ]
        for name, versus in named_comparisons(report)
        for mix in versus["mixes"]
    ]
    columns = (
        TableColumn("Run"),
        TableColumn("Who labels"),
        TableColumn("People asked", "count"),
        TableColumn("below certainty", "number"),
        TableColumn("People’s answers per item", "decimal"),
        TableColumn("Accuracy", "percent"),
        TableColumn("95 % interval", "percent_range"),
        TableColumn("Best in", "percent"),
    )
    return Table(
        "mixes",
        "Best mixes of people and judge at each price",
        columns,
        rows,
        "Mixes that no cheaper one matches; a tie counts one half. The price is people's answers "
        "per item; the judge's own cost is in its table. Intervals resample items: they hold for "
        "these people, personas and questions. The best of many is partly luck: “best in” is the "
        "share of resamples in which still no cheaper mix matches it.",
    )


class CostFrontier(Section):
    """The mixes of annotators and judge that no cheaper one matches."""

    name = "cost_frontier"
    shows = ("mixes",)
    keys = """
mixes | list | Accuracy and cost of mixing people and the judge.
policy | text | Who decides when.
answers_per_item | number | People's answers per item.
often_best | share | Share of resamples in which this policy is the best.
"""

    def compute(self, study: ReportedStudy, earlier: ReportJson) -> Json:
        return {"comparison": [{"mixes": self._of_run(study, judge)} for judge in study.judges]}

    def tables(self, report: ReportJson) -> Iterator[Table]:
        yield frontier_table(report)

    def _of_run(self, study: ReportedStudy, judge: Verdicts) -> list[Json]:
        if not study.is_binary(judge):
            return []
        return _frontier(study.votes, judge, study.binary_truth, seed=study.seed, draws=study.draws)


EQUIVALENCE, FRONTIER = CrowdEquivalenceSection(), CostFrontier()
