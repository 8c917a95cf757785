import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from statsmodels.stats import inter_rater

from analysis.stats import (
    Votes,
    brennan_prediger,
    certainty_band_counts,
    cohen_kappa,
    expected_agreement,
    expected_majority_accuracy,
    fleiss_kappa,
    gwet_ac,
    krippendorff_alpha,
    percent_agreement,
    shared_stereotype,
)
from analysis.stats.agreement.from_accuracy import guessed_majority
from tests.analysis.stats.reference import count_rows, random_votes, vector

NOMINAL = [percent_agreement, fleiss_kappa, brennan_prediger, gwet_ac, krippendorff_alpha]


@pytest.mark.parametrize("name", ["fleiss_1971_diagnoses", "fleiss_wikipedia"])
def test_fleiss_kappa_matches_the_published_value(name):
    case = vector(name)

    assert fleiss_kappa(case["counts"]).value == pytest.approx(case["expected"]["fleiss"], abs=1e-6)
    if "randolph" in case["expected"]:
        assert brennan_prediger(case["counts"]).value == pytest.approx(
            case["expected"]["randolph"], abs=1e-6
        )


@pytest.mark.parametrize("name", ["krippendorff_2011_C", "binary_3x60"])
def test_chance_corrected_coefficients_match_irrcac(name):
    case = vector(name)
    counts, _ = count_rows(case["data"])
    expected = case.get("irrCAC") or case["irrCAC_complete_rows"]
    if name == "binary_3x60":
        counts = counts[counts.sum(axis=1) == 3]

    for coefficient, key in [(fleiss_kappa, "fleiss"), (gwet_ac, "gwet"), (brennan_prediger, "bp")]:
        value = expected[key]["coefficient_value"]
        assert coefficient(counts).value == pytest.approx(value, abs=1e-5)
    assert percent_agreement(counts).value == pytest.approx(expected["gwet"]["pa"], abs=1e-5)


@given(st.integers(0, 2**32 - 1))
def test_percent_agreement_is_the_mean_over_items_of_agreeing_pairs(seed):
    votes = random_votes(np.random.default_rng(seed), n_items=8, n_annotators=5, answered=0.5)

    result = percent_agreement(votes.counts())

    shares = []
    for item in range(8):
        choices = votes.choice[votes.item == item]
        pairs = [(a, b) for k, a in enumerate(choices) for b in choices[k + 1 :]]
        if pairs:
            shares.append(np.mean([a == b for a, b in pairs]))
    if shares:
        assert result.value == pytest.approx(np.mean(shares))
    else:
        assert (result.value, result.reason) == (None, "no_pairs")


@given(st.integers(0, 2**32 - 1), st.sampled_from(["linear", "quadratic", "ordinal"]))
def test_ac2_matches_its_definition_pair_by_pair(seed, weights):
    counts = np.random.default_rng(seed).multinomial(3, [0.1, 0.2, 0.3, 0.25, 0.15], 6)

    def weight(a, b):
        d = abs(a - b)
        return {
            "linear": 1 - d / 4,
            "quadratic": 1 - d * d / 16,
            "ordinal": 1 - d * (d + 1) / 2 / 10,
        }[weights]

    observed = []
    for row in counts:
        values = np.repeat(np.arange(5), row)
        observed.append(
            np.mean([weight(a, b) for i, a in enumerate(values) for b in values[i + 1 :]])
        )
    share = (counts / 3).mean(axis=0)
    total = sum(weight(a, b) for a in range(5) for b in range(5))
    chance = total / 20 * (share * (1 - share)).sum()
    expected = (np.mean(observed) - chance) / (1 - chance)
    assert gwet_ac(counts, weights=weights).value == pytest.approx(expected, abs=1e-12)


def test_bands_have_the_edges_of_the_scale():
    values = [[1, 20, 21, 40, 41, 60, 61, 80, 81, 100, np.nan, np.nan]]
    votes = Votes.from_matrix([[0] * 12], values)

    assert certainty_band_counts(votes).tolist() == [[2, 2, 2, 2, 2]]


@given(st.integers(0, 2**32 - 1))
def test_cohen_matches_scikit_learn_and_statsmodels(seed):
    from sklearn.metrics import cohen_kappa_score

    rng = np.random.default_rng(seed)
    one, other = rng.integers(-1, 3, (2, 30))
    other = np.where(rng.random(30) < 0.5, one, other)
    both = (one >= 0) & (other >= 0)

    kappa = cohen_kappa(one, other, n_options=3)

    table = np.zeros((3, 3))
    np.add.at(table, (one[both], other[both]), 1)
    oracle = inter_rater.cohens_kappa(table)
    assert kappa.value == pytest.approx(cohen_kappa_score(one[both], other[both]), abs=1e-9)
    assert kappa.interval.low == pytest.approx(max(oracle.kappa_low, -1), abs=1e-9)
    assert kappa.interval.high == pytest.approx(min(oracle.kappa_upp, 1), abs=1e-9)
    assert cohen_kappa(other, one, n_options=3).value == pytest.approx(kappa.value)


