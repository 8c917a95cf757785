"""Wordings tried on a sealed part: better ones that are none, gains that are found, intervals."""

from functools import partial

import numpy as np

from analysis.stats import Sharing
from analysis.stats.core.results import FloatArray
from benchmarks.simulations.promises import Counts, Family, MethodCheck, covers, errs, is_on_average
from extras.improving.stats import items_for_gain, try_wordings

OF_PERSONA, OF_QUESTION, TRIED, ACCURACY, CHANGED = 10, 8, 3, 0.7, 0.2
DIFFER = 0.04  # standard deviation of a wording's gain between personas, and between questions


def trial(
    rng: np.random.Generator, counts: Counts, *, gain: float, items: int, differ: float
) -> None:
    """Three wordings, the first with a gain, that change 20 % of the answers."""
    persona = np.arange(items) // OF_PERSONA
    question = rng.permutation(items) // OF_QUESTION
    sharing = Sharing.of_items(items, {"persona": persona, "question": question})
    usual = rng.random(items) < ACCURACY
    gains = np.zeros(TRIED)
    gains[0] = gain
    tried = np.stack([_asked(rng, usual, persona, question, one, differ) for one in gains])
    tried_ones = try_wordings(tried, usual, sharing)
    counts.happened(
        "says “better” of one that is not", any(one.is_better for one in tried_ones[1:])
    )
    if not gain:
        counts.happened("says “better” of one", any(one.is_better for one in tried_ones))
    counts.happened("finds the gain", tried_ones[0].is_better)
    counts.measured("gain", tried_ones[0].difference.value)
    counts.covered("interval of the gain", tried_ones[0].difference.interval, gain)


def _asked(
    rng: np.random.Generator,
    usual: np.ndarray,
    persona: np.ndarray,
    question: np.ndarray,
    gain: float,
    differ: float,
) -> FloatArray:
    """Right answers with another wording: it corrects some answers and spoils others."""
    own = rng.normal(0, differ, persona.max() + 1)[persona]
    own = gain + own + rng.normal(0, differ, question.max() + 1)[question]
    corrects = np.clip((CHANGED + own) / 2 / (1 - ACCURACY), 0, 1)
    spoils = np.clip((CHANGED - own) / 2 / ACCURACY, 0, 1)
    drawn = rng.random(usual.size)
    return np.where(usual, drawn >= spoils, drawn < corrects).astype(np.float64)


_NULL = {
    "says “better” of one": errs(),
    "interval of the gain": covers(),
    "gain": is_on_average(within=0.003),
}


def _size(gain: float) -> int:
    return items_for_gain(gain, tried=TRIED, changed=CHANGED)


CHECKS = (
    *(
        MethodCheck(
            f"no gain, {items} items" + (", personas and questions differ" if differ else ""),
            f"{TRIED} wordings without a gain, {items // OF_PERSONA} personas.",
            partial(trial, gain=0.0, items=items, differ=differ),
            _NULL,
            quick=200,
            full=2000,
        )
        for items, differ in ((80, 0.0), (240, 0.0), (240, DIFFER), (960, DIFFER))
    ),
    *(
        MethodCheck(
            f"a gain of {gain * 100:g} points" + (", personas differ" if differ else ""),
            f"The stated {_size(gain)} items; the two other wordings have no gain.",
            partial(trial, gain=gain, items=_size(gain), differ=differ),
            {
                "finds the gain": is_on_average(0.875, within=0.075),
                "says “better” of one that is not": errs(),
                "interval of the gain": covers(),
                "gain": is_on_average(gain, within=0.003),
            },
            quick=200,
            full=1000,
        )
        for gain, differ in ((0.05, 0.0), (0.05, DIFFER), (0.1, 0.0), (0.1, DIFFER))
    ),
)
FAMILY = Family("improving", CHECKS)
