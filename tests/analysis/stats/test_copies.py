"""Answers that may have been copied: how often nobody copied and somebody is named."""

import numpy as np
import pytest
from scipy.stats import betabinom

from analysis.stats.agreement.copies import (
    UNLIKELY,
    _all_same,
    answered_alike,
    fewest_with,
    follows_majority,
    same_throughout,
)


def named(people, per, judge, skills, ease, *, studies, seed=1):
    """The share of studies without copies that name somebody."""
    rng, found = np.random.default_rng(seed), 0
    for _ in range(studies):
        difficulty = rng.beta(ease[0], ease[1], people * per // 3)
        right = rng.random(difficulty.size) < judge * (0.5 + 0.5 * difficulty)
        same = np.zeros(people, dtype=int)
        for place, skill in enumerate(rng.uniform(skills[0], skills[1], people)):
            items = rng.choice(difficulty.size, per, replace=False)
            own = rng.random(per) < skill * (0.6 + 0.4 * difficulty[items])
            same[place] = (own == right[items]).sum()
        p = same_throughout(np.full(people, per), same).p
        found += p is not None and p <= 0.05
    return found / studies


WORLDS = [
    (24, 30, 0.95, (0.9, 1), (8, 1)),
    (24, 30, 0.99, (0.6, 1), (20, 1)),
    (60, 20, 0.98, (0.8, 1), (20, 1)),
    (36, 25, 0.8, (0.6, 0.9), (3, 2)),
    (12, 40, 1, (0.97, 1), (50, 1)),
    (100, 20, 1, (0.5, 1), (50, 1)),
    (100, 20, 1, (0.9, 1), (100, 1)),
]


@pytest.mark.nightly
@pytest.mark.parametrize("world", WORLDS)
def test_hardly_ever_is_somebody_named_where_nobody_copied(world):
    # Monte Carlo error of 5 % in 600 studies: 0.9 points.
    assert named(*world, studies=600) <= 0.05 + 0.02


def test_one_who_copied_is_found_among_people_who_differ():
    rng, found = np.random.default_rng(2), 0
    for _ in range(200):
        same = rng.binomial(30, np.clip(rng.normal(0.66, 0.08, 24), 0.4, 0.97))
        same[0] = 30
        result = same_throughout(np.full(24, 30), same)
        found += result.people.tolist() == [0] and result.p <= 0.05
    assert found > 180


def test_all_the_same_has_the_probability_of_a_beta_binomial_variable():
    size, agreed = np.full(12, 30), np.array([12, 28, 20, 25, 18, 9, 22, 27, 15, 29, 21, 24])
    counts = np.array([20, 30])
    found = _all_same(counts, size, agreed)

    # The moments again: mean, and variance between people beyond that of the binomial.
    mean = (agreed.sum() + 0.5) / (size.sum() + 1)
    share = agreed / 30
    between = 30 * ((share - mean) ** 2).sum() / 11
    within = (agreed * (1 - share)).sum() / (360 - 12)
    rho = (between - within) / (between + 29 * within)
    a, b = mean * (1 / rho - 1), (1 - mean) * (1 / rho - 1)
    assert found == pytest.approx([betabinom.pmf(k, k, a, b) for k in counts])


def test_people_who_answered_less_than_20_items_are_never_named():
    found = same_throughout([19] * 10 + [30] * 10, [19] * 10 + [15] * 10)
    assert (found.people.size, found.p) == (0, None)


def test_a_perfect_judge_differs_from_majorities_of_people_who_err():
    """Its agreement with all of them is as likely as the bound says."""
    rng = np.random.default_rng(3)
    n, studies, hits, bounds = 12, 4_000, 0, []
    for _ in range(studies):
        votes = (rng.random((n, 3)) < 0.85).sum(axis=1)
        counts = np.stack([votes, 3 - votes], axis=1)
        found = follows_majority(counts, counts.argmax(axis=1), np.zeros(n, dtype=int))
        hits += found.is_same
        bounds.append(found.p)
    assert np.mean(bounds) == pytest.approx(hits / studies, abs=0.03)


def test_without_two_answers_to_an_item_there_is_no_bound():
    counts = np.eye(2, dtype=int)[[0, 1] * 20]
    found = follows_majority(counts, counts.argmax(axis=1), counts.argmax(axis=1))
    assert (found.n, found.is_same, found.split, found.p) == (40, True, 0, None)


@pytest.mark.parametrize(
    ("sizes", "expected"), [([1] * 10, (8, 8)), ([90, 5, 5], (1, 90)), ([4], (1, 4))]
)
def test_the_fewest_clusters_with_a_share_of_the_rows(sizes, expected):
    assert fewest_with(0.8, sizes) == expected


def panels(rng, people, items, together, right, skills, ease):
    """Answers of people in groups that share their items; nobody copies, and items differ."""
    rows = []
    for group in range(people // together):
        truth = rng.integers(0, 2, items)
        level = np.log(right / (1 - right)) + rng.normal(0, ease, items)
        for person in range(group * together, (group + 1) * together):
            chance = 1 / (1 + np.exp(-level - rng.normal(0, skills)))
            choice = np.where(rng.random(items) < chance, truth, 1 - truth)
            rows.append((group * items + np.arange(items), np.full(items, person), choice))
    return (np.concatenate(column) for column in zip(*rows, strict=True))


# With other seeds, and other worlds, than those on which the limit was chosen.
@pytest.mark.nightly
@pytest.mark.parametrize("people", [5, 9, 30])
@pytest.mark.parametrize("right", [0.7, 0.8, 0.9])
@pytest.mark.parametrize(("skills", "ease"), [(0.3, 0), (1.5, 2.5)])
def test_people_who_answer_independently_are_seldom_taken_for_copies(people, right, skills, ease):
    rng, named = np.random.default_rng((20261130, people)), 0
    for _ in range(200):
        together = 5 if people == 5 else 3
        result = answered_alike(*panels(rng, people, 40, together, right, skills, ease))
        named += result.p is not None and result.p <= UNLIKELY and (result.others or 0) <= 0.8

    assert named <= 0.05 * 200
