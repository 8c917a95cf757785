"""Verdicts on a judge, with and without right answers, and the votes behind them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Literal

import numpy as np
from scipy import sparse

from analysis.stats.comparison.general_difference import GeneralDifference, general_differences
from analysis.stats.comparison.replacement import (
    FEWEST_OF_A_LABEL,
    ONE_LABEL,
    PooledReplacement,
    pooled_replacement_tests,
)
from analysis.stats.core.results import BoolArray, FloatArray, IntArray, Reason
from analysis.stats.core.shared_variance import Sharing
from analysis.stats.core.votes import Votes

# The last three are verdicts without right answers.
VerdictState = Literal[
    "better",
    "worse",
    "equivalent",
    "cannot_tell",
    "replaceable",
    "not_replaceable",
    "not_settled",
]
CELLS = 2_000_000  # of a table of sets by items
ALPHA = 0.05  # of the test that a judge can replace a person


def state_of(difference: GeneralDifference, margin: float) -> VerdictState | None:
    """The verdict of a judge's accuracy minus that of people."""
    if difference.interval is None or difference.narrow is None:
        return None
    if difference.interval.low > 0:
        return "better"
    if difference.interval.high < 0:
        return "worse"
    is_within = difference.narrow.low > -margin and difference.narrow.high < margin
    return "equivalent" if is_within else "cannot_tell"


@dataclass(frozen=True, eq=False)
class PastedRows:
    """The answers to the items that count, and what each is if it was pasted."""

    item: IntArray
    annotator: IntArray
    choice: IntArray
    pasted: IntArray
    names: IntArray  # of annotators
    kept: IntArray  # places of the items
    sharing: Sharing

    @classmethod
    def of(
        cls, votes: Votes, pasted: IntArray, sharing: Sharing, chosen: BoolArray, *, fewest: int
    ) -> "PastedRows":
        answered = np.bincount(votes.item, minlength=chosen.size) >= fewest
        kept = np.flatnonzero(chosen & answered)
        place = np.full(chosen.size, -1)
        place[kept] = np.arange(kept.size)
        rows = place[votes.item] >= 0
        names, annotator = np.unique(votes.annotator[rows], return_inverse=True)
        item, choice = votes.item[rows], votes.choice[rows]
        other = np.where(pasted[item] >= 0, pasted[item], choice)
        return cls(place[item], annotator, choice, other, names, kept, sharing.take(kept))

    @property
    def n_options(self) -> int:
        return int(self.pasted.max(initial=0)) + 1


