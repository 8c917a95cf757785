import math

import numpy as np
import pytest
from scipy.stats import binom, entropy

from analysis.stats import certainty_from_entropy, fewest_items, preference_entropy
from extras.certificates.stats import (
    certify_threshold,
    one_per_cluster,
    starting_threshold,
)
from tests.analysis.stats.reference import vector
from tests.analysis.stats.test_paper_figures import RELEASED, WITH_PERSONA, read, right


def test_the_fewest_items_are_the_reference_ones():
    found = {
        f"alpha={alpha},delta={delta}": fewest_items(alpha, delta)
        for alpha, delta in ((0.2, 0.1), (0.1, 0.1), (0.1, 0.05), (0.05, 0.05))
    }

    assert found == vector("ltt_min_n_zero_errors")


@pytest.mark.parametrize(("alpha", "delta"), [(0.2, 0.1), (0.1, 0.05), (0.03, 0.01)])
def test_fewest_items_without_error_are_certified_and_one_fewer_are_not(alpha, delta):
    n = fewest_items(alpha, delta)

    enough = certify_threshold([99] * n, [1] * n, max_error=alpha, delta=delta, start=99)
    fewer = certify_threshold([99] * (n - 1), [1] * (n - 1), max_error=alpha, delta=delta, start=99)

    assert enough.threshold == 50
    assert (fewer.threshold, fewer.coverage, fewer.reason) == (None, None, "not_certified")
    assert fewer.tested[0].p == pytest.approx((1 - alpha) ** (n - 1))


def test_every_p_is_the_binomial_tail_and_the_first_failure_ends_the_sequence():
    rng = np.random.default_rng(3)
    certainty = rng.integers(50, 100, 400)
    correct = (rng.random(400) < certainty / 100).astype(int)

    found = certify_threshold(certainty, correct, max_error=0.2, start=90)

    for step in found.tested:
        accepted = correct[certainty >= step.threshold]
        assert (step.n, step.errors) == (accepted.size, (accepted == 0).sum())
        assert step.p == pytest.approx(binom.cdf(step.errors, step.n, 0.2))
    assert [step.threshold for step in found.tested] == list(
        range(90, int(found.tested[-1].threshold) - 1, -1)
    )
    assert all(step.p <= 0.1 for step in found.tested[:-1])
    assert found.tested[-1].p > 0.1
    assert found.threshold == found.tested[-2].threshold


def test_a_later_threshold_that_would_pass_does_not_count():
    certainty = [95] * 40 + [70] * 400
    correct = [0] * 20 + [1] * 420

    found = certify_threshold(certainty, correct, max_error=0.2, start=95)

    assert found.reason == "not_certified"
    assert len(found.tested) == 1


def test_several_judges_share_delta():
    answers = {"certainty": [90] * 15, "correct": [1] * 15, "max_error": 0.2, "start": 90}

    assert certify_threshold(**answers).threshold == 50
    assert certify_threshold(**answers, n_judges=2).threshold == 50
    assert certify_threshold(**answers, n_judges=3).reason == "not_certified"


def test_items_that_share_a_cluster_certify_nothing():
    answers = {"certainty": [90.0] * 40, "correct": [1] * 40, "max_error": 0.2, "start": 90}
    apart, one_pair = np.arange(40), np.array([0, *range(39)])

    assert certify_threshold(**answers, clusters=[apart]).threshold == 50
    assert certify_threshold(**answers, clusters=[apart, one_pair]).reason == "dependent_items"


def test_no_answers_and_too_few_certain_ones_say_so():
    assert certify_threshold([], [], max_error=0.2, start=90).reason == "empty_group"
    assert certify_threshold([90], [1], max_error=0.2, start=None).reason == "too_few_items"


def test_the_start_is_the_strictest_threshold_with_thirty_expected_answers():
    certainty = [95.0] * 29 + [80] + [60] * 70

    assert starting_threshold(certainty, 100) == 80
    assert starting_threshold([*certainty, np.nan], 200) == 95
    assert starting_threshold(certainty, 29) is None
    assert starting_threshold([], 100) is None
    assert starting_threshold([40.0] * 100, 100) is None


