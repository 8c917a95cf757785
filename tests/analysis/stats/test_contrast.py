"""The difference of two groups of answers, and what is tested where it has no interval."""

import numpy as np
import pytest
from scipy.stats import fisher_exact

from analysis.stats.comparison.contrast import group_contrast
from analysis.stats.core.shared_variance import Sharing


@pytest.mark.parametrize(
    "counts", [(16, 16, 45, 65), (20, 20, 41, 63), (3, 5, 60, 80), (0, 9, 1, 4)]
)
def test_without_an_interval_the_p_is_that_of_fishers_exact_test(counts):
    right, n, others, m = counts
    values = np.array([1] * right + [0] * (n - right) + [1] * others + [0] * (m - others))

    found = group_contrast(values, np.arange(n + m) < n, Sharing.of_items(n + m, {}))

    assert found.interval is None
    assert found.value == pytest.approx(right / n - others / m)
    table = [[right, n - right], [others, m - others]]
    assert found.p == pytest.approx(fisher_exact(table).pvalue)


def test_with_an_interval_the_p_allows_for_what_answers_share():
    values = np.tile([1, 1, 0, 1], 30)
    personas = {"persona": np.arange(120) // 4}

    found = group_contrast(values, np.arange(120) % 3 == 0, Sharing.of_items(120, personas))

    assert found.interval is not None
    assert found.p > 0.05
