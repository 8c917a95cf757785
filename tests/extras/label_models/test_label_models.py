import numpy as np
import pytest
from scipy import optimize
from scipy.special import digamma

from analysis.stats import Votes
from extras.label_models.stats import dawid_skene, glad, mace, one_coin


def crowd(rng, n_items, competence, n_options=2, favourite=0):
    """Annotators who know the truth or else choose their favourite option."""
    truth = rng.integers(0, n_options, n_items)
    knows = rng.random((n_items, len(competence))) < competence
    return truth, Votes.from_matrix(np.where(knows, truth[:, None], favourite), n_options=n_options)


def mace_by_hand(votes, rounds):
    """Variational Bayes written out vote by vote, with the default priors."""
    rows = list(
        zip(votes.item.tolist(), votes.annotator.tolist(), votes.choice.tolist(), strict=True)
    )
    options = range(votes.n_options)
    shares = [[0.0] * votes.n_options for _ in range(votes.n_items)]
    for i, _, c in rows:
        shares[i][c] += 1
    posterior = [[s / sum(row) for s in row] for row in shares]
    know = [0.5] * votes.n_annotators
    spam_weight = [0.5] * votes.n_annotators
    spam = [[1 / votes.n_options] * votes.n_options for _ in range(votes.n_annotators)]
    for _ in range(rounds):
        known = [0.0] * votes.n_annotators
        total = [0] * votes.n_annotators
        counts = [[10.0] * votes.n_options for _ in range(votes.n_annotators)]
        for i, j, c in rows:
            z = know[j] / (know[j] + spam_weight[j] * spam[j][c]) * posterior[i][c]
            known[j] += z
            total[j] += 1
            counts[j][c] += 1 - z
        for j in range(votes.n_annotators):
            know[j] = np.exp(digamma(known[j] + 0.5) - digamma(total[j] + 1))
            spam_weight[j] = np.exp(digamma(total[j] - known[j] + 0.5) - digamma(total[j] + 1))
            spam[j] = [np.exp(digamma(c) - digamma(sum(counts[j]))) for c in counts[j]]
        for i in range(votes.n_items):
            weight = [1.0] * votes.n_options
            for q in options:
                for item, j, c in rows:
                    if item == i:
                        weight[q] *= know[j] * (c == q) + spam_weight[j] * spam[j][c]
            posterior[i] = [w / sum(weight) for w in weight]
    return np.array(posterior), np.array(known)


@pytest.mark.parametrize("n_options", [2, 3])
def test_mace_ends_where_variational_bayes_vote_by_vote_does(n_options):
    _, votes = crowd(np.random.default_rng(1), 15, [0.9, 0.6, 0.2, 0.5], n_options)

    posterior, known = mace_by_hand(votes, 400)
    fitted = mace(votes)

    assert fitted.converged
    np.testing.assert_allclose(fitted.posterior, posterior, atol=1e-7)
    np.testing.assert_allclose(fitted.competence, (known + 0.5) / (15 + 1), atol=1e-7)


def glad_data(rng, n_items, ability, easy=3.0, hard=0.3):
    truth = rng.integers(0, 2, n_items)
    ease = np.where(np.arange(n_items) % 2 == 0, easy, hard)
    right = rng.random((n_items, len(ability))) < 1 / (1 + np.exp(-np.outer(ease, ability)))
    return truth, ease, Votes.from_matrix(np.where(right, truth[:, None], 1 - truth[:, None]))


def test_glad_ends_where_the_penalised_likelihood_has_no_slope():
    _, _, votes = glad_data(np.random.default_rng(3), 12, [2.0, 1.0, 0.5, 1.5])
    fitted = glad(votes)

    def objective(x):
        ability, log_ease = x[:4], x[4:]
        right = 1 / (1 + np.exp(-ability[votes.annotator] * np.exp(log_ease)[votes.item]))
        total = 0.0
        for i in range(votes.n_items):
            rows = votes.item == i
            total += np.log(
                sum(
                    0.5 * np.prod(np.where(votes.choice[rows] == q, right[rows], 1 - right[rows]))
                    for q in (0, 1)
                )
            )
        return total - ((ability - 1) ** 2).sum() / 2 - (log_ease**2).sum() / 2

    x = np.concatenate([fitted.ability, np.log(fitted.ease)])
    slope = optimize.approx_fprime(x, objective, 1e-6)
    assert fitted.converged
    np.testing.assert_allclose(slope, 0, atol=1e-4)
    assert objective(x) > objective(np.concatenate([np.ones(4), np.zeros(12)]))


@pytest.mark.parametrize("model", [mace, glad, one_coin])
def test_nobody_and_nothing_stay_without_answer(model):
    fitted = model(Votes.from_matrix([[0, -1], [-1, -1], [0, -1]]))
    nobody = model(Votes.from_long([], [], [], n_items=2))

    assert fitted.answer.tolist() == [0, -1, 0]
    people = getattr(fitted, {mace: "competence", glad: "ability", one_coin: "accuracy"}[model])
    assert np.isnan(people).tolist() == [False, True]
    assert (nobody.answer.tolist(), nobody.posterior.tolist()) == ([-1, -1], [[0.5, 0.5]] * 2)


def test_bad_input_is_refused():
    votes = Votes.from_matrix([[0]])
    with pytest.raises(ValueError, match="Priors must be positive"):
        mace(votes, prior=(0, 1))
    with pytest.raises(ValueError, match="`strength` must be positive"):
        glad(votes, strength=0)
    for model in (mace, glad):
        with pytest.raises(ValueError, match="`max_iterations`"):
            model(votes, max_iterations=0)


@pytest.mark.nightly
def test_answers_are_those_of_steps_without_end():
    """A small study in which a hundred plain steps leave several answers on the wrong side."""
    votes = uneven_crowd(np.random.default_rng(9))

    fitted = dawid_skene(votes)

    assert fitted.converged
    assert fitted.n_iterations < 1000
    far, near = plain_steps(votes, 20_000), plain_steps(votes, 100)
    np.testing.assert_allclose(fitted.posterior, far, atol=1e-5)
    assert (fitted.answer == far.argmax(axis=1)).all()
    assert (near.argmax(axis=1) != far.argmax(axis=1)).any()


def uneven_crowd(rng):
    """240 items, three answers each, 24 people some of whom hardly look."""
    truth = rng.integers(0, 2, 240)
    accuracy = rng.uniform(0.45, 0.9, 24)
    people = np.argsort(rng.random((240, 24)), axis=1)[:, :3]
    right = rng.random((240, 3)) < accuracy[people]
    choice = np.where(right, truth[:, None], 1 - truth[:, None])
    return Votes.from_long(np.repeat(np.arange(240), 3), people.ravel(), choice.ravel())


def plain_steps(votes, n_steps):
    """Posterior after so many plain steps of Dawid and Skene's, with matrices of 0 and 1."""
    said = np.zeros((2, votes.n_annotators, votes.n_items))
    said[votes.choice, votes.annotator, votes.item] = 1
    posterior = (said.sum(axis=1) / said.sum(axis=(0, 1))).T
    for _ in range(n_steps):
        expected = np.einsum("lji,iq->jql", said, posterior) + 0.01
        confusion = expected / expected.sum(axis=2, keepdims=True)
        joint = np.log(posterior.mean(axis=0)) + np.einsum("lji,jql->iq", said, np.log(confusion))
        posterior = np.exp(joint - joint.max(axis=1, keepdims=True))
        posterior /= posterior.sum(axis=1, keepdims=True)
    return posterior
