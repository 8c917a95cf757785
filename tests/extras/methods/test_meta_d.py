"""meta-d′ and the M-ratio against planted observers and another implementation."""

import numpy as np
import pytest
from scipy import optimize, special, stats

from analysis.stats.core.shared_variance import Sharing
from benchmarks.simulations.of_extras.methods import (
    both_sides,
    clusters_of,
    crowd,
    insight_of,
    observer,
)
from extras.methods.stats.meta_d import (
    Insight,
    certainty_levels,
    fit_meta_d,
    insight,
    insight_difference,
)


def by_scipy(counts):
    """The same model with evidence and criteria on one axis, by a general optimiser."""
    levels = counts.shape[2]
    hits, alarms = (counts[s, 1].sum() / counts[s].sum() for s in (1, 0))
    d = stats.norm.ppf(hits) - stats.norm.ppf(alarms)
    share = -(stats.norm.ppf(hits) + stats.norm.ppf(alarms)) / 2 / d

    def loss(x):
        meta, steps = x[0], np.abs(x[1:]).reshape(2, -1)
        centre, total = x[0] * share, 0.0
        for truth in (0, 1):
            mean = (truth - 0.5) * meta
            up = np.array([centre, *(centre + np.cumsum(steps[1])), np.inf])
            down = np.array([centre, *(centre - np.cumsum(steps[0])), -np.inf])
            chosen_1 = np.diff(special.ndtr(up - mean)) / special.ndtr(mean - centre)
            chosen_0 = -np.diff(special.ndtr(down - mean)) / special.ndtr(centre - mean)
            for choice, shares in ((0, chosen_0), (1, chosen_1)):
                total -= counts[truth, choice] @ np.log(np.maximum(shares, 1e-300))
        return total

    start = np.array([d, *[0.4] * (2 * levels - 2)])
    found = optimize.minimize(loss, start, method="BFGS", jac="3-point", options={"gtol": 1e-6})
    return found.x[0]


@pytest.mark.parametrize("levels", [2, 3, 4])
def test_the_fit_agrees_with_a_general_optimiser(levels):
    rng = np.random.default_rng(levels)
    truth, choice, certainty = observer(rng, 500, 1.1, leaning=0.2, noise=0.6)
    cell = (truth * 2 + choice) * levels + certainty_levels(certainty, n_levels=levels)
    counts = np.bincount(cell, minlength=4 * levels).reshape(2, 2, levels) + 1 / (2 * levels)

    meta, _ = fit_meta_d(counts[None])

    assert meta[0] == pytest.approx(by_scipy(counts), abs=1e-4)


@pytest.mark.parametrize("d", [0.5, 1.5])
def test_an_ideal_observer_has_an_m_ratio_of_one(d):
    rng = np.random.default_rng(4)

    found = insight_of(observer(rng, 60_000, d, leaning=0.3))

    assert found.d_prime == pytest.approx(d, abs=0.05)
    assert found.criterion == pytest.approx(0.3, abs=0.03)
    assert found.m_ratio == pytest.approx(1, abs=0.1 if d < 1 else 0.04)


def expected_counts(d, noise, n):
    """Expected answers by truth, choice and level: by integration over the evidence."""
    x = np.linspace(0, 9, 4001)

    def beyond(low, truth, sign):
        """Probability of a choice in the direction of `sign` with certainty above `low`."""
        density = stats.norm.pdf(x, sign * (truth - 0.5) * d)
        return np.trapezoid(density * special.ndtr((x - low) / noise), x)

    def above(low):
        return sum(beyond(low, truth, sign) for truth in (0, 1) for sign in (1, -1)) / 2

    edges = [optimize.brentq(lambda at, q=q: above(at) - q, -6, 8) for q in (0.75, 0.5, 0.25)]
    counts = np.empty((2, 2, 4))
    for truth in (0, 1):
        for choice, sign in ((0, -1), (1, 1)):
            whole = special.ndtr(sign * (truth - 0.5) * d)
            reach = [whole, *(beyond(edge, truth, sign) for edge in edges), 0.0]
            counts[truth, choice] = -np.diff(reach) * n / 2
    return counts


def test_noise_in_certainty_lowers_the_m_ratio_to_its_known_value():
    d, rng = 1.0, np.random.default_rng(5)
    known = [fit_meta_d(expected_counts(d, s, 1e6)[None])[0][0] / d for s in (0.01, 0.7, 1.5)]

    found = [insight_of(observer(rng, 60_000, d, noise=s)).m_ratio for s in (0.7, 1.5)]

    assert known[0] == pytest.approx(1, abs=1e-3)
    assert known[0] > known[1] > known[2] > 0.2
    assert found == pytest.approx(known[1:], abs=0.06)


