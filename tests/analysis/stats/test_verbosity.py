import numpy as np
import pytest
import statsmodels.api as sm

from analysis.stats import length_pull


def pulled(
    rng: np.random.Generator, n: int, *, pull: float, sd_persona: float = 0.0
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Lengths, choices that depend on length and truth, the truth, and the persona of each item."""
    one, two = rng.integers(20, 200, (2, n))
    truth, persona = rng.integers(0, 2, n), np.arange(n) // 10
    own = rng.normal(0, sd_persona, persona.max() + 1)[persona]
    ratio = np.log2(two / one)
    odds = (pull + own) * ratio + np.where(truth == 1, 0.8, -0.8) - 0.2
    return one, two, (rng.random(n) < 1 / (1 + np.exp(-odds))).astype(int), truth, persona


def test_the_pull_of_length_is_the_coefficient_of_a_logistic_regression():
    one, two, chosen, truth, _ = pulled(np.random.default_rng(1), 500, pull=0.5)
    chosen[:20], truth[20:30] = -1, -1

    result = length_pull(one, two, chosen, truth)

    used = (chosen >= 0) & (truth >= 0)
    design = np.stack([np.ones(500), np.log2(two / one), 2 * truth - 1], axis=1)[used]
    fitted = sm.Logit(chosen[used], design).fit(disp=0, cov_type="HC0")
    assert (result.n, result.n_missing) == (470, 30)
    assert result.per_doubling.value == pytest.approx(fitted.params[1], abs=1e-8)
    half = (result.per_doubling.interval.high - result.per_doubling.interval.low) / 2
    # The factor n / (n - 1) and a t quantile; nothing is clustered.
    assert half == pytest.approx(1.965 * fitted.bse[1] * (470 / 469) ** 0.5, rel=1e-3)


def test_a_judge_that_always_takes_the_longer_one_has_no_finite_pull():
    one, two = np.array([10, 20, 30, 40] * 10), np.array([20, 10, 40, 30] * 10)

    result = length_pull(one, two, (two > one).astype(int), [0, 1] * 20)

    assert result.per_doubling.reason == "not_identified"
