import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.stats import Votes, alt_test, alt_test_certainty, human_advantage
from tests.analysis.stats.reference import block_design, vector

TOY = vector("alt_test_toy")


@pytest.mark.parametrize("case", TOY["cases"])
def test_the_toy_case_gives_the_authors_winning_rate_advantage_and_p_values(case):
    result = alt_test(Votes.from_matrix(TOY["labels"]), TOY["llm"], epsilon=case["eps"])

    assert result.omega == pytest.approx(case["omega_ref"], abs=1e-12)
    assert result.rho == pytest.approx(case["rho_ref"], abs=1e-12)
    assert [test.p for test in result.annotators] == pytest.approx(case["own"]["p"], abs=1e-12)
    assert result.passed == (case["omega_ref"] >= 0.5)


def test_annotators_with_too_few_items_are_skipped_and_counted():
    labels = np.zeros((40, 3), dtype=int)
    labels[29:, 2] = -1

    result = alt_test(Votes.from_matrix(labels), [0] * 40, epsilon=0.1)

    assert [test.annotator for test in result.annotators] == [0, 1]
    assert result.n_skipped == 1


def test_when_everybody_is_skipped_there_is_no_winning_rate():
    result = alt_test(Votes.from_matrix([[0, 0, 1]] * 29), [0] * 29, epsilon=0.1)

    assert (result.omega, result.rho, result.passed) == (None, None, None)
    assert (result.reason, result.n_skipped) == ("too_few_items", 3)


def test_without_two_people_on_an_item_there_are_no_pairs():
    single = Votes.from_matrix([[0, -1], [-1, 1]] * 40)

    assert alt_test(single, [0] * 80, epsilon=0.1).reason == "no_pairs"
    assert alt_test(Votes.from_matrix([[0, 0]] * 40), [-1] * 40, epsilon=0.1).reason == "no_pairs"


def test_a_model_that_equals_everybody_wins_without_spread_unless_nothing_is_granted():
    votes = Votes.from_matrix([[0, 0, 0]] * 30)

    assert [t.p for t in alt_test(votes, [0] * 30, epsilon=0.1).annotators] == [0.0] * 3
    assert [t.p for t in alt_test(votes, [0] * 30, epsilon=0.0).annotators] == [1.0] * 3


def test_thirty_annotators_with_thirty_items_each_cannot_pass_against_equals():
    """The paper's layout sits on the minimum: a model as good as the people still fails."""
    rng = np.random.default_rng(2)
    item, annotator = block_design()
    truth = rng.integers(0, 2, 300)
    right = rng.random(item.size) < 0.6
    votes = Votes.from_long(item, annotator, np.where(right, truth[item], 1 - truth[item]))
    model = np.where(rng.random(300) < 0.62, truth, 1 - truth)

    result = alt_test(votes, model, epsilon=0.1)

    assert len(result.annotators) == 30
    assert result.passed is False


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=20)
def test_certainty_alignment_is_the_root_mean_squared_error_to_the_others(seed):
    rng = np.random.default_rng(seed)
    certainty = rng.integers(1, 101, (12, 4)).astype(float)
    certainty[rng.random((12, 4)) < 0.2] = np.nan
    model = rng.integers(1, 101, 12).astype(float)
    votes = Votes.from_matrix(np.zeros((12, 4), dtype=int), certainty)

    result = alt_test_certainty(votes, model, epsilon=0.1, min_items=2)

    for test in result.annotators:
        wins = []
        for i in range(12):
            others = np.delete(certainty[i], test.annotator)
            others = others[~np.isnan(others)]
            if np.isnan(certainty[i, test.annotator]) or not others.size:
                continue
            own = np.sqrt(np.mean((others - certainty[i, test.annotator]) ** 2))
            wins.append(np.sqrt(np.mean((others - model[i]) ** 2)) <= own + 1e-9)
        assert test.n_items == len(wins)
        assert test.model_wins == pytest.approx(np.mean(wins))


def test_the_advantage_of_an_answer_has_the_sign_of_the_better_agreement():
    votes = Votes.from_matrix([[0, 0, 1], [1, 0, 0]])

    advantage, usable = human_advantage(votes, [0, 1])

    # On the first item the last annotator agrees with nobody, the model with both others.
    assert advantage.reshape(2, 3).tolist() == [[0.0, 0.0, -1.0], [0.0, 0.0, 0.0]]
    assert usable.all()