@dataclass(frozen=True, eq=False)
class Contest:
    """A verdict on a judge, and how each annotator's replacement changes the votes behind it."""

    rows: PastedRows
    judge: IntArray
    n_options: int

    ways: ClassVar[int] = 1  # to weigh the influence of an answer

    @property
    def n(self) -> int:
        return self.judge.size

    @property
    def people(self) -> int:
        return self.rows.names.size

    @cached_property
    def counts(self) -> IntArray:
        """Votes by item and option, shape (n, options)."""
        counts = np.zeros((self.n, self.n_options), dtype=np.int64)
        np.add.at(counts, (self.rows.item, self.rows.choice), 1)
        return counts

    @cached_property
    def changes(self) -> sparse.csr_array:
        """Change of the votes by annotator, shape (people, n * options)."""
        rows = self.rows
        cells = np.concatenate([rows.choice, rows.pasted]) + np.tile(rows.item * self.n_options, 2)
        signs = np.repeat([-1.0, 1.0], rows.item.size)
        return sparse.csr_array(
            (signs, (np.tile(rows.annotator, 2), cells)),
            shape=(self.people, self.n * self.n_options),
        )

    @cached_property
    def found(self) -> Any:
        """The comparison with the answers as they are."""
        return next(self.compared(self.counts[None]))

    @property
    def state(self) -> VerdictState | None:
        return self.state_of(self.found)

    def states(self, sets: Sequence[Sequence[int]]) -> Iterator[VerdictState | None]:
        """The verdict with each set of annotators replaced."""
        at_once = max(1, CELLS // (self.n * self.n_options))
        for start in range(0, len(sets), at_once):
            chosen = sets[start : start + at_once]
            members = np.zeros((len(chosen), self.people))
            for row, group in enumerate(chosen):
                members[row, list(group)] = 1.0
            changed = (members @ self.changes).reshape(-1, self.n, self.n_options)
            counts = self.counts + np.rint(changed).astype(np.int64)
            yield from map(self.state_of, self.compared(counts))

    def compared(self, counts: IntArray) -> Iterator[Any]:
        """The comparison for each table of votes, shape (tables, n, options)."""
        raise NotImplementedError

    def state_of(self, comparison: Any) -> VerdictState | None:
        raise NotImplementedError

    def why_not(self, comparison: Any) -> Reason | None:
        """Why there is no verdict."""
        raise NotImplementedError

    def value_of(self, counts: IntArray, item: IntArray, way: int) -> FloatArray:
        """What votes on items are worth against the judge; `counts` has the shape (m, options)."""
        raise NotImplementedError

    @property
    def prepares(self) -> FloatArray | float:
        """What a pasted answer is worth that changes no verdict on its item yet."""
        return 0.0


@dataclass(frozen=True, eq=False)
class AgainstMajority(Contest):
    """The judge's accuracy minus that of the majority."""

    truth: IntArray
    margin: float

    def compared(self, counts: IntArray) -> Iterator[GeneralDifference]:
        gaps = (self.judge == self.truth) - self.credit(counts, self.truth)
        yield from general_differences(gaps, self.rows.sharing, margin=self.margin)

    def state_of(self, difference: GeneralDifference) -> VerdictState | None:
        return state_of(difference, self.margin)

    def why_not(self, difference: GeneralDifference) -> Reason | None:
        return difference.interval_reason or difference.reason

    def credit(self, counts: IntArray, truth: IntArray) -> FloatArray:
        """What the majority of these votes is worth: 1 right, 0 wrong, a share of a tie."""
        top = counts == counts.max(axis=-1, keepdims=True)
        right = np.take_along_axis(top, np.broadcast_to(truth, top.shape[:-1])[..., None], axis=-1)
        return np.asarray(right[..., 0] / top.sum(axis=-1), dtype=np.float64)

    def value_of(self, counts: IntArray, item: IntArray, way: int) -> FloatArray:
        return self.credit(counts, self.truth[item])

    @property
    def prepares(self) -> FloatArray:
        truth = self.truth[self.rows.item]
        hits = (self.rows.pasted == truth).astype(float) - (self.rows.choice == truth)
        return np.asarray(0.01 * hits)


@dataclass(frozen=True, eq=False)
class InsteadOfAPerson(Contest):
    """Agreement of the judge with people, and of people with each other."""

    epsilon: float
    among: int
    same_label: float

    ways: ClassVar[int] = 2  # raw and balanced

    def compared(self, counts: IntArray) -> Iterator[PooledReplacement]:
        judge = np.broadcast_to(self.judge, counts.shape[:2])
        yield from pooled_replacement_tests(
            counts, judge, self.rows.sharing, epsilon=self.epsilon, alpha=ALPHA
        )

    def state_of(self, replacement: PooledReplacement) -> VerdictState | None:
        scales = (replacement.raw, replacement.balanced)
        if replacement.raw.advantage.interval is None:
            return None
        if replacement.rarest < FEWEST_OF_A_LABEL:
            return "not_settled"
        ends = [scale.advantage.interval for scale in scales]
        if any(end is not None and end.low > self.epsilon for end in ends):
            return "not_replaceable"
        p = max(1.0 if scale.p is None else scale.p for scale in scales) * self.among
        is_better = self.same_label <= ONE_LABEL and (replacement.gain_low or 0.0) > 0
        return "replaceable" if is_better and p <= ALPHA else "not_settled"

    def why_not(self, replacement: PooledReplacement) -> Reason | None:
        return replacement.raw.advantage.interval_reason or replacement.raw.advantage.reason

    @cached_property
    def weights(self) -> FloatArray:
        """Of labels, for raw and for balanced agreement, shape (2, options)."""
        share = (self.counts / self.counts.sum(axis=1, keepdims=True)).mean(axis=0)
        balanced = np.divide(1.0, share, out=np.zeros_like(share), where=share > 0)
        return np.stack([np.ones_like(share), balanced / (share > 0).sum()])

    def value_of(self, counts: IntArray, item: IntArray, way: int) -> FloatArray:
        k = counts.sum(axis=1, keepdims=True)
        chosen = self.judge[item][:, None] == np.arange(self.n_options)
        pairs = counts * (counts - 1) / (k * (k - 1))
        return np.asarray((pairs - chosen * counts / k) @ self.weights[way], dtype=np.float64)
