"""High and low at every threshold that a reader may try: the page looks them up, never guesses.

Each cell is what a report built with that threshold would say, intervals included, so that moving
the threshold on the page and building another report give the same tables.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from analysis.data.arrays import Dataset
from analysis.data.verdicts import Floats, Ints, Verdicts, run_options
from analysis.report.clusters import Shared
from analysis.report.encode import Json, ends, put
from analysis.report.sections.groups.accuracy import by_certainty, members_of
from analysis.stats.accuracy.bands import answer_accuracy, individual_accuracy, majority_accuracy
from analysis.stats.core.results import Proportion

LOWEST, HIGHEST = 50, 95

Split = Callable[[float], tuple[Proportion, Proportion]]


@dataclass(frozen=True)
class Grid:
    """Thresholds from `low` to `high`, in whole points."""

    low: int
    high: int

    @classmethod
    def around(cls, *thresholds: int) -> "Grid":
        """From 50 to 95, and as far beyond as the report's own thresholds lie."""
        return cls(min(LOWEST, *thresholds), max(HIGHEST, *thresholds))

    def steps(self, certainty: Floats, correct: Ints, split: Split) -> list[Json]:
        """High and low from each threshold at which an answer changes sides."""
        scored = certainty[correct >= 0]
        steps: list[Json] = []
        last = -1
        for threshold in range(self.low, self.high + 1):
            n_high = int((scored >= threshold).sum())
            # The sets are nested: as many high answers as before are the same ones.
            if n_high != last:
                high, low = split(float(threshold))
                steps.append({"from": threshold, "high": _cell(high), "low": _cell(low)})
            last = n_high
        return steps


def by_threshold(
    data: Dataset,
    people: Verdicts,
    alone: Ints,
    judges: Sequence[Verdicts],
    shared: Shared,
    grid: Grid,
) -> Json:
    """Steps of the majority, of single answers, of every run, and of each by topic."""
    votes = people.majority.votes
    truth = data.scored_truth(offers_tie=data.study.allow_tie).astype(np.int64)

    def majority(threshold: float) -> tuple[Proportion, Proportion]:
        found = majority_accuracy(people.majority, truth, threshold=threshold)
        return found.high, found.low

    def individual(threshold: float) -> tuple[Proportion, Proportion]:
        found = individual_accuracy(votes, truth, threshold=threshold)
        return found.high, found.low

    out: Json = {
        "from": grid.low,
        "to": grid.high,
        "ends": "of the 95 % interval, made as that of the same cell at the report's threshold",
        "majority": grid.steps(people.certainty, people.correct, majority),
        "individual": grid.steps(votes.certainty, alone, individual),
        "judges": [],
        "topics": [],
    }
    for run, verdicts in zip(data.runs, judges, strict=True):
        own_truth = data.scored_truth(offers_tie=run.offers_tie).astype(np.int64)
        options = run_options(run)

        def judge(
            threshold: float, side: Verdicts = verdicts, truth: Ints = own_truth, n: int = options
        ) -> tuple[Proportion, Proportion]:
            found = answer_accuracy(
                side.answer, truth, side.certainty, threshold=threshold, n_options=n
            )
            return found.high, found.low

        out["judges"].append(grid.steps(verdicts.certainty, verdicts.correct, judge))
    topics = [item.topic for item in data.items]
    if any(topics):
        for topic, items in sorted(members_of(topics).items()):
            sides = [_of_items(side, items, shared, grid, people) for side in (people, *judges)]
            out["topics"].append({"value": topic, "people": sides[0], "judges": sides[1:]})
    return out


def _of_items(
    side: Verdicts, items: Ints, shared: Shared, grid: Grid, people: Verdicts
) -> list[Json]:
    def split(threshold: float) -> tuple[Proportion, Proportion]:
        return by_certainty(side, items, shared, threshold, by_people=side is people)

    return grid.steps(side.certainty[items], side.correct[items], split)


def _cell(share: Proportion) -> Json:
    out: Json = {"n": share.n, "correct": share.correct}
    put(out, "ends", ends(share.interval), share.interval_reason or share.reason)
    return out
