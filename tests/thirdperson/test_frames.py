"""Columns of a DataFrame give the same results as arrays, whatever their index."""

import numpy as np
import pandas as pd
import pytest

from thirdperson import stats

N = 60


@pytest.fixture(scope="module")
def frame():
    """Labels of three people and a judge, with an index that is out of order."""
    rng = np.random.default_rng(3)
    truth = rng.integers(0, 2, N)
    columns = {name: np.where(rng.random(N) < 0.8, truth, 1 - truth) for name in ("a", "b", "c")}
    columns["judge"] = np.where(rng.random(N) < 0.8, truth, 1 - truth)
    columns["certainty"] = rng.integers(40, 100, N)
    columns["right"] = (columns["judge"] == truth).astype(int)
    columns["cluster"] = np.arange(N) // 4
    return pd.DataFrame(columns, index=rng.permutation(N))


def rng():
    return np.random.default_rng(1)


USES = {
    "alpha": lambda f, column: stats.krippendorff_alpha(
        stats.Votes.from_matrix(column(f[["a", "b", "c"]])).counts(), rng=rng()
    ),
    "kappa": lambda f, column: stats.cohen_kappa(column(f["a"]), column(f["judge"])),
    "long": lambda f, column: stats.percent_agreement(
        stats.Votes.from_long(column(f["cluster"]), np.arange(N), column(f["a"])).counts(),
        rng=rng(),
    ),
    "replacement": lambda f, column: stats.pooled_replacement_test(
        stats.Votes.from_matrix(column(f[["a", "b", "c"]])), column(f["judge"]), epsilon=0.1
    ),
    "calibration": lambda f, column: stats.calibration_error(
        column(f["certainty"]), column(f["right"])
    ),
    "discrimination": lambda f, column: stats.discrimination(
        column(f["certainty"]), column(f["right"])
    ),
    "risk": lambda f, column: stats.accuracy_at_coverage(
        column(f["certainty"]), column(f["right"]), 0.5
    ),
    "threshold": lambda f, column: stats.certify_threshold(
        column(f["certainty"]),
        column(f["right"]),
        max_error=0.3,
        start=90.0,
        clusters=[column(f["cluster"])],
    ),
    "ppi": lambda f, column: stats.ppi_mean(
        column(f["a"][:30]), column(f["judge"][:30]), column(f["judge"][30:])
    ),
    "pairs": lambda f, column: stats.count_pairs(column(f["right"]), column(f["b"])),
    "paired difference": lambda f, column: stats.mcnemar(
        stats.count_pairs(column(f["right"]), column(f["b"]))
    ),
}


def identity(column):
    return column


@pytest.mark.parametrize("use", USES)
def test_a_column_and_an_array_give_the_same_result(use, frame):
    of_columns = USES[use](frame, identity)
    of_arrays = USES[use](frame, lambda column: column.to_numpy())

    assert repr(of_columns) == repr(of_arrays)
    assert "Series" not in repr(of_columns)
