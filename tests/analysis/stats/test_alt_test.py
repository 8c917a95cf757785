import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.multitest import multipletests

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


def brute_force(labels, model, epsilon, min_items):
    """The procedure in words, one annotator and one item at a time."""
    p_values, wins = [], []
    for j in range(labels.shape[1]):
        human, machine = [], []
        for i in range(labels.shape[0]):
            others = [x for k, x in enumerate(labels[i]) if k != j and x >= 0]
            if labels[i, j] < 0 or model[i] < 0 or not others:
                continue
            agree_human = np.mean([x == labels[i, j] for x in others])
            agree_model = np.mean([x == model[i] for x in others])
            human.append(agree_human >= agree_model)
            machine.append(agree_model >= agree_human)
        if len(human) < min_items:
            continue
        diff = np.array(human, dtype=float) - np.array(machine, dtype=float)
        wins.append(np.mean(machine))
        if np.ptp(diff) == 0:
            p_values.append(0.0 if diff[0] < epsilon else 1.0)
        else:
            p_values.append(stats.ttest_1samp(diff, epsilon, alternative="less").pvalue)
    if not p_values:
        return None, None, []
    rejected = multipletests(p_values, alpha=0.05, method="fdr_by")[0]
    return rejected.mean(), np.mean(wins), p_values


@given(st.integers(0, 2**32 - 1), st.integers(2, 5), st.sampled_from([0.0, 0.1, 0.2]))
@settings(max_examples=40, deadline=None)
def test_any_ragged_table_gives_what_the_procedure_in_words_gives(seed, n_annotators, epsilon):
    rng = np.random.default_rng(seed)
    labels = rng.integers(-1, 3, (25, n_annotators))
    model = rng.integers(-1, 3, 25)

    result = alt_test(Votes.from_matrix(labels, n_options=3), model, epsilon=epsilon, min_items=5)

    omega, rho, p_values = brute_force(labels, model, epsilon, 5)
    assert result.omega == (None if omega is None else pytest.approx(omega))
    assert result.rho == (None if rho is None else pytest.approx(rho))
    assert [test.p for test in result.annotators] == pytest.approx(p_values, abs=1e-9)


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


def test_a_larger_granted_advantage_never_lowers_the_winning_rate():
    votes = Votes.from_matrix(TOY["labels"])

    rates = [alt_test(votes, TOY["llm"], epsilon=e).omega for e in (0, 0.05, 0.1, 0.15, 0.2, 0.3)]

    assert (np.diff(np.array(rates, dtype=float)) >= 0).all()


def test_the_names_of_the_options_and_the_order_of_the_rows_do_not_matter():
    labels, model = np.array(TOY["labels"]), np.array(TOY["llm"])
    order = np.random.default_rng(1).permutation(len(labels))

    plain = alt_test(Votes.from_matrix(labels), model, epsilon=0.1)
    renamed = alt_test(Votes.from_matrix(1 - labels[order]), 1 - model[order], epsilon=0.1)

    assert renamed.omega == plain.omega
    assert [t.p for t in renamed.annotators] == pytest.approx([t.p for t in plain.annotators])


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
@settings(max_examples=20, deadline=None)
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


def test_bad_input_is_refused():
    votes = Votes.from_matrix([[0, 1]] * 30)
    with pytest.raises(ValueError, match="must have shape"):
        alt_test(votes, [0] * 29, epsilon=0.1)
    with pytest.raises(ValueError, match=r"must lie in -1\.\.1"):
        alt_test(votes, [2] * 30, epsilon=0.1)
    with pytest.raises(ValueError, match="epsilon"):
        alt_test(votes, [0] * 30, epsilon=1.0)
    twice = Votes.from_long([0, 0], [0, 0], [0, 1])
    with pytest.raises(ValueError, match="several choices"):
        alt_test(twice, [0], epsilon=0.1)


def test_the_advantage_of_an_answer_has_the_sign_of_the_better_agreement():
    votes = Votes.from_matrix([[0, 0, 1], [1, 0, 0]])

    advantage, usable = human_advantage(votes, [0, 1])

    # On the first item the last annotator agrees with nobody, the model with both others.
    assert advantage.reshape(2, 3).tolist() == [[0.0, 0.0, -1.0], [0.0, 0.0, 0.0]]
    assert usable.all()
