import numpy as np
import pytest

from analysis.stats import accuracy_at_coverage
from extras.certainty.stats import (
    matched_accuracy,
)


def matched(certainty, correct, high, **options):
    return matched_accuracy(
        certainty,
        correct,
        {"item": np.arange(len(certainty))},
        reference_high=high,
        reference_clusters={"item": np.arange(len(high))},
        **options,
    )


def test_the_interval_is_about_as_wide_as_resampling_items_gives():
    rng = np.random.default_rng(1)
    n = 800
    certainty = rng.integers(1, 101, n).astype(float)
    correct = (rng.random(n) < 0.4 + certainty / 250).astype(int)
    high = rng.random(n) < 0.25

    interval = matched(certainty, correct, high).interval

    draws = []
    for _ in range(2000):
        rows = rng.integers(0, n, n)
        draws.append(accuracy_at_coverage(certainty[rows], correct[rows], high[rows].mean()))
    low, top = np.quantile(draws, [0.025, 0.975])
    assert interval.high - interval.low == pytest.approx(top - low, rel=0.12)
    assert interval.low == pytest.approx(low, abs=0.02)
