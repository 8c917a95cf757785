"""Answers that may have been copied: by people from a judge, or by a judge from people."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array, triu
from scipy.special import betaln, gammainc

from ..core.results import BoolArray, FloatArray, IntArray

# Items on which a person agrees throughout, before that can be more than chance.
FEWEST_SAME = 20
UNLIKELY = 0.005
FEWEST_OTHERS = 5  # people with some other answer, who show how often people agree


@dataclass(frozen=True)
class SameThroughout:
    """People whose answers are a judge's on every item, with their items, and the others' answers.

    `p` is the probability that as many people agree throughout by chance, times the number of
    judges tested; None without enough others.
    """

    people: IntArray
    items: int
    fewest: int
    others_items: int
    others_same: int
    p: float | None


def same_throughout(n: npt.ArrayLike, same: npt.ArrayLike, *, tests: int = 1) -> SameThroughout:
    r"""People who agree with a judge on many items without exception.

    `n` and `same` are each person's items in common with the judge, and those with the same answer.
    A person's agreement is beta-distributed over the people who differ from the judge at least
    once: with mean m and intraclass correlation :math:`\rho`, both by moments, all of k items are
    the same with probability :math:`B(a+k,b)/B(a,b)`, :math:`a+b=1/\rho-1`, :math:`a/(a+b)=m`.
    Only people for whom that is below .005 count; their number is compared with a Poisson variable
    of the sum of these probabilities.

    >>> copies = same_throughout([30] * 12, [30, 30, 20, 21, 19, 22, 20, 18, 21, 20, 19, 23])
    >>> copies.people.tolist(), copies.fewest, copies.p < 0.001
    ([0, 1], 30, True)
    """
    counts = np.asarray(n, dtype=np.int64)
    equal = np.asarray(same, dtype=np.int64)
    others = (counts > 1) & (equal < counts)
    size, agreed = counts[others], equal[others]
    people, p = np.flatnonzero((counts >= FEWEST_SAME) & (equal == counts)), None
    if people.size and others.sum() >= FEWEST_OTHERS:
        chance = np.where(counts >= FEWEST_SAME, _all_same(counts, size, agreed), 1.0)
        unlikely = chance < UNLIKELY
        people = people[unlikely[people]]
        p = min(float(gammainc(people.size, chance[unlikely].sum())) * tests, 1.0)
    return SameThroughout(
        people,
        int(counts[people].sum()),
        int(counts[people].min(initial=counts.max(initial=0))),
        int(size.sum()),
        int(agreed.sum()),
        p,
    )


def _all_same(items: IntArray, size: IntArray, agreed: IntArray) -> FloatArray:
    """The probability that a person agrees on all of so many items, from those who do not."""
    total = float(size.sum())
    mean = (agreed.sum() + 0.5) / (total + 1)
    # One-way analysis of variance of the answers within people.
    groups = size.size
    within = float((agreed * (1 - agreed / size)).sum()) / max(total - groups, 1)
    between = float((size * (agreed / size - mean) ** 2).sum()) / max(groups - 1, 1)
    usual = (total - float((size.astype(np.float64) ** 2).sum()) / total) / max(groups - 1, 1)
    spread = between + (usual - 1) * within
    rho = (between - within) / spread if spread > 0 else 0.0
    rho = min(max(rho, 0.01), 0.9)  # the moments are noisy, and people never all alike
    a, b = mean * (1 / rho - 1), (1 - mean) * (1 / rho - 1)
    chance: FloatArray = np.exp(betaln(a + items, b) - betaln(a, b))
    return chance


@dataclass(frozen=True)
class AnsweredAlike:
    """People who gave the answers of another one, without exception, to many shared items.

    `fewest` is the smallest number of items that two of them share. `others` is how often the
    other pairs agree, None without any; `p` is that of `same_throughout` for pairs of people, None
    without enough other pairs.
    """

    people: IntArray
    fewest: int
    others: float | None
    p: float | None


def answered_alike(
    item: npt.ArrayLike, annotator: npt.ArrayLike, choice: npt.ArrayLike
) -> AnsweredAlike:
    """Find people whose answers are another person's on every item that both answered.

    Pairs of people take the place of the people of `same_throughout`, so agreement that is as
    usual in this study is no sign of copies.

    >>> alike = answered_alike([*range(30)] * 2, [0] * 30 + [1] * 30, [0, 1] * 30)
    >>> alike.people.tolist(), alike.fewest, alike.others, alike.p
    ([0, 1], 30, None, None)
    """
    items, people, choices = (np.asarray(x, dtype=np.int64) for x in (item, annotator, choice))
    size = (int(people.max(initial=-1)) + 1, int(items.max(initial=-1)) + 1)
    same = csr_array((size[0], size[0]), dtype=np.int64)
    for option in np.unique(choices):
        rows = choices == option
        own = csr_array((np.ones(rows.sum(), dtype=np.int64), (people[rows], items[rows])), size)
        same = same + own @ own.T
    answered = csr_array((np.ones(people.size, dtype=np.int64), (people, items)), size)
    shared = triu(answered @ answered.T, 1).tocoo()
    one, other = shared.coords
    if not one.size:
        return AnsweredAlike(np.zeros(0, dtype=np.int64), 0, None, None)
    n = np.asarray(shared.data, dtype=np.int64)
    throughout = same_throughout(n, np.asarray(same[one, other]).ravel())
    alike = np.unique(np.concatenate([one[throughout.people], other[throughout.people]]))
    others = throughout.others_same / throughout.others_items if throughout.others_items else None
    return AnsweredAlike(alike, throughout.fewest, others, throughout.p)


@dataclass(frozen=True)
class FollowsMajority:
    """Whether a judge gives the majority's answer to every item that both decided.

    `p` bounds the probability that a judge that is always right does so by chance; None if no two
    people answered the same item, so that nothing is known of the majority's errors.
    """

    n: int
    is_same: bool
    split: int
    p: float | None


def follows_majority(
    counts: npt.ArrayLike, majority: npt.ArrayLike, answer: npt.ArrayLike
) -> FollowsMajority:
    r"""Compare a judge with the majority of people, item by item.

    `counts` are votes of shape (items, options). With two options, if people are right
    independently with probability a, a majority by d votes is right with probability
    :math:`a^d/(a^d+(1-a)^d)`. Agreement of two people, :math:`a^2+(1-a)^2`, gives a. The product
    over items is the probability that somebody who is always right agrees with every majority.

    >>> votes = np.tile([[2, 1], [1, 2]], (20, 1))
    >>> judge = follows_majority(votes, votes.argmax(axis=1), votes.argmax(axis=1))
    >>> judge.n, judge.is_same, judge.split, judge.p < 1e-6
    (40, True, 40, True)
    """
    votes = np.asarray(counts, dtype=np.int64)
    theirs, own = (np.asarray(x, dtype=np.int64) for x in (majority, answer))
    both: BoolArray = (theirs >= 0) & (own >= 0)
    n, is_same = int(both.sum()), bool((theirs == own)[both].all())
    voters = votes.sum(axis=1)
    several = voters > 1
    pairs = float((voters[several] * (voters[several] - 1)).sum())
    split = int((both & (votes.max(axis=1, initial=0) < voters)).sum())
    if not pairs:
        return FollowsMajority(n, is_same, split, None)
    agree = float((votes[several] * (votes[several] - 1)).sum()) / pairs
    right = (1 + np.sqrt(max(2 * agree - 1, 0.0))) / 2
    ordered = np.sort(votes[both], axis=1)
    lead = ordered[:, -1] - ordered[:, -2]
    wrong = (1 - right) ** lead
    return FollowsMajority(n, is_same, split, float(np.prod(right**lead / (right**lead + wrong))))


def fewest_with(share: float, sizes: Sequence[int]) -> tuple[int, int]:
    """The smallest number of clusters that have this share of the rows, and their rows.

    >>> fewest_with(0.8, [50, 50, 50, 50, 50] + [1] * 50)
    (5, 250)
    """
    ordered = np.sort(np.asarray(sizes, dtype=np.int64))[::-1]
    reached = np.cumsum(ordered)
    number = int(np.searchsorted(reached, share * reached[-1] - 1e-9)) + 1
    return number, int(reached[number - 1])
