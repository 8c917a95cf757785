"""Claims of reports: false ones if nothing differs, and detection of planted effects."""

import numpy as np

from analysis.stats import flipped_signs, holding, permuted_groups
from analysis.stats.core.groups import FEWEST_PERSONAS
from analysis.stats.core.results import FloatArray, IntArray
from benchmarks.simulations.promises import Counts, MethodCheck, compared, errs

DRAWS = 499
KINDS = ("groups", "sides", "certainty against accuracy", "certainty ranks answers")


def expit(x: FloatArray) -> FloatArray:
    found: FloatArray = 1 / (1 + np.exp(-x))
    return found


def study(
    rng: np.random.Generator, effect: float, personas: int
) -> tuple[list[FloatArray], list[IntArray]]:
    """Tests of every kind, adjusted within it, and the direction of each.

    Raters share errors on hard personas. With an effect, each errs more on the first age, chooses
    side A more often, and is overconfident.
    """
    loads = rng.integers(1, 20, personas) if rng.random() < 0.5 else np.full(personas, 10)
    persona = np.repeat(np.arange(personas), loads)
    n, raters = persona.size, int(rng.integers(1, 10))
    ages, others = rng.integers(0, 6, personas), rng.integers(0, 2, (3, personas))
    base, hard = rng.uniform(0.6, 2.5), rng.normal(0, 0.7, personas)
    logits = base + hard[persona] - effect * (ages[persona] == 0)
    right = rng.random((raters, n)) < expit(logits)
    is_first = rng.random(n) < 0.5
    right ^= (rng.random((raters, n)) < effect / 10) & (right == ~is_first)
    mean = float(expit(base + rng.normal(0, 0.7, 4000)).mean())
    stated = np.clip(mean + rng.normal(0, 0.03, (raters, n)), 0, 1)
    chosen = np.where(right, is_first, ~is_first)

    def sums(values: FloatArray) -> FloatArray:
        return np.stack([np.bincount(persona, row, minlength=personas) for row in values])

    inside = np.array(
        [ages == age for age in range(6)] + [each == v for each in others for v in (0, 1)]
    )
    high = stated >= np.median(stated)
    products = (high - high.mean(axis=1, keepdims=True)) * (
        right - right.mean(axis=1, keepdims=True)
    )
    groups = permuted_groups(
        sums((~right).astype(float)),
        np.tile(loads, (raters, 1)),
        inside,
        ~inside,
        fewest=FEWEST_PERSONAS,
        rng=rng,
        draws=DRAWS,
    )
    found = [groups]
    for values in (chosen.astype(float) - is_first, stated - right, products):
        found.append(flipped_signs(sums(values), rng=rng, draws=DRAWS))
    return [each.adjusted.ravel() for each in found], [
        np.nan_to_num(np.sign(each.t)).astype(np.int64).ravel() for each in found
    ]


def claimed(adjusted: list[FloatArray]) -> list[np.ndarray]:
    """The claimed members of each kind."""
    smallest = [float(np.nanmin(p)) if np.isfinite(p).any() else None for p in adjusted]
    return [p <= level for p, level in zip(adjusted, holding(smallest), strict=True)]


def nothing(rng: np.random.Generator, counts: Counts) -> None:
    adjusted, _ = study(rng, 0.0, int(rng.choice([40, 100, 300])))
    found = claimed(adjusted)
    counts.happened("a report claims anything", any(each.any() for each in found))
    for kind, each, p in zip(KINDS, found, adjusted, strict=True):
        counts.happened(f"claims: {kind}", each.any())
        counts.happened(f"alone, at 5 %: {kind}", (p <= 0.05).any())


def planted(rng: np.random.Generator, counts: Counts) -> None:
    adjusted, signs = study(rng, 1.5, int(rng.choice([40, 100, 300])))
    found = claimed(adjusted)
    # Raters err more on the first age, less on other ages, and equally on other features.
    ages = np.arange(found[0].size) % 12
    wrong = found[0] & (((ages == 0) & (signs[0] < 0)) | ((ages > 0) & (ages < 6) & (signs[0] > 0)))
    wrong_side, wrong_gap = (
        each & (sign < 0) for each, sign in zip(found[1:3], signs[1:3], strict=True)
    )
    counts.happened(
        "a claim has the wrong direction", any(map(np.any, (wrong, wrong_side, wrong_gap)))
    )
    counts.happened("the planted group is found", found[0][ages == 0].any())


CHECKS = (
    MethodCheck(
        "reports in which nothing differs",
        "40 to 300 personas with 10 or 1 to 19 items, 1 to 9 raters; 12 groups, sides, certainty.",
        nothing,
        {"a report claims anything": errs(0.05, most=0.06)}
        | {f"claims: {kind}": errs() for kind in KINDS}
        | {f"alone, at 5 %: {kind}": errs(0.05, most=0.07) for kind in KINDS},
        quick=100,
        full=1000,
    ),
    MethodCheck(
        "reports with planted effects",
        "Raters err more on one of six ages, lean to a side, and are overconfident.",
        planted,
        {
            "a claim has the wrong direction": errs(0.02),
            "the planted group is found": compared("false claims", 1.0),
        },
        quick=50,
        full=300,
    ),
)
