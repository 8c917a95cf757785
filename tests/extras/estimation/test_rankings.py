"""Win rates, strengths and rankings, against closed forms, other programs and planted truth."""

import warnings

import numpy as np
import pytest
from scipy import stats as scipy_stats

from analysis.stats.core.shared_variance import Sharing
from analysis.stats.systems.strengths import fit_strengths, results
from extras.estimation.stats import (
    Contests,
    corrected_win_rates,
    ranking_agreement,
    system_strengths,
    win_rates,
)
from tests.analysis.stats.reference import vector

INCOMPLETE = [[0, 7, 8], [3, 0, 6], [2, 4, 0]]


def of_wins(wins, ties=()):
    """One item per game: contests, choices and what items share."""
    first, second, choice = [], [], []
    for table, code in ((wins, 0), (ties, 2)):
        for i, row in enumerate(table):
            for j, n in enumerate(row):
                first += [i] * n
                second += [j] * n
                choice += [code] * n
    n = len(first)
    # Half of the games the other way round: the side must not matter.
    swap = np.arange(n) % 2 == 1
    one, two = np.where(swap, second, first), np.where(swap, first, second)
    chosen = np.where(swap & (np.array(choice) == 0), 1, choice)
    return Contests.of(one, two), chosen, Sharing.of_items(n, {})


def values(found):
    return [each.value for each in found.strengths]


def test_strengths_equal_the_reference():
    expected = vector("bradley_terry")

    found = system_strengths(*of_wins(expected["wins"]))

    assert values(found) == pytest.approx(expected["expected"]["log_strength_centered"], abs=1e-6)
    assert (found.n, found.n_ties, found.tie.reason) == (30, 0, "empty_group")


def test_strengths_and_intervals_are_those_of_a_logistic_regression():
    statsmodels = pytest.importorskip("statsmodels.api")
    rng = np.random.default_rng(5)
    strength = np.array([0.8, 0.2, -0.3, -0.7])
    first = rng.integers(0, 4, 600)
    second = (first + rng.integers(1, 4, 600)) % 4
    won = rng.random(600) < 1 / (1 + np.exp(strength[second] - strength[first]))
    persona = np.arange(600) // 4
    design = np.eye(4)[first] - np.eye(4)[second]
    # The first system is the base: its strength is minus the mean of the others, as centred.
    basis = np.vstack([np.zeros(3), np.eye(3)]) - np.ones((4, 3)) / 4
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = statsmodels.Logit(won.astype(float), design[:, 1:]).fit(
            disp=False, cov_type="cluster", cov_kwds={"groups": persona}
        )

    sharing = Sharing.of_items(600, {"persona": persona})
    found = system_strengths(Contests.of(first, second), 1 - won.astype(int), sharing)

    assert values(found) == pytest.approx(basis @ theirs.params, abs=1e-6)
    widths = np.sqrt(np.diag(basis @ theirs.cov_params() @ basis.T)) * 2 * 1.96
    ours = [each.interval.high - each.interval.low for each in found.strengths]
    assert ours == pytest.approx(widths, rel=0.12)


def test_strengths_with_ties_are_those_of_a_numerical_maximum():
    from scipy.optimize import minimize

    wins, ties = np.array(INCOMPLETE), np.array([[0, 3, 1], [0, 0, 2], [0, 0, 0]])

    def height(parameters):
        beta, tie = np.array([*parameters[:2], -parameters[:2].sum()]), parameters[2]
        weights = np.exp(beta)
        middle = np.exp(tie) * np.sqrt(np.outer(weights, weights))
        total = np.add.outer(weights, weights) + middle
        return -(wins * np.log(weights[:, None] / total) + ties * np.log(middle / total)).sum()

    theirs = minimize(height, np.zeros(3), tol=1e-12).x

    found = system_strengths(*of_wins(wins, ties))

    assert values(found)[:2] == pytest.approx(theirs[:2], abs=1e-5)
    assert found.tie.value == pytest.approx(theirs[2], abs=1e-5)
    assert (found.n, found.n_ties) == (36, 6)


