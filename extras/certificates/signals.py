"""Signals for certificates."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from analysis.data.arrays import MISSING, Dataset, Floats, RunData
from analysis.data.verdicts import (
    Ints,
    Verdicts,
    agreement_certainty,
    log_probability_certainty,
    native_certainty,
    people_verdicts,
    probability_shares,
)
from analysis.errors import BadParameters
from analysis.stats.comparison.noise import certainty_from_entropy
from extras.certificates.stats.certified_thresholds import GRID

STATED, ENTROPY = "stated", "entropy"
FIRST_PERSON, MAJORITY = "first_person", "majority"
# Products and entropies of usable answers can be far below 50.
WIDE_GRID = tuple(range(99, 0, -1))


@dataclass(frozen=True)
class Signal:
    """A certainty for each of a run's verdicts, in percent; NaN if it has none."""

    name: str  # in report.json
    label: str
    values: Callable[[Dataset, RunData, Verdicts], Floats]


def order_certainty(data: Dataset, run: RunData, verdicts: Verdicts) -> Floats:
    """The share, in percent, of readings that gave the verdict, in the order where it is lower.

    NaN unless both orders were read. With one reading per order it is 100 for every verdict,
    because a verdict needs both.
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
    Signal("probabilities", "probability of its answer", log_probability_certainty),
    Signal("native", "native probability of its answer", native_certainty),
    Signal(
        "agreement",
        "agreement of its readings",
        lambda data, run, verdicts: agreement_certainty(verdicts),
    ),
    Signal("orders", "agreement in the less favourable order", order_certainty),
)


@dataclass(frozen=True)
class Certifiable:
    """A named signal, with thresholds to test that are fixed before any data."""

    name: str
    label: str
    grid: tuple[int, ...]
    _read: Callable[[Dataset, RunData, Verdicts], tuple[Ints, Floats]]

    def read(self, data: Dataset, run: RunData, verdicts: Verdicts) -> tuple[Ints, Floats]:
        """The answer to each item, -1 without one, and the signal in percent, NaN without one."""
        return self._read(data, run, verdicts)


def _plain(signal: Signal) -> Certifiable:
    def read(data: Dataset, run: RunData, verdicts: Verdicts) -> tuple[Ints, Floats]:
        return verdicts.answer, signal.values(data, run, verdicts)

    return Certifiable(signal.name, signal.label, GRID, read)


def _entropy(data: Dataset, run: RunData, verdicts: Verdicts) -> tuple[Ints, Floats]:
    """The more probable side over both orders, even if their choices differ."""
    shares = probability_shares(data, run, verdicts).shares[:, :2]
    total = shares.sum(axis=1)
    first = np.divide(shares[:, 0], total, out=np.full(total.size, np.nan), where=total > 0)
    both = _has_both_orders(data, run)
    known = both & ~np.isnan(first) & (first != 0.5)
    answer = np.where(known, np.where(first > 0.5, 0, 1), MISSING).astype(np.int64)
    return answer, np.where(both, certainty_from_entropy(first), np.nan)


def _has_both_orders(data: Dataset, run: RunData) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    rows = run.judgments
    known = ~np.isnan(rows.probabilities).any(axis=1)
    orders = [
        np.bincount(rows.item[known & (rows.shown_first == first)], minlength=len(data.items)) > 0
        for first in (0, 1)
    ]
    return orders[0] & orders[1]


_ALL = {
    STATED: Certifiable(
        STATED,
        "stated certainty",
        GRID,
        lambda data, run, verdicts: (verdicts.answer, verdicts.certainty),
    ),
    **{signal.name: _plain(signal) for signal in SIGNALS},
    ENTROPY: Certifiable(ENTROPY, "preference entropy over both orders", WIDE_GRID, _entropy),
}
NAMES = tuple(_ALL)


def certifiable(name: str) -> Certifiable:
    """The signal `name`, or the product of several joined by “*”. Raises `BadParameters`."""
    parts = name.split("*")
    if unknown := [part for part in parts if part not in _ALL]:
        raise BadParameters(
            f"There is no signal “{unknown[0]}”. Use one of {', '.join(NAMES)}, or several of them "
            "joined by *."
        )
    if len(parts) == 1:
        return _ALL[name]
    if ENTROPY in parts or len({*parts}) < len(parts):
        raise BadParameters(
            f"“{name}” is not a valid product. Join different signals, and use {ENTROPY} alone: "
            "it has its own answer where the orders differ."
        )
    factors = [_ALL[part] for part in parts]

    def product(data: Dataset, run: RunData, verdicts: Verdicts) -> tuple[Ints, Floats]:
        values = np.stack([factor.read(data, run, verdicts)[1] for factor in factors])
        return verdicts.answer, np.asarray(100 * (values / 100).prod(axis=0), dtype=np.float64)

    label = " × ".join(factor.label for factor in factors)
    return Certifiable(name, label, WIDE_GRID, product)


def truth_of(data: Dataset, run: RunData, target: str) -> Ints:
    """The target's right answer to each item, -1 where there is none."""
    if target == FIRST_PERSON:
        return data.scored_truth(offers_tie=run.offers_tie).astype(np.int64)
    answer = people_verdicts(data).answer
    return answer if run.offers_tie else np.where(answer > 1, MISSING, answer).astype(np.int64)


def score(answer: Ints, truth: Ints) -> Ints:
    """1 right, 0 wrong, -1 without an answer or a truth."""
    known = (answer >= 0) & (truth >= 0)
    return np.where(known, answer == truth, MISSING).astype(np.int64)
