"""Statistics in whole simulated studies, beyond what they promise."""

import numpy as np
import pytest

from analysis.stats import pooled_replacement_tests
from benchmarks.simulations.families.replacement import PlantedLabels, labelled, labelling_truth


@pytest.mark.nightly
@pytest.mark.slow
@pytest.mark.parametrize(
    "design",
    [
        PlantedLabels(k=3, n_items=600, n_people=12, load=0, side=0.25, personas=0),
        PlantedLabels(k=5, n_items=600, n_people=20, load=0, side=0.25, personas=0),
    ],
    ids=["12 people", "20 people, five answers an item"],
)
def test_few_people_who_happen_to_be_alike_are_no_proof(design):
    """At the limit at most 6.5 % of studies may say yes."""
    rng, said = np.random.default_rng(2), []
    for _ in range(16):
        batch = labelled(design, 50, rng)
        found = pooled_replacement_tests(batch.counts, batch.judge, batch.sharing, epsilon=0.1)
        said += [each.replaceable is True for each in found]

    # One Monte Carlo error of 800 studies is .009.
    assert np.mean(said) <= 0.065 + 0.009


@pytest.mark.nightly
def test_balanced_agreement_of_few_people_has_no_bias_from_being_a_mean_of_ratios():
    """Without a correction its mean is .008 too favourable to the judge."""
    design = PlantedLabels(k=3, n_people=12, load=0, side=1, personas=0, sd=0)
    rng, middles = np.random.default_rng(3), []
    for _ in range(20):
        batch = labelled(design, 50, rng)
        for found in pooled_replacement_tests(
            batch.counts, batch.judge, batch.sharing, epsilon=0.1
        ):
            interval = found.balanced.advantage.interval
            middles.append((interval.low + interval.high) / 2)

    assert np.mean(middles) == pytest.approx(labelling_truth(design).balanced, abs=0.004)
