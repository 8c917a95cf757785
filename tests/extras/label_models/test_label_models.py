import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize, stats
from scipy.special import digamma

from analysis.stats import Votes, majority_vote
from extras.label_models.stats import dawid_skene, glad, mace
from tests.analysis.stats.reference import random_votes, shuffled, swapped


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


def test_no_step_of_mace_lowers_its_bound_so_that_extrapolations_can_be_judged_by_it():
    """The bound is that of one more step, written with the distributions of SciPy."""
    rng = np.random.default_rng(5)
    _, votes = crowd(rng, 60, [0.9, 0.7, 0.4, 0.1], favourite=1)
    steps = [mace(votes, max_iterations=n) for n in range(1, 12)]

    bounds = [mace_bound(votes, fitted) for fitted in steps]

    assert (np.diff(bounds) >= -1e-9).all()
    assert bounds[-1] > bounds[0] + 0.1


def beta_divergence(own, prior):
    """Of one beta distribution from another, by the midpoints of 40,000 strips."""
    p = stats.beta(*own).ppf((np.arange(2_000) + 0.5) / 2_000)
    return np.mean(stats.beta(*own).logpdf(p) - stats.beta(*prior).logpdf(p))


def mace_bound(votes, fitted):
    """Evidence less divergence at the counts that `fitted` ended with."""
    given = np.bincount(votes.annotator)
    known = fitted.competence * (given + 1) - 0.5
    counts = fitted.spam * ((given - known) + 10 * votes.n_options)[:, None]
    total = 0.0
    for k, n, own in zip(known, given, counts, strict=True):
        total -= beta_divergence(np.array([k + 0.5, n - k + 0.5]), np.array([0.5, 0.5]))
        total -= beta_divergence(own, np.full(own.size, 10.0))
    know = np.exp(digamma(known + 0.5) - digamma(given + 1))
    spamming = np.exp(digamma(given - known + 0.5) - digamma(given + 1))
    spam = np.exp(digamma(counts) - digamma(counts.sum(axis=1, keepdims=True)))
    for i in range(votes.n_items):
        rows = votes.item == i
        who, what = votes.annotator[rows], votes.choice[rows]
        total += np.log(
            np.mean(
                [
                    np.prod(know[who] * (what == q) + spamming[who] * spam[who, what])
                    for q in range(votes.n_options)
                ]
            )
        )
    return total


def test_mace_finds_the_spammers_and_does_not_believe_them():
    rng = np.random.default_rng(2)
    competence = [0.9, 0.85, 0.05, 0.05, 0.05]
    truth, votes = crowd(rng, 600, competence, n_options=3, favourite=1)

    fitted = mace(votes)

    assert fitted.converged
    assert fitted.competence == pytest.approx(competence, abs=0.12)
    assert fitted.spam[2:, 1].min() > 0.9
    plain = majority_vote(votes).answer
    assert np.mean(fitted.answer == truth) > np.mean(plain == truth) + 0.2


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


def test_glad_tells_able_people_from_others_and_easy_items_from_hard_ones():
    ability = np.array([2.5, 2.0, 1.5, 1.0, 0.8, 0.5, 0.2, 0.0])
    truth, ease, votes = glad_data(np.random.default_rng(4), 400, ability)

    fitted = glad(votes)

    assert np.corrcoef(fitted.ability, ability)[0, 1] > 0.85
    assert np.median(fitted.ease[ease > 1]) > 1.3 * np.median(fitted.ease[ease < 1])
    plain = majority_vote(votes).answer
    assert np.mean(fitted.answer == truth) > np.mean(plain == truth)


@pytest.mark.parametrize("model", [mace, glad])
@given(seed=st.integers(0, 10_000), n_options=st.integers(2, 3))
@settings(max_examples=6)
def test_order_names_and_swapped_responses_change_what_they_should(model, seed, n_options):
    rng = np.random.default_rng(seed)
    votes = random_votes(rng, n_items=10, n_annotators=4, n_options=n_options)
    moved, items = shuffled(votes, rng)

    fitted, other, turned = (model(v, max_iterations=5) for v in (votes, moved, swapped(votes)))

    assert np.isfinite(fitted.posterior).all()
    np.testing.assert_allclose(fitted.posterior.sum(axis=1), 1)
    np.testing.assert_allclose(other.posterior[items], fitted.posterior, atol=1e-4)
    swap = [1, 0, 2][:n_options]
    np.testing.assert_allclose(turned.posterior[:, swap], fitted.posterior, atol=1e-4)


@pytest.mark.parametrize("model", [mace, glad])
def test_nobody_and_nothing_stay_without_answer(model):
    fitted = model(Votes.from_matrix([[0, -1], [-1, -1], [0, -1]]))
    nobody = model(Votes.from_long([], [], [], n_items=2))

    assert fitted.answer.tolist() == [0, -1, 0]
    people = fitted.competence if model is mace else fitted.ability
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