def test_people_who_use_the_scale_differently_are_pooled_by_their_own_levels():
    made = crowd(np.random.default_rng(6), n_items=9000, n_people=900)
    item, _, _, truth, choice, certainty, *_ = made

    people, judge, gap = both_sides(made)
    raw = insight(truth[item], choice, certainty, Sharing.of_items(item.size, {"item": item}))

    assert people.m_ratio == pytest.approx(0.97, abs=0.05)
    assert judge.m_ratio == pytest.approx(1, abs=0.13)
    assert raw.m_ratio < 0.8
    assert gap.interval.low < 0 < gap.interval.high


def test_the_influences_of_answers_predict_what_leaving_them_out_does():
    data = np.array(observer(np.random.default_rng(8), 400, 1.0, noise=0.4))
    data[2] = certainty_levels(data[2])  # so that the others keep their levels
    found = insight_of(data)

    for row in (0, 17, 230):
        left = np.delete(data, row, axis=1)
        without = insight_of(left)
        change = found.m_ratio - without.m_ratio
        assert change == pytest.approx(found.influence[row], rel=0.1, abs=3e-4)
    assert abs(found.influence.sum()) < 0.02


def test_a_side_does_not_differ_from_itself():
    rows = np.arange(400)
    side = insight_of(observer(np.random.default_rng(12), 400, 1.0, noise=0.4))

    gap = insight_difference(side, rows, side, rows, clusters_of(400))

    assert (gap.value, gap.interval, gap.interval_reason) == (0, None, "no_variation")


def test_levels_keep_equal_certainties_together_and_missing_ones_apart():
    assert certainty_levels([80] * 9 + [60]).tolist() == [2] * 9 + [0]
    assert certainty_levels([50, np.nan, 70]).tolist() == [1, -1, 3]
    assert certainty_levels([]).size == 0
    own = certainty_levels([1, 2, 3, 4, 91, 92, 93, 94], by=[0] * 4 + [1] * 4)
    assert own.tolist() == [0, 1, 2, 3] * 2


def test_what_is_undefined_says_why():
    rng = np.random.default_rng(9)
    truth, choice, certainty = observer(rng, 200, 1.0)

    assert insight_of(([], [], [])).reason == "empty_group"
    assert insight_of((truth, truth, certainty)).reason == "no_variation"
    assert insight_of((truth, 1 - truth, certainty)).reason == "no_variation"
    assert insight_of((truth, choice, np.full(200, 80.0))).reason == "no_variation"
    assert insight_of((truth[:20], choice[:20], certainty[:20])).reason == "too_few_items"
    guess = insight_of((np.tile([0, 0, 1, 1], 50), np.tile([0, 1, 0, 1], 50), certainty))
    assert (guess.reason, guess.m_ratio, guess.n_levels) == ("not_identified", None, 4)
    assert guess.d_prime == pytest.approx(0)
    alone = insight(truth, choice, certainty, Sharing.of_items(200, {"persona": [0, 1] * 100}))
    assert alone.m_ratio is not None
    assert (alone.interval, alone.interval_reason) == (None, "too_few_clusters")
    none = insight_difference(guess, np.arange(200), alone, np.arange(200), clusters_of(200))
    assert (none.value, none.reason) == (None, "not_identified")


def test_ties_and_answers_without_truth_or_certainty_are_left_out():
    truth, choice, certainty = observer(np.random.default_rng(10), 300, 1.0)
    plain = insight_of((truth, choice, certainty))
    more = [(-1, 0, 50), (2, 1, 50), (0, 2, 50), (1, -1, 50), (1, 1, np.nan)]
    added = [
        np.append(column, [row[k] for row in more])
        for k, column in enumerate((truth, choice, certainty))
    ]

    found = insight_of(added)

    assert (found.n, found.m_ratio) == (300, plain.m_ratio)
    assert (found.influence[-5:] == 0).all()


def test_the_names_of_the_responses_do_not_matter():
    truth, choice, certainty = observer(np.random.default_rng(11), 300, 1.0, leaning=0.4)

    one, other = (
        insight_of((truth, choice, certainty)),
        insight_of((1 - truth, 1 - choice, certainty)),
    )

    assert isinstance(one, Insight)
    assert other.m_ratio == pytest.approx(one.m_ratio, abs=1e-6)
    assert other.criterion == pytest.approx(-one.criterion)
    assert other.interval.low == pytest.approx(one.interval.low, abs=1e-4)


def test_input_that_does_not_fit_is_refused():
    with pytest.raises(ValueError, match="must have shape"):
        insight([0, 1], [0, 1], [50], clusters_of(2))
    with pytest.raises(ValueError, match="at least 2"):
        certainty_levels([50], n_levels=1)
    with pytest.raises(ValueError, match="`by` has 1 rows"):
        certainty_levels([50, 60], by=[0])
