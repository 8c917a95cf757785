"""Statistics of certificates: the labels that they need, and whether they still hold."""

import doctest

import numpy as np
import pytest
from scipy.stats import binom

import analysis.data.domain
import extras.certificates.statistics
from analysis.data.domain import shifts
from analysis.stats import Trust
from extras.certificates.statistics import (
    anchors_needed,
    calibration_curve,
    items_part,
    judges_part,
    labels_needed,
    trust_in,
)
from extras.certificates.stats import (
    certify_threshold,
    starting_threshold,
)


@pytest.mark.parametrize(
    "module",
    [analysis.data.domain, extras.certificates.statistics],
    ids=lambda m: m.__name__,
)
def test_every_example_gives_what_it_shows(module):
    result = doctest.testmod(module)

    assert result.attempted > 1
    assert result.failed == 0


def power(n, coverage, error, max_error, delta):
    """The exact chance that a threshold passes with n items."""
    accepted = np.arange(n + 1)
    passes = []
    for count in accepted:
        most = int(binom.ppf(delta, count, max_error)) + 1
        while most >= 0 and binom.cdf(most, count, max_error) > delta:
            most -= 1
        passes.append(binom.cdf(most, count, error) if count and most >= 0 else 0.0)
    return float((binom.pmf(accepted, n, coverage) * passes).sum())


def test_the_labels_needed_have_the_power_that_they_promise():
    """One threshold, so that the exact power is a sum over binomial distributions."""
    certainty, correct = [80] * 100 + [10] * 100, [1] * 90 + [0] * 110
    rng = np.random.default_rng(5)

    found = labels_needed(certainty, correct, max_error=0.2, delta=0.1, rng=rng)

    error = 0.1
    assert power(found, 0.5, error, 0.2, 0.1) == pytest.approx(0.8, abs=0.04)
    assert power(int(found * 0.75), 0.5, error, 0.2, 0.1) < 0.78


def test_answers_without_an_error_need_as_many_labels_as_accept_the_fewest():
    """Two thirds are accepted and 230 without an error pass: with luck in the coverage from 345."""
    certainty, correct = [90] * 40 + [60] * 20, [1] * 40 + [0] * 20
    rng = np.random.default_rng(0)

    found = labels_needed(certainty, correct, max_error=0.01, delta=0.1, rng=rng)

    assert 345 < found < 375


def test_labels_that_no_number_reaches_are_none():
    rng = np.random.default_rng(0)

    assert labels_needed([90] * 50, [0] * 50, max_error=0.1, delta=0.1, rng=rng) is None
    assert labels_needed([], [], max_error=0.1, delta=0.1, rng=rng) is None


def test_certified_thresholds_need_no_more_labels_than_there_are():
    certainty, correct = [90] * 200, [1] * 198 + [0] * 2
    start = starting_threshold(certainty, 200)
    assert certify_threshold(certainty, correct, max_error=0.1, start=start).threshold == 50

    rng = np.random.default_rng(0)

    assert labels_needed(certainty, correct, max_error=0.1, delta=0.1, rng=rng) <= 200


def test_the_judges_part_is_a_paired_difference_with_tangos_interval():
    then = np.array([1] * 60 + [0] * 40)
    now = np.concatenate([[1] * 50, [0] * 10, [1] * 4, [0] * 36])

    part = judges_part(then, now)

    assert (part.lost, part.gained, part.n) == (10, 4, 100)
    assert part.value == pytest.approx(-0.06)
    assert part.interval.low < -0.06 < part.interval.high
    assert judges_part([1, -1], [-1, 1]).reason == "empty_group"
    with pytest.raises(ValueError, match="earlier answers"):
        judges_part([1], [1, 0])


def test_trust_follows_the_interval_and_the_loss_to_tolerate():
    """Both 0 and the loss inside is inconclusive; the loss outside is trusted, or 0 above."""

    def part(lost, n):
        return judges_part([1] * n, [0] * lost + [1] * (n - lost))

    assert trust_in(part(0, 60), 0.05) == Trust.INCONCLUSIVE
    assert trust_in(part(0, 100), 0.05) == Trust.TRUSTED
    assert trust_in(part(10, 100), 0.05) == Trust.NOT_TRUSTED
    assert trust_in(part(20, 2000), 0.05) == Trust.TRUSTED  # a change, but a small one
    assert part(20, 2000).is_change
    assert trust_in(judges_part([], []), 0.05) == Trust.INCONCLUSIVE
    with pytest.raises(ValueError, match="tolerated"):
        trust_in(part(0, 60), 0)


