"""Judges as predictors of all answers to an item: their distance from people's distribution."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from analysis.data.arrays import CHOICES, Dataset, RunData
from analysis.data.verdicts import Shares, Verdicts, over_orders, probability_shares
from analysis.report.report_json import Json, estimate
from analysis.report.section import ReportJson, Section
from analysis.report.study import ReportedStudy
from analysis.report.tables import Table, table_of_entries
from analysis.report.words import run_name
from analysis.stats.core.results import IntArray
from extras.methods.stats.soft_labels import SoftLabelScores, soft_label_scores


def reading_shares(data: Dataset, run: RunData, verdicts: Verdicts) -> Shares:
    """The shares of a run's readings, with equal weight for each order; NaN below two readings."""
    rows = run.judgments
    valid = rows.choice >= 0
    readings = np.eye(len(CHOICES))[rows.choice[valid]]
    item, first = rows.item[valid], rows.shown_first[valid]
    shares, noise = over_orders(readings, item, first, len(data.items))
    once = np.bincount(item, minlength=len(data.items)) < 2
    return Shares(np.where(once[:, None], np.nan, shares), np.where(once, np.nan, noise))


def answer_shares(data: Dataset, run: RunData, verdicts: Verdicts) -> Shares:
    """A share of 1 for the run's verdict; NaN without one."""
    shares = np.full((len(data.items), len(CHOICES)), np.nan)
    decided = np.flatnonzero(verdicts.answer >= 0)
    shares[decided] = np.eye(len(CHOICES))[verdicts.answer[decided]]
    return Shares(shares, np.zeros(len(data.items)))


@dataclass(frozen=True)
class SoftDistribution:
    """A run's distribution over the options for every item, instead of one answer."""

    name: str  # in report.json
    label: str
    values: Callable[[Dataset, RunData, Verdicts], Shares]


DISTRIBUTIONS = (
    SoftDistribution("probabilities", "option probabilities", probability_shares),
    SoftDistribution("readings", "shares of its readings", reading_shares),
    SoftDistribution("answer", "its answer alone", answer_shares),
)


def distances(study: ReportedStudy) -> Json:
    """The addition to the entry `disagreement` of report.json."""
    counts = study.votes.counts()
    even = np.full(counts.shape, 1 / study.votes.n_options)
    # Options that annotators did not have agree with nobody.
    wide = np.pad(counts, ((0, 0), (0, 3 - counts.shape[1])))
    judges = []
    for run, judge in zip(study.data.runs, study.judges, strict=True):
        scores = [_scored(study, wide, run, judge, source) for source in DISTRIBUTIONS]
        judges.append({"distances": [score for score in scores if score["items"]]})
    by_chance = _distance(soft_label_scores(even, counts, study.shared.items))
    return {"disagreement": {"even": by_chance, "judges": judges}}


def _scored(
    study: ReportedStudy, counts: IntArray, run: RunData, judge: Verdicts, source: SoftDistribution
) -> Json:
    source_shares = source.values(study.data, run, judge)
    # Without a tie on either side there is nothing to compare for that option.
    has_tie = bool(counts[:, 2].any()) or bool((source_shares.shares[:, 2] > 0).any())
    options = 3 if has_tie else 2
    scores = soft_label_scores(
        source_shares.shares[:, :options],
        counts[:, :options],
        study.shared.items,
        noise=source_shares.noise,
    )
    return {"source": source.name} | _distance(scores)


def _distance(scores: SoftLabelScores) -> Json:
    return {"items": scores.n_items, "squared": estimate(scores.squared)}


def distance_table(report: ReportJson) -> Table:
    labels = {source.name: source.label for source in DISTRIBUTIONS}
    rows = [("All options equally", report["disagreement"]["even"] | {"label": "–"})]
    judges = report["disagreement"]["judges"]
    for entry in judges:
        name = run_name(entry, judges)
        rows += [
            (name, {**distance, "label": labels[distance["source"]]})
            for distance in entry["distances"]
        ]
    return table_of_entries(
        "soft_labels",
        "Distance from the distribution of people’s answers",
        rows,
        [
            ("Distribution", "text", "label"),
            ("Items", "count", "items"),
            ("Squared", "decimal", "squared.value"),
            ("95 % interval", "range", "squared.ci"),
        ],
        "0 is the distribution of people in general, 1 the largest possible distance. The "
        "squared distance allows for few answers per item and can be below 0 by chance.",
        first="Who",
    )


class Distances(Section):
    """Distance of judges from the full distribution of people's answers."""

    name = "distances"
    title = "Distance from all answers"
    inside = "Distances from the distribution of people’s answers"
    needs = ("disagreement",)
    keys = """
even | object | Always predicting an even split.
distances | list | Distance between predicted and actual shares, for each source of the prediction.
distances.source | text | Where the predicted shares come from.
squared | object | Squared distance.
"""

    def is_needed(self, report: ReportJson) -> bool:
        return "even" in report.get("disagreement", ())

    def compute(self, study: ReportedStudy, earlier: ReportJson) -> Json:
        return distances(study) if "disagreement" in earlier else {}

    def tables(self, report: ReportJson) -> Iterator[Table]:
        if self.is_needed(report):
            yield distance_table(report)


DISTANCES = Distances()
