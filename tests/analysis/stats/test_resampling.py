from itertools import chain, combinations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.stats import Votes, bootstrap_agreement, sample_without_replacement, seed_of
from tests.analysis.stats.reference import random_votes, vector

UNITS = ["item_pair", "pairs", "all_pairs"]


def paper_votes():
    """300 items with 3 annotations, 119 unanimous: the paper's agreement of .597."""
    case = vector("paper_bootstrap")
    rows = [[0, 0, 0]] * case["unanimous"] + [[0, 0, 1]] * (case["N"] - case["unanimous"])
    return Votes.from_matrix(rows)


def test_the_papers_mean_and_spread_are_reproduced():
    expected = vector("paper_bootstrap")["expected"]

    result = bootstrap_agreement(paper_votes(), n_draws=20_000, rng=np.random.default_rng(42))

    assert result.expected_mean == pytest.approx(expected["mean"], abs=1e-12)
    assert result.expected_sd == pytest.approx(expected["sd_analytic"], abs=1e-12)
    assert result.mean == pytest.approx(expected["mean"], abs=4 * result.sd / 20_000**0.5)
    assert result.sd == pytest.approx(expected["sd_analytic"], abs=4 * result.sd / 40_000**0.5)
    assert result.standard_error == pytest.approx(0.019, abs=5e-4)


@pytest.mark.parametrize(
    ("unit", "key"),
    [
        ("item_pair", "D1_items_wo_repl_one_random_pair_per_item"),
        ("pairs", "D2_30_pairs_without_replacement_from_900_pair_pool"),
        ("all_pairs", "D4_items_wo_repl_mean_of_all_3_pairs"),
    ],
)
def test_every_unit_has_its_own_spread_and_only_all_pairs_contradicts_the_paper(unit, key):
    sd = vector("paper_bootstrap")["alternatives_sd"][key]

    result = bootstrap_agreement(
        paper_votes(), unit=unit, n_draws=20_000, rng=np.random.default_rng(1)
    )

    assert result.expected_sd == pytest.approx(sd, abs=1e-9)
    assert result.sd == pytest.approx(sd, abs=4 * sd / 40_000**0.5)
    assert result.mean == pytest.approx(result.expected_mean, abs=4 * sd / 20_000**0.5)
    z = (sd - 0.087) / (0.087 / (2 * 999) ** 0.5)
    assert (abs(z) > 10) == (unit == "all_pairs")


def test_six_items_match_the_exact_finite_population():
    case = vector("paper_bootstrap_small")
    votes = Votes.from_matrix(case["labels"])

    result = bootstrap_agreement(
        votes, size=case["n"], n_draws=40_000, rng=np.random.default_rng(3)
    )

    assert result.expected_mean == pytest.approx(case["expected"]["mean"], abs=1e-12)
    assert result.expected_sd == pytest.approx(case["expected"]["sd"], abs=1e-12)
    assert result.mean == pytest.approx(case["expected"]["mean"], abs=4 * 0.25 / 200)
    assert result.sd == pytest.approx(case["expected"]["sd"], rel=0.02)


@given(st.integers(0, 2**32 - 1))
def test_the_exact_mean_and_spread_equal_enumerating_every_draw_of_ragged_items(seed):
    rng = np.random.default_rng(seed)
    votes = random_votes(rng, n_items=5, n_annotators=4, answered=0.7)
    choices = [votes.choice[votes.item == i] for i in range(5)]
    pairs = [[a == b for a, b in combinations(c, 2)] for c in choices if len(c) >= 2]
    size = 2
    if len(pairs) < size:
        return

    sheets = list(combinations(pairs, size))
    item_pair = [np.mean(picked) for items in sheets for picked in product(*items)]
    # One of several pairs of an item comes up less often than the only pair of another.
    weights = [1 / np.prod([len(p) for p in items]) for items in sheets for _ in product(*items)]
    all_pairs = [np.mean([np.mean(p) for p in items]) for items in sheets]
    pooled = [np.mean(p) for p in combinations(chain.from_iterable(pairs), size)]
    for unit, outcomes, weight in [
        ("item_pair", item_pair, weights),
        ("all_pairs", all_pairs, None),
        ("pairs", pooled, None),
    ]:
        result = bootstrap_agreement(votes, unit=unit, size=size, n_draws=2, rng=rng)
        mean = np.average(outcomes, weights=weight)
        variance = np.average((np.array(outcomes) - mean) ** 2, weights=weight)
        assert result.expected_mean == pytest.approx(mean)
        assert result.expected_sd == pytest.approx(variance**0.5, abs=1e-9)


