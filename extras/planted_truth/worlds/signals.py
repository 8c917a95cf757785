"""Signals of a judge that is asked several times in both orders, and whether it is right."""

import numpy as np

from analysis.stats import certainty_from_entropy
from analysis.stats.core.results import FloatArray, IntArray
from extras.planted_truth.worlds.answers import logistic

READINGS = 5  # in each order
FINE = tuple(range(99, 0, -1))
ENTROPY, AGREEMENT, ORDERS, PRODUCT = (
    "preference entropy",
    "agreement of readings",
    "agreement of orders",
    "certainty × agreement",
)
SIGNALS = (ENTROPY, AGREEMENT, ORDERS, PRODUCT)
EASE, SD_PERSONA, SD_ITEM, POSITION = 1.6, 0.7, 1.5, 0.5


def judged(rng: np.random.Generator, persona: IntArray, name: str) -> tuple[FloatArray, IntArray]:
    """A signal in percent for each item, NaN without an answer, and 1 where the answer is right.

    The judge leans towards the right answer by persona and item, and towards the first one shown.
    """
    n = persona.size
    lean = EASE + rng.normal(0, SD_PERSONA, int(persona.max()) + 1)[persona]
    lean += rng.normal(0, SD_ITEM, n)
    chances = logistic(lean[:, None] + POSITION * np.array([1, -1]))
    if name == ENTROPY:
        share = chances.mean(axis=1)
        return certainty_from_entropy(share), (share > 0.5).astype(np.int64)
    right = rng.binomial(READINGS, chances) / READINGS
    share = right.mean(axis=1)
    is_right = (share > 0.5).astype(np.int64)
    for_answer = np.where(is_right[:, None] == 1, right, 1 - right)
    if name == ORDERS:
        signal = for_answer.min(axis=1)
    else:
        signal = for_answer.mean(axis=1)
    if name == PRODUCT:
        signal = signal * np.clip(0.5 + np.abs(lean) / 6 + rng.normal(0, 0.1, n), 0.5, 1)
    return np.where(share == 0.5, np.nan, 100 * signal), is_right