@pytest.mark.parametrize(
    "wins",
    [
        [[0, 5, 5], [0, 0, 5], [0, 5, 0]],  # the first never loses
        [[0, 5, 0, 0], [5, 0, 0, 0], [0, 0, 0, 5], [0, 0, 5, 0]],  # two groups never meet
        [[0, 5], [0, 0]],
    ],
)
def test_strengths_that_no_finite_number_maximises_are_undefined(wins):
    found = system_strengths(*of_wins(wins))

    assert found.reason == "not_connected"
    assert {(each.value, each.reason) for each in found.strengths} == {(None, "not_connected")}


def test_no_games_and_one_system_are_too_few():
    nothing = Contests.of([-1, -1], [-1, -1])

    assert system_strengths(nothing, [0, 1], Sharing.of_items(2, {})).reason == "too_few_items"
    one = Contests.of([0, 0], [1, 1])
    assert system_strengths(one, [-1, -1], Sharing.of_items(2, {})).reason == "too_few_items"


def test_many_tables_at_once_are_fitted_as_one_by_one():
    contests, choice, _ = of_wins(INCOMPLETE, [[0, 2, 0], [0, 0, 1], [0, 0, 0]])
    weights = np.random.default_rng(3).multinomial(33, np.full(33, 1 / 33), 20).astype(float)
    wins, ties = results(contests, choice, weights)

    together = fit_strengths(wins, ties)

    for at in range(20):
        alone = fit_strengths(wins[at : at + 1], ties[at : at + 1])
        np.testing.assert_allclose(alone.strength[0], together.strength[at], atol=1e-6)


def test_win_rates_count_wins_and_half_of_the_ties():
    contests = Contests.of([0, 1, 0, -1, 1], [1, 0, 1, -1, 0])

    one, two = win_rates(contests, [0, 0, 2, 1, -1], Sharing.of_items(5, {}))

    assert (one.wins, one.ties, one.n, one.rate.value) == (1, 1, 3, 0.5)
    assert (two.wins, two.ties, two.n, two.rate.value) == (1, 1, 3, 0.5)


def test_a_system_that_always_wins_has_an_interval_with_a_width():
    [one, _] = win_rates(Contests.of([0] * 40, [1] * 40), [0] * 40, Sharing.of_items(40, {}))

    assert one.rate.value == 1
    assert 0.85 < one.rate.interval.low < 0.99
    assert one.rate.interval.high == 1


def test_a_correction_by_errors_on_the_same_items_gives_the_reference_back():
    contests = Contests.of([0] * 200, [1] * 200)
    people = np.repeat([0, 1], [140, 60])
    # Wrong as often whichever is better: 20 %.
    judge = np.where(np.arange(200) % 5 == 0, 1 - people, people)

    found = corrected_win_rates(contests, judge, people, Sharing.of_items(200, {}))

    assert found.accuracy.value == pytest.approx(0.8)
    raw = (0.7 * 0.8) + (0.3 * 0.2)
    # Rogan and Gladen: (raw + specificity - 1) / (sensitivity + specificity - 1).
    assert found.rates[0].value == pytest.approx((raw + 0.8 - 1) / 0.6)
    assert found.rates[0].value == pytest.approx(0.7)
    assert found.rates[0].value + found.rates[1].value == pytest.approx(1)


