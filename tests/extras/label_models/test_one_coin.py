import numpy as np
import pytest
from scipy import optimize

from analysis.stats import Votes
from extras.label_models.stats import dawid_skene, one_coin


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


@pytest.mark.nightly
def test_the_fit_is_the_maximum_that_a_general_optimiser_finds():
    _, votes = simulated(np.random.default_rng(1), 50, [0.9, 0.75, 0.6, 0.8])
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


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"prior": (-1, 1)}, "`prior` must not be negative"),
        ({"max_iterations": 0}, "`max_iterations`"),
    ],
)
def test_arguments_that_make_no_sense_are_refused(given, words):
    with pytest.raises(ValueError, match=words):
        one_coin(Votes.from_matrix([[0]]), **given)
