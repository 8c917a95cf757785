"""Judges with a bias of known size."""

import numpy as np

from analysis.stats.core.results import FloatArray, IntArray

# What 2,000,000 items of `pulled` with pull .4 and SD 1.2 give over personas of their own pull.
PULL_OF_LENGTH = 0.241


def pulled(
    rng: np.random.Generator, n: int, *, pull: float, sd_persona: float = 0.0
) -> tuple[IntArray, IntArray, IntArray, IntArray, IntArray]:
    """Lengths, choices that follow length and truth, the truth, and the persona of each item."""
    one, two = rng.integers(20, 200, (2, n))
    truth, persona = rng.integers(0, 2, n), np.arange(n) // 10
    own = rng.normal(0, sd_persona, persona.max() + 1)[persona]
    ratio = np.log2(two / one)
    odds = (pull + own) * ratio + np.where(truth == 1, 0.8, -0.8) - 0.2
    return one, two, (rng.random(n) < 1 / (1 + np.exp(-odds))).astype(int), truth, persona


def asked(
    rng: np.random.Generator,
    *,
    wording: tuple[float, float, float] = (0.0, 0.0, 0.0),
    order: tuple[float, float] = (0.0, 0.0),
    items: int = 240,
    per_persona: int = 3,
) -> tuple[FloatArray, IntArray]:
    """Credits of items × 3 wordings × 2 framings × 2 orders with these effects, and personas."""
    persona = np.repeat(np.arange(items // per_persona), per_persona)
    ability = 0.65 + 0.15 * rng.standard_normal(items // per_persona)[persona]
    chance = (
        ability[:, None, None, None]
        + np.array(wording)[:, None, None]
        + np.zeros(2)[:, None]
        + np.array(order)
    )
    drawn = rng.random(chance.shape) < np.clip(chance, 0, 1)
    return drawn.astype(float), persona


def probed(
    rng: np.random.Generator, shift: float
) -> tuple[IntArray, IntArray, IntArray, dict[str, IntArray]]:
    """Answers before and after a probe, item and clusters of each: 300 items asked twice.

    The probe adds `shift` to the chance of the favoured response 0 on average, more or less by
    persona and question.
    """
    persona, question = np.divmod(np.arange(300), 15)
    more = shift + rng.uniform(-0.12, 0.12, 20)[persona] + rng.uniform(-0.12, 0.12, 15)[question]
    item = np.repeat(np.arange(300), 2)
    before = (rng.random(600) >= 0.5).astype(int)
    after = (rng.random(600) >= np.repeat(0.5 + more, 2)).astype(int)
    clusters = {"persona": np.repeat(persona, 2), "question": np.repeat(question, 2)}
    return before, after, item, clusters


def of_own(
    rng: np.random.Generator, *, missed: float, taken: float, sd: float = 0.15
) -> tuple[IntArray, IntArray, IntArray]:
    """Choices of the judge's own response, gold answers, and personas of 300 pairs.

    The judge's own response is the better one in 70 % of pairs. Errors are made at the rate
    `missed` where it is and at the rate `taken` where it is not, more or less by persona.
    """
    persona = np.arange(300) // 10
    gold = (rng.random(300) < 0.7).astype(np.int64)
    rate = np.where(gold == 1, missed, taken) + rng.uniform(-sd, sd, 30)[persona]
    wrong = rng.random(300) < rate
    return np.where(wrong, 1 - gold, gold), gold, persona
