"""Circles and edits of choices between pairs, against enumeration by hand."""

from itertools import permutations, product

import numpy as np
import pytest

from extras.option_sets.cycles import (
    _weak_orders,
    fewest_edits,
    preferences,
    transitivity,
)

ONE, TWO = (0, 0, 1), (1, 2, 2)


@pytest.mark.parametrize(("n", "count"), [(1, 1), (2, 3), (3, 13), (4, 75), (5, 541), (6, 4683)])
def test_the_orders_with_ties_are_as_many_as_fubini_counts(n, count):
    assert len(_weak_orders(n)) == count == len({tuple(ranks) for ranks in _weak_orders(n)})


@pytest.mark.parametrize("choices", list(product((0, 1, 2), repeat=3)))
def test_three_responses_fit_an_order_exactly_where_nothing_has_to_change(choices):
    table = preferences(ONE, TWO, choices)

    found = transitivity([0] * 3, ONE, TWO, choices, {})

    by_hand = min(
        sum(
            np.sign(ranks[b] - ranks[a]) != {0: 1, 1: -1, 2: 0}[choice]
            for a, b, choice in zip(ONE, TWO, choices, strict=True)
        )
        for ranks in product(range(3), repeat=3)
    )
    assert fewest_edits(table) == (by_hand, True)
    assert (found.edits, found.intransitive.correct) == (by_hand, int(by_hand > 0))
    is_cycle = choices in ((0, 1, 0), (1, 0, 1))
    assert found.cyclic.correct == is_cycle
    assert found.cyclic.n == (2 not in choices)


def test_the_bound_for_many_responses_is_rarely_one_that_an_order_beats():
    one, two = np.triu_indices(7, 1)
    bounds = []
    for seed in range(200):
        rng = np.random.default_rng(seed)
        order = rng.permutation(7)
        choice = (order[one] > order[two]).astype(int)
        flipped = rng.choice(one.size, 2, replace=False)
        choice[flipped] = 1 - choice[flipped]
        edits, is_exact = fewest_edits(preferences(one, two, choice))
        assert not is_exact
        bounds.append(edits)

    # Turning the two decisions back is enough.
    assert np.mean([bound <= 2 for bound in bounds]) > 0.95


def test_the_bound_is_the_exact_number_where_both_are_known(monkeypatch):
    rng = np.random.default_rng(5)
    one, two = np.triu_indices(5, 1)
    tables = [preferences(one, two, rng.integers(0, 3, one.size)) for _ in range(40)]
    exact = [fewest_edits(table)[0] for table in tables]

    monkeypatch.setattr("extras.option_sets.cycles.MOST_EXACT", 1)
    bounds = [fewest_edits(table)[0] for table in tables]

    assert all(bound >= best for bound, best in zip(bounds, exact, strict=True))
    assert np.mean([bound == best for bound, best in zip(bounds, exact, strict=True)]) > 0.7


def test_random_choices_have_a_quarter_of_cycles():
    n = 4000
    rng = np.random.default_rng(1)
    choice = rng.integers(0, 2, 3 * n)

    found = transitivity(np.repeat(np.arange(n), 3), [0, 1, 0] * n, [1, 2, 2] * n, choice, {})

    assert found.cyclic.value == pytest.approx(0.25, abs=0.03)
    assert found.cyclic.interval.low < 0.25 < found.cyclic.interval.high
    assert (found.n_sets, found.pairs) == (n, 3 * n)


def test_a_pair_asked_twice_counts_by_its_majority_and_missing_pairs_make_no_triple():
    table = preferences([0, 1, 0, 2], [1, 0, 1, 0], [0, 1, 1, -1])

    assert table[0, 1] == 1
    assert np.isnan(table[2]).all()
    nothing = transitivity([0, 0, -1], [0, 1, 0], [1, 2, 1], [0, 0, 0], {})
    assert (nothing.n_sets, nothing.cyclic.value, nothing.cyclic.reason) == (0, None, "empty_group")
    assert transitivity([], [], [], [], {}).n_sets == 0


def test_the_names_of_the_responses_do_not_matter():
    rng = np.random.default_rng(2)
    one, two = np.triu_indices(4, 1)
    choice = rng.integers(0, 3, one.size)
    edits = fewest_edits(preferences(one, two, choice))

    for names in list(permutations(range(4)))[::5]:
        new = np.array(names)
        assert fewest_edits(preferences(new[one], new[two], choice)) == edits