def test_cohen_is_undefined_where_both_give_one_answer_and_zero_where_one_does():
    assert cohen_kappa([0, 0, 0], [0, 0, 0]).reason == "no_variation"
    assert cohen_kappa([0, 0, 0], [0, 1, 0]).value == 0
    assert cohen_kappa([0, -1], [-1, 0]).reason == "too_few_items"


@pytest.mark.parametrize("coefficient", NOMINAL)
@pytest.mark.parametrize(
    ("counts", "reasons"),
    [
        (np.zeros((0, 2), dtype=int), {"no_pairs", "too_few_items"}),
        ([[0, 0], [0, 0]], {"no_pairs", "too_few_items"}),
        ([[1, 0], [0, 1], [1, 0]], {"no_pairs", "too_few_items"}),
        ([[2, 1]], {"too_few_items", None}),
        ([[3, 0], [3, 0]], {"no_variation", None}),
        ([[3, 0, 0], [1, 1, 0], [0, 0, 0], [1, 0, 0]], {None}),
    ],
    ids=["nothing", "no votes", "single votes", "one item", "one option", "ragged"],
)
def test_poor_data_give_a_reason_and_never_a_number_that_is_none(coefficient, counts, reasons):
    result = coefficient(counts, n_draws=50, rng=np.random.default_rng(0))

    assert result.reason in reasons
    assert (result.value is None) == (result.reason is not None)
    if result.value is not None:
        assert np.isfinite(result.value)
        assert (result.interval is None) == (result.interval_reason is not None)


def test_accuracy_alone_explains_little_of_the_papers_agreement():
    assert expected_agreement(0.596) == pytest.approx(0.518, abs=5e-4)
    assert expected_agreement(1 / 3, n_options=3) == pytest.approx(1 / 3)
    assert expected_majority_accuracy(0.596) == pytest.approx(
        vector("majority_expected_accuracy")["independent p=.596,k=3"], abs=1e-12
    )


def test_the_stereotype_model_predicts_the_papers_majority():
    model = shared_stereotype(0.597, 0.596)

    assert model.follows == pytest.approx(0.720, abs=5e-4)
    assert model.right == pytest.approx(0.718, abs=5e-4)
    assert model.majority_accuracy.value == pytest.approx(0.635, abs=5e-4)


@given(st.floats(0.51, 1), st.floats(0, 1), st.sampled_from([1, 3, 5, 9]))
def test_the_stereotype_model_recovers_what_it_was_made_of(follows, right, k):
    agreement = follows**2 + (1 - follows) ** 2
    accuracy = right * follows + (1 - right) * (1 - follows)

    model = shared_stereotype(agreement, min(accuracy, 1.0), n_annotators=k)

    m = expected_majority_accuracy(follows, n_annotators=k)
    assert model.follows == pytest.approx(follows, abs=1e-6)
    assert model.right == pytest.approx(right, abs=1e-5)
    assert model.majority_accuracy.value == pytest.approx(
        right * m + (1 - right) * (1 - m), abs=1e-5
    )


@given(st.floats(0.5, 1), st.floats(0, 1), st.lists(st.integers(1, 6), min_size=1, max_size=5))
def test_the_majority_of_a_shared_guess_has_as_many_people_as_each_item(follows, right, answers):
    hits = decided = 0.0
    for n in answers:
        for votes in itertools.product((True, False), repeat=n):
            chance = follows ** sum(votes) * (1 - follows) ** (n - sum(votes))
            if 2 * sum(votes) != n:
                decided += chance
                hits += chance * (right if 2 * sum(votes) > n else 1 - right)

    assert guessed_majority(follows, right, answers) == pytest.approx(hits / decided)


@pytest.mark.parametrize(("agreement", "accuracy"), [(0.4, 0.5), (0.5, 0.5), (0.6, 0.95)])
def test_a_model_that_cannot_hold_says_so(agreement, accuracy):
    model = shared_stereotype(agreement, accuracy)

    assert (model.follows, model.right, model.reason) == (None, None, "not_identified")
    assert model.majority_accuracy.reason == "not_identified"


def test_coefficients_of_many_items_need_no_matrix_of_items_by_items():
    counts = np.tile([[3, 0], [2, 1]], (100_000, 1))

    for coefficient in (gwet_ac, brennan_prediger):
        assert coefficient(counts, n_draws=100, rng=np.random.default_rng(1)).interval is not None
