"""What can serve as a run's certainty, next to the one that it stated, and as its distribution."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from analysis.data.arrays import CHOICES, MISSING, Codes, Dataset, Index, RunData
from analysis.data.verdicts import (
    Floats,
    Verdicts,
    agreement_certainty,
    probability_certainty,
)


@dataclass(frozen=True)
class Signal:
    """A certainty for each of a run's verdicts, in percent; NaN where it has none."""

    name: str  # in report.json
    label: str
    values: Callable[[Dataset, RunData, Verdicts], Floats]


def order_certainty(data: Dataset, run: RunData, verdicts: Verdicts) -> Floats:
    """The share, in percent, of readings that gave the verdict, in the order where it is lower.

    NaN unless both orders were read. With one reading for each order it is 100 wherever there is a
    verdict, because a verdict takes both.
    """
    rows = run.judgments
    valid = (rows.choice >= 0) & (verdicts.answer[rows.item] >= 0)
    shares = np.full((2, len(data.items)), np.nan)
    for first in (0, 1):
        here = valid & (rows.shown_first == first)
        item = rows.item[here]
        n = np.bincount(item, minlength=len(data.items))
        agree = rows.choice[here] == verdicts.answer[item]
        hits = np.bincount(item, weights=agree, minlength=len(data.items))
        np.divide(hits, n, out=shares[first], where=n > 0)
    return 100 * shares.min(axis=0)


SIGNALS = (
    Signal("probabilities", "probability of its answer", probability_certainty),
    Signal(
        "agreement",
        "agreement of its readings",
        lambda data, run, verdicts: agreement_certainty(verdicts),
    ),
    Signal("orders", "agreement in the less favourable order", order_certainty),
)


@dataclass(frozen=True, eq=False)
class Shares:
    """A run's distribution over the options of every item.

    Attributes
    ----------
    shares : ndarray of float, shape (items, 3)
        Of response 1, response 2 and a tie; NaN where there are none.
    noise : ndarray of float, shape (items,)
        Half the sum of their variances as shares of a few readings; 0 where they are known
        exactly, NaN where an order was read once.
    """

    shares: Floats
    noise: Floats


def probability_shares(data: Dataset, run: RunData, verdicts: Verdicts) -> Shares:
    """The probabilities that a run's readings gave the options: mean by order, then over orders."""
    rows = run.judgments
    total = rows.probabilities.sum(axis=1)
    known = np.isfinite(total) & (total > 0)
    given = rows.probabilities[known] / total[known, None]
    shares, _ = _over_orders(given, rows.item[known], rows.shown_first[known], len(data.items))
    return Shares(shares, np.zeros(len(data.items)))


def reading_shares(data: Dataset, run: RunData, verdicts: Verdicts) -> Shares:
    """The shares of a run's readings, each order weighing the same; NaN below two readings."""
    rows = run.judgments
    valid = rows.choice >= 0
    given = np.eye(len(CHOICES))[rows.choice[valid]]
    item, first = rows.item[valid], rows.shown_first[valid]
    shares, noise = _over_orders(given, item, first, len(data.items))
    once = np.bincount(item, minlength=len(data.items)) < 2
    return Shares(np.where(once[:, None], np.nan, shares), np.where(once, np.nan, noise))


def answer_shares(data: Dataset, run: RunData, verdicts: Verdicts) -> Shares:
    """All of the share for the run's verdict; NaN without one."""
    shares = np.full((len(data.items), len(CHOICES)), np.nan)
    decided = np.flatnonzero(verdicts.answer >= 0)
    shares[decided] = np.eye(len(CHOICES))[verdicts.answer[decided]]
    return Shares(shares, np.zeros(len(data.items)))


def _over_orders(
    given: Floats, item: Index, shown_first: Codes, n_items: int
) -> tuple[Floats, Floats]:
    """Mean within each order and then over the orders, and its noise as in `Shares`."""
    total, noise = np.zeros((n_items, len(CHOICES))), np.zeros(n_items)
    orders = np.zeros(n_items)
    for first in (0, 1, MISSING):  # files of judgments do not always state the order
        here = shown_first == first
        n = np.bincount(item[here], minlength=n_items)
        sums = np.zeros((n_items, len(CHOICES)))
        np.add.at(sums, item[here], given[here])
        mean = sums / np.maximum(n, 1)[:, None]
        total += mean
        orders += n > 0
        with np.errstate(divide="ignore", invalid="ignore"):
            own = (mean * (1 - mean)).sum(axis=1) / 2 / np.where(n > 1, n - 1, np.nan)
        noise += np.where(n > 0, own, 0.0)
    there = orders > 0
    shares = np.full_like(total, np.nan)
    shares[there] = total[there] / orders[there, None]
    return shares, np.where(there, noise / np.maximum(orders, 1) ** 2, np.nan)
