"""Do the intervals hold what they promise? Simulated in the designs that studies use."""

import numpy as np
import pytest

from analysis.stats import (
    Votes,
    annotator_blocks,
    block_interval,
    krippendorff_alpha,
    pigeonhole_bootstrap,
    shared_annotator_interval,
    two_way_proportion,
    wilson_proportion,
)

from .reference import block_design, spread_design, vector

pytestmark = pytest.mark.slow

INTERCEPT = 0.5


def probabilities(rng, item, annotator, *, sd_item, sd_annotator):
    """Chance of a right answer, from logits of items and annotators."""
    items = rng.normal(0, sd_item, item.max() + 1)
    annotators = rng.normal(0, sd_annotator, annotator.max() + 1)
    return 1 / (1 + np.exp(-(INTERCEPT + items[item] + annotators[annotator])))


def true_accuracy(*, sd_item, sd_annotator, n=400_000):
    """Accuracy of one annotator and of a majority of three, over all items and people."""
    rng = np.random.default_rng(0)
    item, annotator = np.repeat(np.arange(n), 3), np.arange(3 * n)
    p = probabilities(rng, item, annotator, sd_item=sd_item, sd_annotator=sd_annotator)
    a, b, c = p.reshape(n, 3).T
    return p.mean(), (a * b + a * c + b * c - 2 * a * b * c).mean()


def simulate(design, repetitions, *, seed, sd_item=1.0, sd_annotator=0.6):
    rng = np.random.default_rng(seed)
    item, annotator = design
    for _ in range(repetitions):
        p = probabilities(rng, item, annotator, sd_item=sd_item, sd_annotator=sd_annotator)
        right = rng.random(item.size) < p
        yield right, right.reshape(-1, 3).sum(axis=1) >= 2


def share_covered(intervals, truth):
    return np.mean([interval.low <= truth <= interval.high for interval in intervals])


def test_the_interval_of_individual_accuracy_covers_in_the_papers_design_and_wilsons_does_not():
    item, annotator = block_design()
    truth, _ = true_accuracy(sd_item=1, sd_annotator=0.6)
    answers = [right for right, _ in simulate((item, annotator), 1500, seed=1)]

    robust = [two_way_proportion(right, item, annotator).interval for right in answers]
    naive = [wilson_proportion(right).interval for right in answers]

    assert 0.935 <= share_covered(robust, truth) <= 0.985
    reference = vector("accuracy_ci_coverage")["sd_item=1,sd_ann=0.6 (logit)"]["wilson"][0]
    assert share_covered(naive, truth) == pytest.approx(reference, abs=0.04)


def test_the_interval_of_individual_accuracy_holds_in_a_small_band_of_high_accuracy():
    item, annotator = block_design()
    rng = np.random.default_rng(2)
    intervals = []
    for _ in range(1500):
        band = rng.choice(900, 30, replace=False)
        right = rng.random(30) < 0.885
        intervals.append(two_way_proportion(right, item[band], annotator[band]).interval)

    assert share_covered(intervals, 0.885) >= 0.95


def test_the_block_interval_of_the_majority_covers_in_the_papers_design():
    design = block_design()
    _, truth = true_accuracy(sd_item=1, sd_annotator=0.6)
    blocks = annotator_blocks(Votes.from_long(*design, np.zeros(900, dtype=int)))
    majorities = [majority for _, majority in simulate(design, 2000, seed=3)]

    by_block = [block_interval(majority, blocks) for majority in majorities]
    naive = [wilson_proportion(majority).interval for majority in majorities]

    assert 0.93 <= share_covered(by_block, truth) <= 0.97
    assert 0.80 <= share_covered(naive, truth) <= 0.88


@pytest.mark.sampled(keep=8, group="simulations")
@pytest.mark.parametrize("sd_annotator", [0.6, 1.2])
def test_the_interval_by_shared_annotators_covers_where_there_are_no_blocks(sd_annotator):
    design = spread_design()
    votes = Votes.from_long(*design, np.zeros(900, dtype=int))
    _, truth = true_accuracy(sd_item=1, sd_annotator=sd_annotator)
    majorities = [
        majority for _, majority in simulate(design, 400, seed=4, sd_annotator=sd_annotator)
    ]

    shared = [shared_annotator_interval(m, votes, np.arange(300)) for m in majorities]
    naive = [wilson_proportion(majority).interval for majority in majorities]

    assert 0.92 <= share_covered(shared, truth) <= 0.985
    assert share_covered(naive, truth) <= 0.89


@pytest.mark.sampled(keep=8, group="simulations")
def test_the_pigeonhole_bootstrap_is_conservative():
    item, annotator = block_design()
    truth, _ = true_accuracy(sd_item=1, sd_annotator=0.6)
    rng = np.random.default_rng(5)

    def interval_of(right):
        def accuracy(weights):
            return weights @ right / weights.sum(axis=1)

        return pigeonhole_bootstrap(accuracy, item, annotator, n_draws=300, rng=rng).interval

    intervals = [interval_of(right) for right, _ in simulate((item, annotator), 120, seed=6)]

    assert share_covered(intervals, truth) >= 0.95


@pytest.mark.sampled(keep=8, group="simulations")
@pytest.mark.parametrize(("n_items", "k"), [(300, 3), (300, 5), (100, 3)])
def test_the_item_bootstrap_of_alpha_covers_and_is_as_wide_as_alpha_varies(n_items, k):
    rng = np.random.default_rng(7)
    alpha = 0.2
    shape = (1 - alpha) / alpha / 2
    estimates = []
    for _ in range(400):
        p = rng.beta(shape, shape, n_items)
        ones = rng.binomial(k, p)
        counts = np.stack([k - ones, ones], axis=1)
        estimates.append(krippendorff_alpha(counts, n_draws=400, rng=rng))

    intervals = [estimate.interval for estimate in estimates]
    values = np.array([estimate.value for estimate in estimates])
    mean, sd = vector("alpha_precision")[f"N={n_items},k={k},true_alpha=0.200"]
    assert 0.92 <= share_covered(intervals, alpha) <= 0.975
    assert values.mean() == pytest.approx(mean, abs=4 * sd / 400**0.5)
    assert values.std(ddof=1) == pytest.approx(sd, rel=0.25)
