from itertools import pairwise

import numpy as np
import pytest

from analysis.stats import Votes, majority_vote
from extras.label_models.stats import dawid_skene
from extras.label_models.stats.fitting import kinds_of
from tests.analysis.stats.reference import random_votes, vector


def anaesthetists(first_only):
    """The 45 patients of Dawid and Skene: observer 1 read each three times."""
    item, annotator, choice = [], [], []
    for patient, observers in enumerate(vector("dawid_skene_1979")["data"]):
        for observer, labels in enumerate(observers):
            readings = labels if isinstance(labels, list) else [labels]
            for label in readings[: 1 if first_only else None]:
                item.append(patient)
                annotator.append(observer)
                choice.append(label - 1)
    return Votes.from_long(item, annotator, choice, n_options=4)


def test_dawid_skene_reproduces_the_anaesthetists():
    expected = vector("dawid_skene_1979")["expected"]

    result = dawid_skene(anaesthetists(first_only=False), smoothing=0)

    assert result.converged
    assert result.priors == pytest.approx(expected["class_priors"], abs=1e-6)
    assert result.log_likelihood == pytest.approx(expected["loglik"], abs=1e-6)
    assert (result.answer + 1).tolist() == expected["labels"]
    np.testing.assert_allclose(result.confusion[0], expected["observer1_confusion"], atol=1e-6)
    np.testing.assert_allclose(result.posterior[:5], expected["posteriors_first5"], atol=1e-6)


def test_dawid_skene_reproduces_the_first_readings_alone():
    expected = vector("dawid_skene_first_label_only")

    result = dawid_skene(anaesthetists(first_only=True), smoothing=0)

    assert result.priors == pytest.approx(expected["priors"], abs=1e-5)
    assert result.log_likelihood == pytest.approx(expected["loglik"], abs=1e-5)


def test_dawid_skene_weighs_a_good_annotator_above_two_who_guess():
    rng = np.random.default_rng(11)
    truth = rng.integers(0, 2, 2000)
    right = rng.random((2000, 5)) < [0.95, 0.9, 0.55, 0.55, 0.55]
    votes = Votes.from_matrix(np.where(right, truth[:, None], 1 - truth[:, None]))

    fitted = dawid_skene(votes)
    majority = majority_vote(votes)

    assert (fitted.answer == truth).mean() > (majority.answer == truth).mean() + 0.03
    diagonal = fitted.confusion[:, [0, 1], [0, 1]].mean(axis=1)
    np.testing.assert_allclose(diagonal, [0.95, 0.9, 0.55, 0.55, 0.55], atol=0.06)


def test_dawid_skene_never_lowers_the_likelihood():
    votes = random_votes(np.random.default_rng(2), n_items=50, n_options=3)

    path = [dawid_skene(votes, smoothing=0, max_iterations=n).log_likelihood for n in range(1, 25)]

    assert all(later >= earlier - 1e-9 for earlier, later in pairwise(path))


def test_dawid_skene_names_a_class_that_it_explained_away():
    votes = Votes.from_matrix([[0, 0, 0]] * 30 + [[0, 0, 1]])

    assert dawid_skene(votes).collapsed == (1,)


@pytest.mark.parametrize(
    "votes",
    [
        Votes.from_long([], [], []),
        Votes.from_matrix([[-1, -1], [-1, -1]]),
        Votes.from_matrix([[1]]),
        Votes.from_matrix([[0, 0], [0, 0]], n_options=3),
        Votes.from_matrix([[0, 1], [-1, -1]]),
    ],
    ids=["nothing", "no votes", "one vote", "one option", "an item without votes"],
)
@pytest.mark.parametrize("smoothing", [0, 0.01])
def test_poor_data_give_finite_estimates(votes, smoothing):
    fitted = dawid_skene(votes, smoothing=smoothing)

    assert np.isfinite(fitted.posterior).all()
    assert np.isfinite(fitted.confusion).all()
    assert np.isfinite(fitted.log_likelihood)
    assert (fitted.answer[votes.counts().sum(axis=1) == 0] == -1).all()


def test_units_with_the_same_cells_are_one_kind():
    cells = {0: [2, 1], 1: [1, 2], 2: [1], 4: [1, 1, 2], 5: [1], 6: [1, 1]}
    pairs = [(unit, cell) for unit, own in cells.items() for cell in own]
    unit, cell = np.array(sorted(pairs, key=lambda pair: (pair[1], -pair[0]))).T

    kind, n_kinds = kinds_of(unit, cell, 7)

    assert n_kinds == 4
    assert (kind[0], kind[2], kind[3]) == (kind[1], kind[5], -1)
    assert sorted(kind[[0, 2, 4, 6]]) == [0, 1, 2, 3]
