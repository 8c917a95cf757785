import numpy as np
import pytest

from analysis.stats import compare_high_sets


def high_set_data(seed, n=300):
    rng = np.random.default_rng(seed)
    hard = rng.random(n)
    h_certainty = np.clip(100 - 60 * hard + rng.normal(0, 15, n), 1, 100)
    m_certainty = np.clip(100 - 50 * hard + rng.normal(0, 20, n), 1, 100)
    h_right = (rng.random(n) < 0.9 - 0.4 * hard).astype(int)
    m_right = (rng.random(n) < 0.9 - 0.3 * hard).astype(int)
    return h_certainty, h_right, m_certainty, m_right


def test_the_interval_is_that_of_resampling_rows_one_by_one():
    data = high_set_data(2)
    h_certainty, h_right, m_certainty, m_right = data

    sets = compare_high_sets(*data, rng=np.random.default_rng(3), n_draws=4000)

    rng, draws = np.random.default_rng(4), []
    for _ in range(4000):
        rows = rng.integers(0, 300, 300)
        m_high, h_high = m_certainty[rows] >= 80, h_certainty[rows] >= 80
        draws.append(m_right[rows][m_high].mean() - h_right[rows][h_high].mean())
    assert sets.difference.interval.low == pytest.approx(np.quantile(draws, 0.025), abs=0.01)
    assert sets.difference.interval.high == pytest.approx(np.quantile(draws, 0.975), abs=0.01)
    assert sets.difference.interval.method == "item bootstrap"


def test_blocks_are_resampled_whole():
    data = [np.repeat(column, 10) for column in high_set_data(5, 40)]

    by_item = compare_high_sets(*data, rng=np.random.default_rng(1))
    by_block = compare_high_sets(
        *data, blocks=np.repeat(np.arange(40), 10), rng=np.random.default_rng(1)
    )

    width = [s.difference.interval.high - s.difference.interval.low for s in (by_item, by_block)]
    assert width[1] > 2 * width[0]
    assert by_block.difference.interval.method == "block bootstrap"


def test_rows_that_miss_anything_are_left_out_and_counted():
    sets = compare_high_sets(
        [90, np.nan, 90, 90],
        [1, 1, -1, 1],
        [90, 90, 90, 90],
        [1, 1, 1, -1],
        rng=np.random.default_rng(0),
        n_draws=20,
    )

    assert (sets.n, sets.n_missing) == (1, 3)
