"""The test of panels: false alarms, power, and what it leaves out."""

import numpy as np
import pytest

from extras.panels.differences import (
    agreement_with_others,
    panels_differ,
    person_scores,
)

STUDIES = 2000


def simulated_study(rng: np.random.Generator, *, better: float, sizes=(30, 12)):
    """Answers of people of two panels; those of the first are right more often by `better`.

    Items differ, people differ, and people answer different numbers of items.
    """
    panel = np.repeat(np.arange(len(sizes)), sizes)
    ability = rng.normal(0, 0.1, panel.size) + np.where(panel == 0, better, 0)
    ease = rng.uniform(0.4, 0.9, 60)
    rows = [
        (rater, item)
        for rater in range(panel.size)
        for item in rng.choice(60, int(rng.integers(5, 21)), replace=False)
    ]
    rater, item = np.array(rows).T
    right = (rng.random(rater.size) < np.clip(ease[item] + ability[rater], 0, 1)).astype(float)
    return panel, rater, item, right


def p_of(rng: np.random.Generator, measure: str, *, better: float, sizes=(30, 12)) -> float:
    panel, rater, item, right = simulated_study(rng, better=better, sizes=sizes)
    values = right if measure == "accuracy" else agreement_with_others(right.astype(int), item)
    scores = person_scores(values, item, rater, panel.size)
    p = panels_differ(scores, panel, rng=rng, draws=199).p
    assert p is not None
    return p


@pytest.mark.nightly
@pytest.mark.parametrize("measure", ["accuracy", "agreement"])
def test_panels_that_do_not_differ_are_said_to_in_one_study_of_twenty(measure):
    rng = np.random.default_rng(20261129)

    alarms = sum(p_of(rng, measure, better=0.0) <= 0.05 for _ in range(STUDIES))

    # 100 are expected; 123 is the 99 % quantile.
    assert alarms <= 123


@pytest.mark.nightly
def test_a_difference_of_fifteen_points_is_found_in_most_studies():
    rng = np.random.default_rng(20261130)

    hits = sum(p_of(rng, "accuracy", better=0.15, sizes=(30, 30)) <= 0.05 for _ in range(100))

    assert hits >= 80


def test_the_test_equals_all_permutations_of_a_small_study():
    """Of 10 people in two panels there are 252 orders; the p of the sorted ones is 2/252."""
    scores = np.arange(10.0)
    panel = np.repeat([0, 1], 5)

    p = panels_differ(scores, panel, rng=np.random.default_rng(1), draws=50_000).p

    assert p == pytest.approx(2 / 252, abs=0.002)


def test_hard_items_do_not_make_a_panel_worse():
    """Everybody is right on the first item and wrong on the second; panels answer one each."""
    rater = np.arange(20)
    item = rater % 2
    scores = person_scores((item == 0).astype(float), item, rater, 20)

    assert np.allclose(scores, 0)


def test_agreement_counts_the_others_only():
    shares = agreement_with_others(np.array([0, 0, 1, 1, -1]), np.array([0, 0, 0, 1, 1]))

    assert np.allclose(shares[:3], [0.5, 0.5, 0.0])
    assert np.isnan(shares[3:]).all()


@pytest.mark.parametrize(
    ("sizes", "panels", "reason"),
    [((5, 4), 1, "too_few_panels"), ((9, 0), 1, "too_few_panels"), ((5, 5, 1), 2, None)],
)
def test_small_panels_are_left_out(sizes, panels, reason):
    panel = np.repeat(np.arange(len(sizes)), sizes)
    scores = np.random.default_rng(3).normal(size=panel.size)

    test = panels_differ(scores, panel, rng=np.random.default_rng(1))

    assert (test.panels, test.reason) == (panels, reason)
    assert (test.p is None) == bool(reason)


def test_people_without_answers_or_panel_do_not_count():
    scores = np.array([*np.random.default_rng(3).normal(size=12), np.nan, 100.0])
    panel = np.array([*np.repeat([0, 1], 6), 0, -1])

    test = panels_differ(scores, panel, rng=np.random.default_rng(1))

    assert test.people == 12


def test_scores_that_are_all_alike_have_no_test():
    test = panels_differ(np.ones(20), np.repeat([0, 1], 10), rng=np.random.default_rng(1))

    assert (test.p, test.reason) == (None, "no_variation")
