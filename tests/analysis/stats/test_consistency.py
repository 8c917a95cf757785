import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import cohen_kappa_score

from analysis.stats import Votes, error_consistency, run_noise


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=30, deadline=None)
def test_error_consistency_is_cohens_kappa_of_being_right(seed):
    rng = np.random.default_rng(seed)
    first, second = rng.integers(0, 2, (2, 30))
    if first.min() == first.max() == second.min() == second.max():
        return

    result = error_consistency(first, second, rng=rng, n_draws=20)

    assert result.value == pytest.approx(cohen_kappa_score(first, second))


def test_error_consistency_has_the_interval_of_drawing_items_one_by_one():
    rng = np.random.default_rng(1)
    first = rng.integers(0, 2, 200)
    second = np.where(rng.random(200) < 0.7, first, 1 - first)

    result = error_consistency(first, second, rng=np.random.default_rng(2), n_draws=4000)

    draws = []
    for _ in range(1000):
        rows = rng.integers(0, 200, 200)
        a, b = first[rows], second[rows]
        chance = a.mean() * b.mean() + (1 - a.mean()) * (1 - b.mean())
        draws.append(((a == b).mean() - chance) / (1 - chance))
    assert result.interval.low == pytest.approx(np.quantile(draws, 0.025), abs=0.025)
    assert result.interval.high == pytest.approx(np.quantile(draws, 0.975), abs=0.025)


def test_error_consistency_without_errors_or_items_is_undefined():
    rng = np.random.default_rng(0)

    assert error_consistency([1, 1], [1, 1], rng=rng).reason == "no_variation"
    assert error_consistency([-1], [1], rng=rng).reason == "empty_group"
    with pytest.raises(ValueError, match="n_draws"):
        error_consistency([1, 0], [1, 1], rng=rng, n_draws=1)


def test_a_judge_that_repeats_itself_has_no_noise():
    noise = run_noise(Votes.from_matrix([[0, 0, 0], [1, 1, 1]]), [0, 0])

    assert (noise.same_choice, noise.accuracy_sd, noise.noise_share) == (1.0, 0.0, 0.0)


def test_a_judge_that_tosses_coins_is_all_noise():
    rng = np.random.default_rng(3)
    runs = Votes.from_matrix(rng.integers(0, 2, (4000, 3)))

    noise = run_noise(runs, rng.integers(0, 2, 4000))

    assert noise.same_choice == pytest.approx(0.5, abs=0.02)
    assert noise.noise_share == pytest.approx(1.0, abs=0.03)
    assert noise.accuracy_sd < 0.03


def test_noise_is_the_part_of_the_variance_that_items_do_not_explain():
    rng = np.random.default_rng(5)
    chance = rng.choice([0.9, 0.3], 6000)
    runs = Votes.from_matrix((rng.random((6000, 5)) < chance[:, None]).astype(int))

    noise = run_noise(runs, np.ones(6000, dtype=int))

    expected = np.mean(chance * (1 - chance)) / (0.6 * 0.4)
    assert noise.noise_share == pytest.approx(expected, abs=0.02)


def test_what_runs_cannot_tell_has_a_reason():
    single = run_noise(Votes.from_matrix([[0], [1]]))
    two = run_noise(Votes.from_matrix([[0, 0], [1, 0]]), [0, 0])
    no_truth = run_noise(Votes.from_matrix([[0, 0, 1]]))
    perfect = run_noise(Votes.from_matrix([[0, 0, 0]]), [0])

    assert (single.same_choice, single.reason) == (None, "no_pairs")
    assert (two.same_choice, two.accuracy_sd, two.accuracy_reason) == (
        0.5,
        None,
        "too_few_annotators",
    )
    assert no_truth.accuracy_reason == "empty_group"
    assert (perfect.noise_share, perfect.accuracy_sd) == (None, 0.0)
    assert perfect.accuracy_reason == "no_variation"
    with pytest.raises(ValueError, match="truth"):
        run_noise(Votes.from_matrix([[0, 0, 1]]), [0, 1])
