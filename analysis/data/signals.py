"""Signals: what can serve as a run's certainty, next to the one that it stated."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from analysis.data.arrays import Dataset, Run
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
    values: Callable[[Dataset, Run, Verdicts], Floats]


def order_certainty(data: Dataset, run: Run, verdicts: Verdicts) -> Floats:
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
