"""The parts of the multiverse's specifications: sides and units under every option."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from analysis.data.arrays import Answers, Dataset, RunData
from analysis.data.verdicts import Floats, Ints, people_votes, run_votes
from analysis.report.clusters import SharedClusters
from analysis.report.study import on_side
from analysis.stats.comparison.contrasts import Clusters, Unit
from analysis.stats.comparison.general_difference import (
    why_not,
)
from analysis.stats.core.clusters import annotator_blocks
from analysis.stats.core.shared_variance import Sharing
from analysis.stats.core.votes import Votes
from analysis.stats.labels.aggregation import TiePolicy, majority_vote
from extras.methods.stats.contrasts import shared_people

MIN_BLOCKS = 8


# Signs that an annotator did not read: a pace, and a side of the screen.
HASTE = 1 / 3


ONE_SIDED, SIDED_ANSWERS = 0.9, 10


TIES: Mapping[str, str] = {
    "exclude": "ties left out",
    "half": "ties count half",
    "certainty": "ties go to the more certain",
    "random": "ties broken by lot",
}


EXCLUSIONS: Mapping[str, str] = {
    "as_reported": "answers as in this report",
    "with_excluded": "excluded people counted too",
    "without_hasty": "without hasty and one-sided people",
    "missing_wrong": "a judge's missing answers count as wrong",
}


UNITS: Mapping[str, str] = {
    "general": "items, people, personas and questions vary",
    "item": "items vary",
    "persona": "personas vary",
    "question": "questions vary",
    "people": "people vary",
}


@dataclass(frozen=True, eq=False)
class SideOfUniverse:
    """One side under one way of breaking ties: credit and certainty, shape (items,).

    Without ties, every way of breaking them gives the same.
    """

    credit: Floats
    certainty: Floats
    has_ties: bool


@dataclass(eq=False)
class Universe:
    """The data of all specifications, computed once for each option."""

    data: Dataset
    shared: SharedClusters
    seed: int
    runs: Sequence[RunData]
    common: npt.NDArray[np.bool_] | None = None  # the items that all runs were asked
    _sides: dict[tuple[str, ...], SideOfUniverse] = field(default_factory=dict)
    _votes: dict[str, Votes] = field(default_factory=dict)
    _units: dict[tuple[str, str], Unit | Sharing | None] = field(default_factory=dict)

    def people(self, ties: str, exclusions: str) -> SideOfUniverse:
        # Exclusions of judges leave annotators unchanged.
        kept = "as_reported" if exclusions == "missing_wrong" else exclusions
        key = ("people", ties, kept)
        if ties != "exclude" and not (plain := self.people("exclude", kept)).has_ties:
            return plain
        if key not in self._sides:
            truth = self.data.scored_truth(offers_tie=self.data.study.allow_tie)
            self._sides[key] = self._side(self.votes(kept), truth, ties)
        return self._sides[key]

    def judge(self, run: RunData, ties: str, exclusions: str) -> SideOfUniverse:
        strict = exclusions == "missing_wrong"
        key = (run.run, ties, str(strict))
        if ties != "exclude" and not (plain := self.judge(run, "exclude", exclusions)).has_ties:
            return plain
        if key not in self._sides:
            truth = self.data.scored_truth(offers_tie=run.offers_tie)
            side = self._side(run_votes(self.data, run), truth, ties)
            if strict:
                asked = np.zeros(truth.size, dtype=np.bool_)
                asked[run.judgments.item] = True
                missing = asked & (truth >= 0) & np.isnan(side.credit)
                side = replace(side, credit=np.where(missing, 0.0, side.credit))
            self._sides[key] = side
        return self._sides[key]

    def unit(self, name: str, exclusions: str) -> Unit | Sharing | None:
        """The unit that varies; None if there are too few independent ones."""
        by_people = name in {"general", "people"} and exclusions != "missing_wrong"
        kept = exclusions if by_people else "as_reported"
        if (name, kept) not in self._units:
            self._units[name, kept] = self._make_unit(name, kept)
        return self._units[name, kept]

    def votes(self, kept: str) -> Votes:
        if kept not in self._votes:
            self._votes[kept] = _votes(self.data, kept)
        return self._votes[kept]

    def _side(self, votes: Votes, truth: Any, ties: str) -> SideOfUniverse:
        # The draw decides between right and wrong, so it must not depend on which response is r1.
        policy: TiePolicy = "half" if ties == "random" else ties  # type: ignore[assignment]
        majority = majority_vote(votes, ties=policy)
        credit = majority.credit(truth.astype(np.int64))
        if ties == "random":
            lot = np.random.default_rng(self.seed).random(credit.size)
            credit = np.where(np.isnan(credit), np.nan, lot < credit)
        return SideOfUniverse(credit, majority.certainty, has_ties=bool(majority.tied.any()))

    def _make_unit(self, name: str, kept: str) -> Unit | Sharing | None:
        n = len(self.data.items)
        if name == "general":
            clusters = {"persona": self.shared.persona, "question": self.shared.question}
            sharing = Sharing.of_items(n, clusters, self.votes(kept))
            return None if why_not(sharing) else sharing
        if name == "people":
            votes = self.votes(kept)
            blocks = annotator_blocks(votes)
            enough = np.unique(blocks[blocks >= 0]).size >= MIN_BLOCKS
            return Clusters.of(blocks) if enough else shared_people(votes)
        codes = {
            "item": np.arange(n),
            "persona": self.shared.persona,
            "question": self.shared.question,
        }[name]
        unit = Clusters.of(codes)
        return unit if unit.n >= MIN_BLOCKS else None

    def is_same(self, claim: str, ties: str, exclusions: str) -> bool:
        """Whether this way of breaking ties or excluding leaves the data of a claim unchanged."""
        kept = exclusions if ties != "exclude" else "as_reported"
        pairs = [(self.people(ties, exclusions), self.people("exclude", kept))]
        for run in self.runs if claim == "all" else self.runs[:1]:
            pairs.append((self.judge(run, ties, exclusions), self.judge(run, "exclude", kept)))
        return all(_are_same(claim, one, other) for one, other in pairs)


def _are_same(claim: str, one: SideOfUniverse, other: SideOfUniverse) -> bool:
    if claim == "all":
        return np.array_equal(one.credit, other.credit, equal_nan=True)
    # The claim also depends on who is certain, and an answer without a certainty does not count.
    ours, theirs = (
        np.where(np.isnan(side.certainty), np.nan, [side.credit, side.certainty])
        for side in (one, other)
    )
    return np.array_equal(ours, theirs, equal_nan=True)


def _votes(data: Dataset, kept: str) -> Votes:
    """Annotators' answers under one rule of exclusion."""
    votes = people_votes(data, with_excluded=kept == "with_excluded")
    if kept != "without_hasty":
        return votes
    doubtful = hasty_or_one_sided(data.answers, len(data.raters))
    return votes.take(~doubtful[votes.annotator])