def test_nothing_is_corrected_for_a_judge_at_chance_or_without_a_reference():
    contests = Contests.of([0] * 40, [1] * 40)
    sharing = Sharing.of_items(40, {})
    people = np.arange(40) % 2

    chance = corrected_win_rates(contests, np.arange(40) // 2 % 2, people, sharing)
    alone = corrected_win_rates(contests, people, np.full(40, -1), sharing)

    assert chance.accuracy.value == 0.5
    assert {each.reason for each in chance.rates} == {"at_chance"}
    assert (alone.n, alone.n_both) == (40, 0)
    assert {each.reason for each in alone.rates} == {"empty_group"}


def test_a_correction_beyond_one_contradicts_its_assumption():
    # The judge agrees with people in 60 % of the labelled items, and always chooses the first.
    contests = Contests.of([0] * 1200, [1] * 1200)
    people = np.r_[np.repeat([0, 1], [120, 80]), np.full(1000, -1)]

    found = corrected_win_rates(contests, np.zeros(1200), people, Sharing.of_items(1200, {}))

    assert [each.reason for each in found.rates] == ["not_identified", "not_identified"]


def rank(first, second, contests, *, persona=None):
    n = contests.first.size
    clusters = {"item": np.arange(n)} | ({} if persona is None else {"persona": persona})
    return ranking_agreement(
        contests, first, second, clusters, n_draws=200, rng=np.random.default_rng(4)
    )


def test_equal_sides_rank_alike_and_opposite_sides_do_not():
    contests, choice, _ = of_wins([[0, 30, 35], [10, 0, 30], [5, 10, 0]])

    same = rank(choice, choice, contests)
    opposite = rank(choice, 1 - choice, contests)

    assert (same.kendall.value, same.spearman.value) == (1, 1)
    assert (same.same_top, same.same_order) == (1, 1)
    assert same.kendall.interval_reason == "no_variation"
    assert (opposite.kendall.value, opposite.spearman.value) == (-1, -1)
    assert (opposite.first_top, opposite.second_top) == ((0,), (2,))
    assert opposite.same_top < 0.01


def test_rank_correlations_are_those_of_scipy():
    rng = np.random.default_rng(8)
    first = rng.integers(0, 6, 400)
    second = (first + rng.integers(1, 6, 400)) % 6
    sides = [rng.integers(0, 2, 400) for _ in range(2)]
    contests = Contests.of(first, second)

    found = rank(sides[0], sides[1], contests, persona=np.arange(400) // 4)

    one, two = (fit_strengths(*results(contests, s, np.ones((1, 400)))).strength[0] for s in sides)
    assert found.kendall.value == pytest.approx(scipy_stats.kendalltau(one, two).statistic)
    assert found.spearman.value == pytest.approx(scipy_stats.spearmanr(one, two).statistic)
    assert found.kendall.interval.method == "bootstrap of persona"
    assert found.kendall.interval.low <= found.kendall.value <= found.kendall.interval.high
    assert found.first_top == (int(one.argmax()),)


def test_only_items_that_both_decided_count():
    contests, choice, _ = of_wins([[0, 30], [20, 0]])
    partly = np.where(np.arange(50) < 40, choice, -1)

    found = rank(choice, partly, contests)

    assert found.n == 40
    assert (found.kendall.reason, found.spearman.reason) == ("too_few_systems", "too_few_systems")
    assert found.same_top == 1


def test_rankings_without_strengths_have_a_reason():
    contests, choice, _ = of_wins([[0, 30], [0, 0]])

    never = rank(choice, choice, contests)
    # One win in 31: many resamples do not have it.
    contests, choice, _ = of_wins([[0, 30], [1, 0]])
    rarely = rank(choice, choice, contests)

    assert (never.reason, never.same_top) == ("not_connected", None)
    assert (rarely.reason, rarely.resampled_reason) == (None, "not_connected")
    assert rarely.first_top == (0,)
    assert rarely.same_top is None


@pytest.mark.parametrize("sides", [([0, 1], [0, 1, 2]), ([0, -1], [1, 1]), ([0], [0])])
def test_impossible_contests_are_refused(sides):
    with pytest.raises(ValueError, match=r"differ in shape|two different systems"):
        Contests.of(*sides)


def test_impossible_choices_are_refused():
    with pytest.raises(ValueError, match="Choices are 0, 1, 2"):
        system_strengths(Contests.of([0], [1]), [3], Sharing.of_items(1, {}))
