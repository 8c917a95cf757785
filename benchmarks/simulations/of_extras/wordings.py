"""Promises of the effects of a wording, checked by simulation."""

import numpy as np

from analysis.stats.core.results import FloatArray, IntArray
from benchmarks.simulations.promises import Counts, Family, MethodCheck, errs
from extras.judges_compared.stats import factor_effects


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


def factors(rng: np.random.Generator, counts: Counts) -> None:
    """A wording that matters, and a framing and an order that do not."""
    _, framing, order = factor_effects(*asked(rng, wording=(0.12, 0.0, -0.12))).effects
    counts.happened("an effect of the framing is found", framing.p is not None and framing.p < 0.05)
    counts.happened("an effect of the order is found", order.p is not None and order.p < 0.05)
    wording = factor_effects(*asked(rng)).effects[0]
    name = "an effect of wordings that do not differ is found"
    counts.happened(name, wording.p is not None and wording.p < 0.05)


WORDINGS = Family(
    "wordings",
    (
        MethodCheck(
            "crossed factors of the prompt",
            "240 items × 3 wordings × 2 framings × 2 orders; only wordings differ, or nothing.",
            factors,
            {
                "an effect of the framing is found": errs(0.05, most=0.06),
                "an effect of the order is found": errs(0.05, most=0.06),
                "an effect of wordings that do not differ is found": errs(0.05, most=0.06),
            },
            quick=300,
            full=5000,
        ),
    ),
)
