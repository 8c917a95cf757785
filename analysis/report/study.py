"""The input of every section: the data of a study, each side's answers, and the options."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from analysis.data.arrays import MISSING, TIE, Dataset, RunData
from analysis.data.frozen_plan import USUAL_FRAMING
from analysis.data.verdicts import Ints, Verdicts, people_verdicts, run_options, run_verdicts
from analysis.report.clusters import SharedClusters, shared_by
from analysis.report.encode import Json
from analysis.stats.core.fixed_point import MAX_STEPS
from analysis.stats.core.multiway import multiway_proportion
from analysis.stats.core.results import Proportion
from analysis.stats.core.votes import Votes
from analysis.stats.labels.dawid_skene import DawidSkene, dawid_skene

# Votes that a model of labels can read over all its steps; most models converge within 150.
MAX_READ = 60_000_000


@dataclass(frozen=True, eq=False)
class ReportedStudy:
    """The data of a study and the options of a report; everything else is computed once.

    `threshold` is the certainty from which an answer is high, `draws` the number of resamples.
    """

    data: Dataset
    threshold: int
    seed: int
    draws: int

    @cached_property
    def people(self) -> Verdicts:
        """The majority of annotators."""
        return people_verdicts(self.data)

    @cached_property
    def judges(self) -> list[Verdicts]:
        """The verdicts of every run, in the order of the runs."""
        return [run_verdicts(self.data, run) for run in self.data.runs]

    @property
    def votes(self) -> Votes:
        """Single answers of annotators."""
        return self.people.majority.votes

    @cached_property
    def truth(self) -> Ints:
        """The right answer to each item among the annotators' options, shape (items,)."""
        return self.data.scored_truth(offers_tie=self.data.study.allow_tie).astype(np.int64)

    @cached_property
    def correct_alone(self) -> Ints:
        """The score of each single answer: 1 right, 0 wrong, -1 without a truth to score it by."""
        own = self.truth[self.votes.item]
        return np.where(own >= 0, (self.votes.choice == own).astype(np.int64), MISSING)

    @cached_property
    def binary_truth(self) -> Ints:
        """The right answer to each item between two responses; a true tie counts as neither."""
        return self.data.scored_truth(offers_tie=False).astype(np.int64)

    def is_binary(self, judge: Verdicts) -> bool:
        """Whether neither annotators nor the run could or did answer tie."""
        return self.votes.n_options == 2 and not (judge.answer == TIE).any()

    @cached_property
    def shared(self) -> SharedClusters:
        """The clusters that items and answers share."""
        return shared_by(self.data, self.votes)

    @property
    def label_steps(self) -> int:
        """The number of steps that a model of labels can take; there must be votes."""
        return min(MAX_STEPS, MAX_READ // self.votes.n)

    @cached_property
    def confusions(self) -> DawidSkene | None:
        """The model of annotators' own errors, converged or not; None without votes."""
        if not self.votes.n:
            return None
        return dawid_skene(self.votes, max_iterations=self.label_steps)

    def votes_with_options_of(self, run: RunData) -> Votes:
        """Single answers, with as many options as annotators or the run had."""
        return replace(self.votes, n_options=max(self.votes.n_options, run_options(run)))

    def rng(self) -> np.random.Generator:
        """A generator that starts from the seed, so one more run changes no other number."""
        return np.random.default_rng(self.seed)

    def truth_for(self, run: RunData) -> Ints:
        """The right answer to each item among a run's options."""
        return self.data.scored_truth(offers_tie=run.offers_tie).astype(np.int64)


def identity(run: RunData) -> Json:
    """The fields that distinguish a run from others, for every place that names it.

    Wording and framing are there if they are not the usual ones.
    """
    found = {"judge": run.judge, "run": run.run, "setting": run.setting, "features": run.features}
    if run.wording:
        found["wording"] = run.wording
    if run.framing != USUAL_FRAMING:
        found["framing"] = run.framing
    return found


def on_side(choice: npt.NDArray[np.integer], shown_first: npt.NDArray[np.integer]) -> Ints:
    """The chosen side: 0 if the response is on side A, 1 for side B, -1 for a tie or nothing."""
    placed = (choice >= 0) & (choice != TIE) & (shown_first >= 0)
    return np.where(placed, (choice != shown_first).astype(np.int64), MISSING)


def members_of(values: Sequence[str]) -> dict[str, Ints]:
    """Positions of the items that have each value."""
    number: dict[str, int] = {}
    codes = np.fromiter((number.setdefault(value, len(number)) for value in values), np.int64)
    ends = np.cumsum(np.bincount(codes, minlength=1))
    parts = np.split(np.argsort(codes, kind="stable"), ends[:-1])
    return dict(zip(number, parts, strict=False))


def by_certainty(
    study: ReportedStudy, side: Verdicts, items: Ints, threshold: float
) -> tuple[Proportion, Proportion]:
    """A side's accuracy on some items, at its own high and low certainty."""
    scored = items[side.correct[items] >= 0]
    certainty = side.certainty[scored]

    def share(rows: npt.NDArray[np.bool_]) -> Proportion:
        chosen = scored[rows]
        clusters = study.shared.of_items(chosen, by_people=side is study.people)
        return multiway_proportion(side.correct[chosen] == 1, clusters).proportion

    return share(certainty >= threshold), share(certainty < threshold)
