"""The cost-accuracy frontier: the best mixture of annotators and judge at each price."""

from collections.abc import Iterator

import numpy as np

from analysis.data.verdicts import Verdicts
from analysis.report.encode import Json, number, put, put_interval
from analysis.report.section import Report, Section
from analysis.report.study import ReportedStudy
from analysis.report.tables import Table, TableColumn
from analysis.report.text.names import named_comparisons
from analysis.stats.comparison.cost_accuracy import price_mixes
from analysis.stats.core.votes import Votes


def _frontier(
    votes: Votes, judge: Verdicts, truth: np.ndarray, *, seed: int, draws: int
) -> list[Json]:
    """The mixes that no cheaper mix reaches; the price is annotators' answers per item."""
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


def frontier_table(report: Report) -> Table:
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
        TableColumn("Answers of people per item", "decimal"),
        TableColumn("Accuracy", "percent"),
        TableColumn("95 % interval", "percent_range"),
        TableColumn("Best in", "percent"),
    )
    return Table(
        "mixes",
        "Best mixtures of people and judge at each price",
        columns,
        rows,
        "Mixtures that no cheaper one reaches, a tie counting one half. The price is people's "
        "answers per item; the judge's own cost is in its table. Intervals resample items: they "
        "are about these people, personas and questions. "
        "The best of many is partly luck: “best in” is the share of resamples in which the mixture "
        "is still one that no cheaper one reaches.",
    )


class CostFrontier(Section):
    """The mixes of annotators and judge that no cheaper one reaches."""

    name = "cost_frontier"

    def compute(self, study: ReportedStudy, earlier: Report) -> Json:
        return {"comparison": [{"mixes": self._of_run(study, judge)} for judge in study.judges]}

    def tables(self, report: Report) -> Iterator[Table]:
        yield frontier_table(report)

    def _of_run(self, study: ReportedStudy, judge: Verdicts) -> list[Json]:
        if not study.is_binary(judge):
            return []
        return _frontier(study.votes, judge, study.binary_truth, seed=study.seed, draws=study.draws)