@pytest.mark.nightly
@pytest.mark.parametrize("by", ["item", "cluster"])
def test_drawn_items_share_nothing_and_each_item_or_persona_has_the_same_chance(by):
    """Personas of 1 to 11 items, of which a third ask one of three popular questions."""
    rng, draws = np.random.default_rng(8), 400
    size = rng.integers(1, 12, 40)
    persona = np.repeat(np.arange(40), size)
    is_popular = rng.random(persona.size) < 0.3
    question = np.where(is_popular, persona % 3, 3 + rng.integers(0, 60, persona.size))
    keys = [f"item {number}" for number in range(persona.size)]
    drawn = np.zeros(persona.size)
    for seed in range(draws):
        chosen = one_per_cluster(keys, [persona, question], by=by, seed=seed)
        assert np.unique(persona[chosen]).size == np.unique(question[chosen]).size == chosen.sum()
        drawn += chosen

    chance = drawn / draws * (size[persona] if by == "cluster" else 1)
    for group in (size[persona] > 6, is_popular):
        error = np.sqrt(drawn.sum()) / draws / drawn.size * 4
        assert chance[group].mean() == pytest.approx(
            chance[~group].mean(), abs=6 * error * chance.mean() / (drawn.mean() / draws)
        )


@pytest.mark.parametrize(
    "wrong",
    [{"max_error": 0}, {"max_error": 1}, {"delta": 0}, {"n_judges": 0}, {"grid": (50, 60)}],
)
def test_numbers_out_of_range_are_refused(wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        certify_threshold([90], [1], **{"max_error": 0.2, "start": 90} | wrong)


def test_preference_entropy_is_that_of_the_reference_and_of_scipy():
    cases = vector("bpe")["cases"]
    means = [(case["p1"] + 1 - case["p2"]) / 2 for case in cases]

    found = preference_entropy(means)

    assert found == pytest.approx([case["entropy_nats"] for case in cases])
    assert found == pytest.approx([entropy([p, 1 - p]) for p in means])
    assert math.isnan(preference_entropy([math.nan])[0])
    assert certainty_from_entropy([0.5, 0.0, 1.0]).tolist() == [0, 100, 100]
    with pytest.raises(ValueError, match="between 0 and 1"):
        preference_entropy([1.2])


@pytest.mark.nightly
@pytest.mark.parametrize("persona_sd", [0.0, 1.0])
def test_certificates_of_clustered_items_are_wrong_at_most_as_often_as_they_say(persona_sd):
    """300 items of 100 personas; at 75 and above too many answers are wrong."""
    rng, draws, wrong = np.random.default_rng(11), 300, 0
    keys = [f"item-{n}" for n in range(300)]
    persona = np.repeat(np.arange(100), 3)
    # What is accepted is wrong a little too often, on average over personas.
    z = rng.normal(size=10_000) * persona_sd
    base = np.array([1 / (1 + np.exp(-(level + z))).mean() for level in np.linspace(-4, 0, 80)])
    level = np.linspace(-4, 0, 80)[np.argmin(np.abs(base - 0.22))]
    for draw in range(draws):
        certainty = rng.choice([60, 80], 300)
        of_persona = rng.normal(size=100)[persona] * persona_sd
        correct = (rng.random(300) >= 1 / (1 + np.exp(-(level + of_persona)))).astype(int)
        rows = one_per_cluster(keys, [persona], by="cluster", seed=draw)
        found = certify_threshold(
            certainty[rows],
            correct[rows],
            max_error=0.2,
            start=starting_threshold(certainty, int(rows.sum())),
        )
        wrong += found.threshold is not None

    assert wrong / draws <= 0.1 + 3 * np.sqrt(0.1 * 0.9 / draws)


def test_clusters_that_do_not_fit_are_refused():
    with pytest.raises(ValueError, match="clustering"):
        certify_threshold([90], [1], max_error=0.2, start=90, clusters=[[1, 2]])
    with pytest.raises(ValueError, match="clustering"):
        one_per_cluster(["a"], [[1, 2]])
    with pytest.raises(ValueError, match="one or two"):
        one_per_cluster(["a"], [])


if RELEASED:

    @pytest.mark.parametrize("alpha", [0.1, 0.15, 0.2, 0.25, 0.3])
    def test_certified_thresholds(alpha):
        rows = read(WITH_PERSONA)
        certainty = np.array([float(row["certainty"]) for row in rows])
        expected = vector("ltt_prism_command_r_plus")[f"alpha={alpha},delta=.1"]
        start = starting_threshold(certainty, len(rows))

        found = certify_threshold(certainty, right(rows), max_error=alpha, start=start)

        assert found.threshold == expected["tau"]
        assert found.coverage == pytest.approx(expected["coverage"])
        assert found.accepted.value == pytest.approx(expected["emp_acc"])
