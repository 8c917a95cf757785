"""Statistics in whole simulated studies, beyond what they promise."""

import numpy as np
import pytest

from analysis.stats import pooled_replacement_tests
from analysis.stats.agreement.shared_errors import LIMIT, LIMIT_WHEN_HURRIED
from extras.planted_truth.answers import careful_errors
from extras.planted_truth.families.agreement import probabilities
from extras.planted_truth.families.replacement import PlantedLabels, labelled, labelling_truth
from tests.sampling import examples


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


@pytest.mark.sampled(keep=2, group="simulations")
@pytest.mark.slow
def test_most_of_those_who_copy_a_judge_are_found():
    rng = np.random.default_rng(12)
    found = []
    for _ in range(examples(40, every=100)):
        wrong, judges = careful_errors(rng, item_sd=1.0, person_sd=0.6)
        own = wrong[:, 0] >= 0
        wrong[own, 0] = judges[1][own]
        found.append(probabilities(wrong, judges)[0])

    assert np.mean(np.array(found) < LIMIT) > 0.7
    assert np.mean(np.array(found) < LIMIT_WHEN_HURRIED) > 0.9
