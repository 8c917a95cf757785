import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import optimize

from analysis.stats import Votes, majority_vote
from extras.label_models.stats import dawid_skene, one_coin
from tests.analysis.stats.reference import random_votes, shuffled, spread_design, swapped


def simulated(rng, n_items, accuracies, n_options=2):
    truth = rng.integers(0, n_options, n_items)
    shape = (n_items, len(accuracies))
    wrong = (truth[:, None] + rng.integers(1, n_options, shape)) % n_options
    right = rng.random(shape) < accuracies
    return truth, Votes.from_matrix(np.where(right, truth[:, None], wrong), n_options=n_options)


def log_likelihood(votes, priors, accuracy):
    """Written out vote by vote."""
    total = 0.0
    for i in range(votes.n_items):
        rows = votes.item == i
        if not rows.any():
            continue
        a = accuracy[votes.annotator[rows]]
        total += np.log(
            sum(
                priors[q]
                * np.prod(np.where(votes.choice[rows] == q, a, (1 - a) / (votes.n_options - 1)))
                for q in range(votes.n_options)
            )
        )
    return total


def test_the_fit_is_the_maximum_that_a_general_optimiser_finds():
    _, votes = simulated(np.random.default_rng(1), 80, [0.9, 0.75, 0.6, 0.8])
    fitted = one_coin(votes, prior=(0, 0))

    def loss(x):
        p = 1 / (1 + np.exp(-x))
        return -log_likelihood(votes, np.array([p[0], 1 - p[0]]), p[1:])

    start = np.log(0.7 / 0.3) * np.array([0, 1, 1, 1, 1])
    best = optimize.minimize(
        loss,
        start,
        method="Nelder-Mead",
        options={"xatol": 1e-7, "fatol": 1e-10, "maxiter": 20_000, "maxfev": 20_000},
    )

    assert fitted.converged
    assert fitted.log_likelihood == pytest.approx(-best.fun, abs=1e-6)
    found = 1 / (1 + np.exp(-best.x))
    assert fitted.accuracy == pytest.approx(found[1:], abs=1e-3)
    assert fitted.log_likelihood == pytest.approx(
        log_likelihood(votes, fitted.priors, fitted.accuracy)
    )


@pytest.mark.parametrize("n_options", [2, 3])
def test_planted_accuracies_are_found_again(n_options):
    accuracies = [0.95, 0.85, 0.7, 0.6, 0.5]
    truth, votes = simulated(np.random.default_rng(2), 4000, accuracies, n_options)

    fitted = one_coin(votes)

    assert fitted.accuracy == pytest.approx(accuracies, abs=0.03)
    plain = majority_vote(votes).answer
    assert np.mean(fitted.answer == truth) > np.mean(plain == truth)


@pytest.mark.slow
def test_with_thirty_answers_each_the_prior_finds_accuracies_that_likelihood_alone_does_not():
    item, annotator = spread_design()
    rng = np.random.default_rng(3)
    errors, right = [], []
    for _ in range(15):
        accuracies = rng.uniform(0.55, 0.95, 30)
        truth = rng.integers(0, 2, 300)
        correct = rng.random(900) < accuracies[annotator]
        votes = Votes.from_long(item, annotator, np.where(correct, truth[item], 1 - truth[item]))
        fits = [one_coin(votes, prior=p, tolerance=1e-4) for p in ((8, 4), (0.01, 0.01))]
        errors.append([np.mean((fit.accuracy - accuracies) ** 2) for fit in fits])
        answers = [fit.answer for fit in fits] + [majority_vote(votes).answer]
        right.append([np.mean(answer == truth) for answer in answers])

    (with_prior, alone), (share, share_alone, majority) = (
        np.mean(values, axis=0) for values in (errors, right)
    )
    assert with_prior < 0.6 * alone
    assert share > share_alone + 0.01
    assert share == pytest.approx(majority, abs=0.015)


@given(st.integers(0, 10_000), st.integers(2, 3))
def test_order_names_and_swapped_responses_change_what_they_should(seed, n_options):
    rng = np.random.default_rng(seed)
    votes = random_votes(rng, n_options=n_options)
    moved, items = shuffled(votes, rng)

    # Where steps are slow, each fit stops a little before the same end.
    fitted = one_coin(votes, tolerance=1e-8)
    other = one_coin(moved, tolerance=1e-8)
    turned = one_coin(swapped(votes), tolerance=1e-8)

    assert np.all((fitted.posterior >= 0) & np.isfinite(fitted.posterior))
    np.testing.assert_allclose(other.posterior[items], fitted.posterior, atol=1e-5)
    swap = [1, 0, 2][:n_options]
    np.testing.assert_allclose(turned.posterior[:, swap], fitted.posterior, atol=1e-5)


def test_items_and_annotators_without_votes_stay_without():
    fitted = one_coin(Votes.from_matrix([[0, -1], [-1, -1], [0, -1]]))

    assert fitted.answer.tolist() == [0, -1, 0]
    assert np.isnan(fitted.accuracy).tolist() == [False, True]
    nobody = one_coin(Votes.from_long([], [], [], n_items=2))
    assert (nobody.answer.tolist(), nobody.priors.tolist()) == ([-1, -1], [0.5, 0.5])


def test_bad_input_is_refused():
    votes = Votes.from_matrix([[0]])
    with pytest.raises(ValueError, match="`prior` must not be negative"):
        one_coin(votes, prior=(-1, 1))
    with pytest.raises(ValueError, match="`max_iterations`"):
        one_coin(votes, max_iterations=0)


def test_confusion_matrices_say_how_much_a_choice_tells():
    rng = np.random.default_rng(4)
    truth = rng.integers(0, 2, 6000)
    right = rng.random((6000, 2)) < [0.9, 0.9]
    known = np.where(right, truth[:, None], 1 - truth[:, None])
    always_wrong = 1 - truth
    constant = np.zeros(6000, dtype=int)
    labels = np.column_stack([known, truth, truth, always_wrong, constant])

    fitted = dawid_skene(Votes.from_matrix(labels))

    def entropy(p):
        return -p * np.log2(p) - (1 - p) * np.log2(1 - p)

    expected = [1 - entropy(0.9)] * 2 + [1, 1, 1, 0]
    assert fitted.informativeness == pytest.approx(expected, abs=0.03)
    assert fitted.confusion[:, 0, 0] == pytest.approx([0.9, 0.9, 1, 1, 0, 1], abs=0.03)