def hasty_or_one_sided(answers: Answers, n_raters: int) -> npt.NDArray[np.bool_]:
    """Raters whose median time is under a third of the median, or who always choose one side."""
    medians = _medians(answers.seconds, answers.rater, n_raters)
    known = ~np.isnan(medians)
    pace = float(np.median(medians[known])) if known.any() else 0.0
    side = on_side(answers.choice.astype(np.int64), answers.shown_first)
    sided = side >= 0
    n = np.bincount(answers.rater[sided], minlength=n_raters)
    n_a = np.bincount(answers.rater[sided & (side == 0)], minlength=n_raters)
    most = np.maximum(n_a, n - n_a)
    one_sided = (n >= SIDED_ANSWERS) & (most >= ONE_SIDED * n)
    return np.asarray((known & (medians < HASTE * pace)) | one_sided)


def _medians(seconds: npt.NDArray[np.float64], rater: Ints, n_raters: int) -> Floats:
    """The median of each rater's known values; NaN without any."""
    timed = ~np.isnan(seconds)
    seconds, rater = seconds[timed], rater[timed]
    in_order = seconds[np.lexsort((seconds, rater))]
    n = np.bincount(rater, minlength=n_raters)
    start, some = np.cumsum(n) - n, n > 0
    medians = np.full(n_raters, np.nan)
    low, high = (start + half for half in ((n - 1) // 2, n // 2))
    medians[some] = (in_order[low[some]] + in_order[high[some]]) / 2
    return medians
