import numpy as np
import pytest
import statsmodels.api as sm
from scipy import stats

from extras.certainty.stats import (
    certainty_by_source,
)


def simulated(rng, n_items=200, effect=0.0):
    """Two people and one model per item, which share how easy it is."""
    item = np.tile(np.arange(n_items), 3)
    is_model = np.repeat([False, False, True], n_items)
    certainty = rng.choice([50, 90], item.size)
    ease = rng.normal(0, 1, n_items)[item]
    logit = 0.2 + 0.8 * (certainty == 90) + effect * (certainty == 90) * is_model + ease
    correct = (rng.random(item.size) < 1 / (1 + np.exp(-logit))).astype(int)
    return correct, certainty, is_model, item


def test_estimate_and_standard_error_are_those_of_a_clustered_logistic_regression():
    correct, certainty, is_model, item = simulated(np.random.default_rng(1), effect=0.5)

    result = certainty_by_source(correct, certainty, is_model, {"item": item})

    high = (certainty >= 80).astype(float)
    design = np.column_stack([np.ones(item.size), is_model, high, is_model * high])
    fit = sm.GLM(correct, design, family=sm.families.Binomial()).fit(
        cov_type="cluster", cov_kwds={"groups": item, "use_correction": False}
    )
    assert result.interaction.value == pytest.approx(fit.params[3], abs=1e-6)
    assert result.people.value == pytest.approx(fit.params[2], abs=1e-6)
    assert result.model.value == pytest.approx(fit.params[2] + fit.params[3], abs=1e-6)
    width = result.interaction.interval.high - result.interaction.interval.low
    se = width / 2 / stats.t.ppf(0.975, 199)
    assert se == pytest.approx(fit.bse[3] * (200 / 199) ** 0.5, rel=1e-5)


def test_the_cells_are_counted_and_missing_rows_left_out():
    result = certainty_by_source(
        [1, 0, 1, 1, -1, 1],
        [50, 50, 80, 90, 90, np.nan],
        [0, 0, 0, 1, 1, 1],
        {"item": range(6)},
    )

    counts = {name: (cell.correct, cell.n) for name, cell in result.cells.items()}
    assert counts == {
        "people_low": (1, 2),
        "people_high": (1, 1),
        "model_low": (0, 0),
        "model_high": (1, 1),
    }
    assert (result.n, result.n_missing) == (4, 2)
    assert result.interaction.reason == "empty_group"
    assert result.people.reason == "no_variation"
    assert result.p is None


def test_one_cluster_gives_no_interval_and_bad_input_is_refused():
    correct, certainty, is_model, item = simulated(np.random.default_rng(3))

    alone = certainty_by_source(correct, certainty, is_model, {"item": np.zeros_like(item)})

    assert alone.interaction.interval_reason == "too_few_items"
    with pytest.raises(ValueError, match="must have one length"):
        certainty_by_source([1], [50, 60], [True], {"item": [0]})