@pytest.mark.parametrize("unit", UNITS)
def test_draws_of_ragged_items_match_the_exact_mean_and_spread(unit):
    votes = random_votes(np.random.default_rng(2), n_items=80, n_annotators=7, n_options=3)

    result = bootstrap_agreement(votes, unit=unit, n_draws=20_000, rng=np.random.default_rng(5))

    assert result.mean == pytest.approx(result.expected_mean, abs=4 * result.sd / 20_000**0.5)
    assert result.sd == pytest.approx(result.expected_sd, abs=4 * result.sd / 40_000**0.5)


def test_drawing_every_item_leaves_only_the_choice_of_the_pair():
    votes = Votes.from_matrix([[0, 0]] * 20 + [[0, 1]] * 10)

    result = bootstrap_agreement(votes, size=30, n_draws=50, rng=np.random.default_rng(0))

    assert set(result.draws) == {20 / 30}
    assert result.expected_sd == 0
    assert result.sd == pytest.approx(0, abs=1e-12)


def test_two_labels_of_one_item_are_drawn_as_two_annotators_never_one_with_itself():
    votes = Votes.from_matrix([[0, 1]] * 40)

    assert bootstrap_agreement(votes, rng=np.random.default_rng(0)).mean == 0


@pytest.mark.parametrize("unit", UNITS)
def test_too_little_data_give_a_reason_in_place_of_numbers(unit):
    few = Votes.from_matrix([[0, 0]] * 29)
    none = Votes.from_matrix([[0, -1]] * 40)

    for votes, reason in [
        *((few, "too_few_items"), (none, "no_pairs")),
        (Votes.from_long([], [], []), "no_pairs"),
    ]:
        result = bootstrap_agreement(votes, unit=unit, rng=np.random.default_rng(0))
        assert (result.mean, result.sd, result.interval, result.reason) == (
            *(None, None, None, reason),
        )
        assert result.draws.size == 0


def test_a_result_names_its_seed_and_repeats_with_it():
    one, two = (bootstrap_agreement(paper_votes(), rng=np.random.default_rng(77)) for _ in range(2))

    np.testing.assert_array_equal(one.draws, two.draws)
    assert (one.seed, one.interval.seed, one.size, one.n_draws) == (77, 77, 30, 1000)
    assert (one.n_items, one.n_pairs) == (300, 900)


def test_a_generator_without_one_number_as_seed_has_none():
    assert seed_of(np.random.default_rng([1, 2])) is None
    assert seed_of(np.random.default_rng(5).spawn(1)[0]) == 5


def test_arguments_out_of_range_are_refused():
    rng = np.random.default_rng(0)

    with pytest.raises(ValueError, match="must be one of item_pair, pairs, all_pairs"):
        bootstrap_agreement(paper_votes(), unit="item", rng=rng)
    with pytest.raises(ValueError, match="got 0 and 1000"):
        bootstrap_agreement(paper_votes(), size=0, rng=rng)
    with pytest.raises(ValueError, match="`level` must lie between 0 and 1"):
        bootstrap_agreement(paper_votes(), level=1, rng=rng)


@pytest.mark.parametrize(("population", "size"), [(6, 3), (6, 2), (30, 30), (5, 1)])
def test_samples_hold_no_number_twice_and_every_number_as_often(population, size):
    rows = sample_without_replacement(population, size, 20_000, np.random.default_rng(4))

    assert all(len(set(row)) == size for row in rows[:500].tolist())
    share = np.bincount(rows.ravel(), minlength=population) / 20_000
    expected = size / population
    spread = (expected * (1 - expected) / 20_000) ** 0.5
    np.testing.assert_allclose(share, expected, atol=max(4.5 * spread, 1e-12))


@pytest.mark.parametrize("size", [2, 4])
def test_every_set_of_items_is_equally_likely(size):
    rows = np.sort(sample_without_replacement(6, size, 30_000, np.random.default_rng(6)), axis=1)

    _, counts = np.unique(rows, axis=0, return_counts=True)

    expected = 30_000 / counts.size
    chi_square = ((counts - expected) ** 2 / expected).sum()
    assert counts.size == 15
    assert chi_square < 36.1  # the 99.9% quantile with 14 degrees of freedom
