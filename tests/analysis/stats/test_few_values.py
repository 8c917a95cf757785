"""Order, ranks and distinct values are those of numpy and SciPy, to the bit."""

import numpy as np
import pytest
from scipy import stats

from analysis.stats.core.results import distinct_values, in_order, mid_ranks

rng = np.random.default_rng(5)
SIDES = {
    "whole": rng.integers(1, 101, 300).astype(float),
    "negative": -rng.integers(1, 101, 300).astype(float),
    "halves": rng.integers(1, 101, 300) + 0.5,
    "thirds": rng.integers(3, 301, 300) / 3,
    "far apart": rng.integers(0, 2**40, 300).astype(float),
    "missing": np.array([1.0, np.nan, 2.0]),
    "infinite": np.array([1.0, np.inf, -np.inf, 1.0]),
    "one": np.array([7.0]),
    "none": np.empty(0),
}


@pytest.mark.parametrize("values", SIDES.values(), ids=SIDES)
def test_values_are_ordered_and_ranked_as_by_sorting(values):
    distinct, group = distinct_values(values)

    assert in_order(values).tolist() == np.argsort(values, kind="stable").tolist()
    np.testing.assert_array_equal(mid_ranks(values), stats.rankdata(values))
    expected, inverse = np.unique(values, return_inverse=True)
    np.testing.assert_array_equal(distinct, expected)
    assert group.tolist() == inverse.tolist()