def test_the_anchors_needed_decide_and_fewer_do_not():
    part = judges_part([1] * 58 + [0] * 2, [1] * 57 + [0] + [1] + [0])

    needed = anchors_needed(part, 0.05)

    assert trust_in(part, 0.05) == Trust.INCONCLUSIVE
    scale = needed / 60
    lost = round(scale)
    more = judges_part(
        [1] * (needed - lost) + [0] * lost, [1] * (needed - 2 * lost) + [0] * lost + [1] * lost
    )
    assert trust_in(more, 0.05) != Trust.INCONCLUSIVE
    assert anchors_needed(judges_part([], []), 0.05) is None


def test_the_items_part_needs_certainties_and_takes_out_what_the_judge_changed():
    rng = np.random.default_rng(2)
    certainty = rng.choice([60, 90], 400)
    correct = (rng.random(400) < np.where(certainty == 90, 0.9, 0.5)).astype(int)
    curve = calibration_curve(certainty, correct)
    anchors = certainty[:100]

    # The judge now states 60 everywhere, on items that are no different.
    shifted = items_part(
        curve, certainty, np.full(300, 60), anchors_then=anchors, anchors_now=np.full(100, 60)
    )
    naive = items_part(curve, certainty, np.full(300, 60))

    assert not shifted.is_change
    assert naive.is_change
    assert items_part(curve, certainty, [np.nan] * 9).reason == "empty_group"
    with pytest.raises(ValueError, match="anchors"):
        items_part(curve, certainty, [60, 90], anchors_then=[60], anchors_now=[])
    assert calibration_curve([], []) is None


def test_items_have_moved_only_where_the_difference_is_neither_chance_nor_small():
    rng = np.random.default_rng(8)
    before, like, longer = rng.gamma(3, 40, 400), rng.gamma(3, 40, 300), rng.gamma(3, 60, 300)

    found = shifts(
        {"same": (before, like), "longer": (before, longer)},
        {"topic": (["a", "b"] * 200, ["a"] * 280 + ["b"] * 20), "one": (["a"], ["a"])},
    )

    assert [(shift.feature, shift.has_moved) for shift in found] == [
        ("same", False),
        ("longer", True),
        ("topic", True),
        ("one", False),
    ]
    many = rng.gamma(3, 40, 40_000), rng.gamma(3, 42, 40_000)
    assert not shifts({"a little": many}, {})[0].has_moved
    assert shifts({"none": ([], [1])}, {"none": ([], ["a"])}) == []


def answers(rng, certainty, skill):
    """Right with the probability that the certainty stands for, times a skill."""
    return (rng.random(certainty.size) < certainty / 100 * skill).astype(int)


@pytest.mark.sampled(keep=8, group="simulations")
@pytest.mark.slow
@pytest.mark.parametrize(
    ("judge", "items"), [(False, False), (True, False), (False, True), (True, True)]
)
def test_drift_planted_in_the_judge_or_the_items_is_attributed_rightly(judge, items):
    """300 items then, 150 anchors of them, 300 items now; the judge also states less than before.

    A judge that drifts loses a third of its right answers and 10 points of certainty; items that
    drift are mostly those on which it was uncertain.
    """
    rng, draws, rightly = np.random.default_rng(17), 200, 0
    for _ in range(draws):
        then = rng.integers(55, 100, 300).astype(float)
        correct = answers(rng, then, 1.0)
        anchors_then = then[:150]
        kept = correct[:150].copy()
        anchors_now = anchors_then - 10 if judge else anchors_then
        if judge:
            kept[rng.random(150) < 1 / 3] = 0
        new = rng.integers(55, 70 if items else 100, 300) - (10.0 if judge else 0.0)
        curve = calibration_curve(then, correct)
        of_judge = judges_part(correct[:150], kept)
        of_items = items_part(curve, then, new, anchors_then=anchors_then, anchors_now=anchors_now)
        rightly += (of_judge.is_change, of_items.is_change) == (judge, items)

    assert rightly / draws >= 0.9
