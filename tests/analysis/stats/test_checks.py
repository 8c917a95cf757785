"""Codes that several statistics use."""

import numpy as np
import pytest
from scipy import stats

from analysis.stats.core.results import mid_ranks, relabel


@pytest.mark.parametrize("top", [5, 2**16, 2**16 + 1, 2**40, 2**62])
@pytest.mark.parametrize("n", [1, 2, 1_000])
def test_codes_of_any_width_get_the_numbers_that_sorting_gives(top, n):
    codes = np.random.default_rng(n).integers(0, top, n)
    codes[0] = top - 1

    found, size = relabel(codes)

    values, expected = np.unique(codes, return_inverse=True)
    assert found.tolist() == expected.tolist()
    assert size == values.size


@pytest.mark.parametrize("codes", [[], [-3, 5, -3], [0.5, 0.1], ["b", "a", "b"]])
def test_any_other_codes_are_sorted_too(codes):
    found, size = relabel(codes)

    values, expected = np.unique(codes, return_inverse=True)
    assert (found.tolist(), size) == (expected.tolist(), values.size)


@pytest.mark.parametrize("values", [[3, 1, 3, 2], [1.5, 1 / 3, np.inf, -np.inf], [1, np.nan], []])
def test_ranks_are_those_of_scipy(values):
    np.testing.assert_array_equal(mid_ranks(np.array(values, float)), stats.rankdata(values))
