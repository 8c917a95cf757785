"""Means over all judged items from answers on some: closed forms, and planted truths."""

import math

import numpy as np
import pytest
from scipy import stats

from analysis.stats.core.results import Estimate, Interval
from analysis.stats.core.shared_variance import Sharing
from extras.estimation.stats import draw_items, draw_probabilities, error_spread
from extras.estimation.stats.calibrated import calibrated_mean, weighted_mean
from extras.estimation.stats.prediction_powered import powered_mean, ppi_mean, tuned_weight
from extras.estimation.stats.scores import answers_saved
from tests.analysis.stats.reference import vector


def independent(n):
    return Sharing.of_items(n, {"item": np.arange(n)})


def in_pairs(n):
    return Sharing.of_items(n, {"persona": np.arange(n) // 2})


def ends(found):
    return found.interval.low, found.interval.high


def bits(n, ones):
    return np.r_[np.ones(ones), np.zeros(n - ones)]


def counted(vector):
    """Arrays with the sums of a published example."""
    sums = vector["sufficient"]
    people = bits(sums["n"], int(sums["sumY"]))
    judge = bits(sums["n"], int(sums["sum_Yf"]))
    extra = int(sums["sum_f_lab"] - sums["sum_Yf"])
    judge[people == 0] = bits(sums["n"] - int(sums["sumY"]), extra)
    return people, judge, bits(sums["N"], int(sums["sum_f_unl"]))


def test_the_tuned_mean_is_that_of_another_program():
    expected = vector("ppi_mean")["expected"]

    found = ppi_mean(*counted(vector("ppi_mean")))

    assert found.value == pytest.approx(expected["power_tuned_est"], abs=1e-9)
    assert ends(found) == pytest.approx(expected["power_tuned_ci"], abs=3e-6)


def test_the_weights_one_and_nothing_are_those_of_another_program():
    expected, closed = vector("ppi_mean")["expected"], vector("ppi_closed_form")
    arrays = counted(vector("ppi_mean"))

    whole, alone = (ppi_mean(*arrays, weight=weight) for weight in (1.0, 0.0))

    assert whole.value == pytest.approx(closed["lam1_est"], abs=1e-12)
    assert ends(whole) == pytest.approx(closed["lam1_ci"], abs=1e-8)
    assert ends(whole) == pytest.approx(expected["lam1_ci"], abs=1e-8)
    assert alone.value == arrays[0].mean()
    assert ends(alone) == pytest.approx(expected["classical_ci"], abs=1e-8)


def test_the_weight_stays_between_nothing_and_one():
    rng = np.random.default_rng(3)
    people, more = rng.random(50), rng.random(500)

    assert tuned_weight(people, 1 - people, more) == 0
    assert tuned_weight(people, people / 10, more / 10) == 1
    assert tuned_weight(people, np.full(50, 0.3), np.full(500, 0.3)) == 0


def test_independent_items_in_one_stratum_have_the_closed_form():
    rng = np.random.default_rng(11)
    truth = (rng.random(1200) < 0.6).astype(float)
    judge = np.where(rng.random(1200) < 0.2, 1 - truth, truth)
    people = np.where(np.arange(1200) < 200, truth, np.nan)

    found = powered_mean(people, judge, independent(1200), rng=rng)
    closed = ppi_mean(truth[:200], judge[:200], judge[200:])

    assert found.powered.value == pytest.approx(closed.value, abs=1e-12)
    ratio = np.subtract(*ends(found.powered)) / np.subtract(*ends(closed))
    assert ratio == pytest.approx(stats.t.ppf(0.975, 199) / stats.norm.ppf(0.975), abs=0.005)


def test_strata_weigh_as_much_as_their_share_of_all_items():
    # In the first topic everyone says yes, in the second nobody; the sample is half and half.
    topic = np.r_[np.zeros(300, int), np.ones(100, int)]
    people = np.full(400, np.nan)
    people[:50], people[300:350] = 1, 0
    people[0], people[300] = 0, 1

    found = powered_mean(
        people, np.full(400, 0.5), independent(400), strata=topic, rng=np.random.default_rng(1)
    )

    assert found.n_strata == 2
    assert found.powered.value == pytest.approx(0.75 * 0.98 + 0.25 * 0.02)
    joined = powered_mean(
        people,
        np.full(400, 0.5),
        independent(400),
        strata=np.r_[topic[:395], [2] * 5],
        rng=np.random.default_rng(1),
    )
    assert joined.n_strata == 2


def test_few_items_are_refused_with_a_reason():
    people = np.r_[[1.0] * 5, [0.0] * 4, [np.nan] * 100]

    found = powered_mean(people, np.ones(109), independent(109), rng=np.random.default_rng(1))
    weighted = weighted_mean(people, np.ones(109), independent(109))
    calibrated = calibrated_mean(people, np.ones(109), independent(109), folds=np.arange(109) % 5)

    assert {found.reason, weighted.reason, calibrated.reason} == {"too_few_items"}
    assert found.powered.value is None


def planted(kind, rng, n_items=400, n_answered=100, icc=0.0):
    """People's answers to a random part of the items, a judge's signal, and the true share."""
    people = np.repeat(rng.normal(size=n_items // 2), 2) * icc
    truth = (rng.random(n_items) < 1 / (1 + np.exp(-0.6 - people))).astype(float)
    wrong = rng.random(n_items) < 0.25
    signal = {
        "useless": rng.random(n_items),
        "perfect": truth,
        "biased": np.where(wrong, 1 - truth, truth) * 0.6 + 0.4,
    }[kind]
    at = np.linspace(-6, 6, 401)
    density = np.exp(-(at**2) / 2)
    share = float((density / (1 + np.exp(-0.6 - icc * at))).sum() / density.sum())
    answered = np.zeros(n_items, dtype=bool)
    answered[rng.choice(n_items, n_answered, replace=False)] = True
    return np.where(answered, truth, np.nan), signal, share


def covers(found, share):
    low, high = ends(found)
    return low <= share <= high


@pytest.mark.nightly
@pytest.mark.parametrize("kind", ["useless", "perfect", "biased"])
@pytest.mark.parametrize(("n_answered", "icc"), [(20, 0.0), (60, 0.0), (100, 1.0)])
def test_the_powered_interval_covers_and_is_never_much_wider(kind, n_answered, icc):
    rng = np.random.default_rng([n_answered, len(kind), int(icc)])
    draws, hits, widths = 300, 0, []
    sharing = in_pairs(200)
    for _ in range(draws):
        people, signal, share = planted(kind, rng, 200, n_answered, icc)
        found = powered_mean(people, signal, sharing, folds=np.arange(200) // 2 % 10, rng=rng)
        hits += covers(found.powered, share)
        alone, powered = ends(found.alone), ends(found.powered)
        widths.append((powered[1] - powered[0]) / (alone[1] - alone[0]))

    # Three Monte Carlo errors around the 93 to 98 % that these designs have with 2,000 draws.
    assert 0.93 - 0.04 <= hits / draws <= 1
    assert max(widths) <= 1.02
    if kind == "perfect":
        assert np.median(widths) < 1.3 * math.sqrt(n_answered / 200)


@pytest.mark.nightly
@pytest.mark.parametrize("kind", ["useless", "biased"])
def test_items_drawn_by_a_judge_give_intervals_that_cover(kind):
    rng = np.random.default_rng(len(kind))
    draws, hits, sharing = 200, np.zeros(3), in_pairs(300)
    for _ in range(draws):
        certainty = rng.choice([0.5, 0.7, 0.9, 0.97], 300)
        right = (rng.random(300) < certainty).astype(float)
        signal = rng.random(300) if kind == "useless" else certainty**0.3
        chance = draw_probabilities(error_spread(signal), 80)
        people = np.where(draw_items(chance, rng=rng), right, np.nan)
        folds = np.arange(300) // 2 % 10
        found = weighted_mean(people, signal, sharing, probability=chance)
        equal = np.where(draw_items(np.full(300, 80 / 300), rng=rng), right, np.nan)
        calibrated = calibrated_mean(equal, signal, sharing, folds=folds)
        each = (found.alone, found.powered, calibrated.mean)
        hits += [covers(one, (0.5 + 0.7 + 0.9 + 0.97) / 4) for one in each]

    assert (hits / draws > 0.88).all()


def test_weights_undo_a_draw_of_hard_items():
    """The draw takes the items that people deny; answers alone, unweighted, would be far off."""
    rng = np.random.default_rng(8)
    hard = np.arange(4000) % 2 == 0
    people = np.where(hard, 0.0, 1.0)
    chance = draw_probabilities(np.where(hard, 0.5, 0.1), 1000)
    drawn = draw_items(chance, rng=rng)
    answers = np.where(drawn, people, np.nan)

    found = weighted_mean(answers, rng.random(4000), independent(4000), probability=chance)

    assert np.nanmean(answers) < 0.25
    assert found.alone.value == pytest.approx(0.5, abs=0.04)
    assert covers(found.powered, 0.5)


def test_equal_probabilities_weigh_alike():
    rng = np.random.default_rng(5)
    people, signal, _ = planted("biased", rng)

    one = weighted_mean(people, signal, independent(400))
    two = weighted_mean(people, signal, independent(400), probability=np.full(400, 0.25))
    powered = powered_mean(people, signal, independent(400), rng=rng)

    assert one == two
    assert one.alone.value == pytest.approx(np.nanmean(people))
    assert one.powered.value == pytest.approx(powered.powered.value, abs=0.01)


def test_a_calibration_that_does_not_hold_for_some_items_shows_in_their_residual():
    rng = np.random.default_rng(4)
    signal = rng.random(1000)
    people = (rng.random(1000) < signal).astype(float)
    other = np.arange(1000) % 2 == 0
    people[other] = rng.random(500) < 0.2
    target = np.where(np.arange(1000) < 400, people, np.nan)
    folds = np.arange(1000) // 2 % 10

    fits = calibrated_mean(target, signal, independent(1000), folds=folds)
    misses = calibrated_mean(target, signal, independent(1000), folds=folds, of=other)

    assert fits.residual.interval.low < 0 < fits.residual.interval.high
    assert misses.residual.interval.high < 0
    assert misses.n_items == 500


def test_signals_beyond_those_of_answered_items_are_counted():
    signal = np.r_[np.linspace(0.4, 0.6, 50), np.linspace(0.3, 0.7, 40)]
    target = np.r_[np.tile([0.0, 1.0], 25), np.full(40, np.nan)]

    found = calibrated_mean(target, signal, independent(90), folds=np.arange(90) % 5)

    beyond = ((signal < 0.4) | (signal > 0.6)).mean()
    assert found.outside == pytest.approx(beyond)


def test_the_saving_is_that_of_the_square_of_the_widths():
    def wide(width):
        return Estimate(0.5, interval=Interval(0.5, 0.5 + width, 0.95, "t", 40))

    assert answers_saved(40, wide(0.2), wide(0.2)) == 0
    assert answers_saved(40, wide(0.2), wide(0.1)) == pytest.approx(120)
    assert answers_saved(40, Estimate(None, "too_few_items"), wide(0.1)) is None
