import numpy as np
import pytest
import statsmodels.api as sm
from hypothesis import given
from hypothesis import strategies as st

from analysis.stats import length_pull, verbosity_bias

CHOICE = st.sampled_from([-1, 0, 1])
ITEMS = st.lists(st.tuples(st.integers(1, 4), st.integers(1, 4), CHOICE, CHOICE), max_size=30)


@given(ITEMS)
def test_verbosity_is_counted_item_by_item_and_does_not_care_which_response_comes_first(items):
    used = [(a, b, c, t) for a, b, c, t in items if a != b and c >= 0 and t >= 0]

    columns = [[item[i] for item in items] for i in range(4)]
    result = verbosity_bias(*columns)

    assert result.n == len(used)
    assert result.n + result.n_equal + result.n_missing == len(items)
    if used:
        chosen = sum((b > a) == (c == 1) for a, b, c, _ in used)
        true = sum((b > a) == (t == 1) for a, b, _, t in used)
        assert result.longer_chosen == pytest.approx(chosen / len(used))
        assert result.longer_true == pytest.approx(true / len(used))
        assert result.difference.value == pytest.approx((chosen - true) / len(used))
    else:
        assert result.difference.reason == "empty_group"
    one, two, *choices = columns
    turned = [[1 - c if c >= 0 else c for c in column] for column in choices]
    assert verbosity_bias(two, one, *turned) == result


def test_verbosity_refuses_columns_of_different_length():
    with pytest.raises(ValueError, match="must have one length"):
        verbosity_bias([1], [2, 3], [0], [0])


def pulled(
    rng: np.random.Generator, n: int, *, pull: float, sd_persona: float = 0.0
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Lengths, choices that follow length and truth, the truth, and the persona of each item."""
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


def test_naming_the_responses_otherwise_changes_nothing_but_the_names():
    one, two, chosen, truth, _ = pulled(np.random.default_rng(2), 300, pull=0.5)

    straight = length_pull(one, two, chosen, truth).per_doubling
    turned = length_pull(two, one, 1 - chosen, 1 - truth).per_doubling

    assert turned.value == pytest.approx(straight.value)
    assert turned.interval.low == pytest.approx(straight.interval.low)


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4), CHOICE, CHOICE), max_size=25))
def test_small_or_separated_data_give_a_number_or_a_reason(items):
    columns = [np.array([item[i] for item in items], dtype=int) for i in range(4)]

    result = length_pull(*columns).per_doubling

    if result.value is None:
        assert result.reason in {"empty_group", "no_variation", "not_identified"}
    else:
        assert np.isfinite(result.value)
        assert result.interval is not None or result.interval_reason == "too_few_items"


def test_a_judge_that_always_takes_the_longer_one_has_no_finite_pull():
    one, two = np.array([10, 20, 30, 40] * 10), np.array([20, 10, 40, 30] * 10)

    result = length_pull(one, two, (two > one).astype(int), [0, 1] * 20)

    assert result.per_doubling.reason == "not_identified"
