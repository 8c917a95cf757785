"""Effects of crossed factors, against paired tests and planted effects."""

import numpy as np
import pytest
from scipy import stats

from extras.judges_compared.stats import factor_effects


def asked(
    rng: np.random.Generator,
    *,
    wording: tuple[float, float, float] = (0.0, 0.0, 0.0),
    order: tuple[float, float] = (0.0, 0.0),
    items: int = 240,
    per_persona: int = 3,
) -> tuple[np.ndarray, np.ndarray]:
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


def test_two_levels_are_the_paired_t_test():
    rng = np.random.default_rng(3)
    credits = (rng.random((90, 2)) < [0.7, 0.6]).astype(float)

    [effect] = factor_effects(credits, np.arange(90)).effects

    assert effect.p == pytest.approx(stats.ttest_rel(credits[:, 0], credits[:, 1]).pvalue)


def test_three_levels_are_hotellings_test_over_clusters():
    credits, persona = asked(np.random.default_rng(4))
    over = credits.mean(axis=(2, 3))
    sums = np.array([over[persona == g].mean(axis=0) for g in np.unique(persona)])
    differences = sums[:, :2] - sums[:, 2:]
    g, k = differences.shape
    mean = differences.mean(axis=0)
    t2 = g * mean @ np.linalg.solve(np.cov(differences, rowvar=False), mean)

    effect = factor_effects(credits, persona).effects[0]

    assert effect.p == pytest.approx(stats.f.sf(t2 * (g - k) / ((g - 1) * k), k, g - k))


def test_the_parts_are_those_of_an_analysis_of_variance():
    """The classical components, with items as clusters: (MS factor − MS factor × item) / cells."""
    rng = np.random.default_rng(5)
    credits = rng.random((60, 3, 2)) + np.array([0, 0.2, 0.5])[:, None]
    levels = credits.mean(axis=2)
    grand = levels.mean()
    between = 60 * 2 * ((levels.mean(axis=0) - grand) ** 2).sum() / 2
    residual = levels - levels.mean(axis=1, keepdims=True) - levels.mean(axis=0) + grand
    within = 2 * (residual**2).sum() / (2 * 59)

    effect = factor_effects(credits, np.arange(60)).effects[0]

    assert effect.variance * 3 / 2 == pytest.approx((between - within) / 120)


def test_what_cannot_be_told_is_undefined():
    empty = factor_effects(np.full((5, 2), np.nan), np.arange(5))
    same = factor_effects(np.ones((20, 2, 2)), np.arange(20))
    few = factor_effects(np.eye(6)[:, :2], np.arange(6))

    assert (empty.reason, empty.low, empty.effects) == ("empty_group", None, ())
    assert [effect.reason for effect in same.effects] == ["no_variation"] * 2
    assert same.effects[0].share is None
    assert few.effects[0].reason == "too_few_items"
