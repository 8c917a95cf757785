import numpy as np
import pytest
from sklearn.metrics import cohen_kappa_score

from analysis.stats import Votes
from analysis.stats.core.proportions import wilson_proportion
from extras.likeness.stats import (
    human_likeness,
    human_likeness_of_several,
)
from extras.likeness.tiers import _of_run
from tests.analysis.stats.reference import spread_design


def raters(rng, truth, accuracies):
    right = rng.random((truth.size, len(accuracies))) < np.array(accuracies)
    return np.where(right, truth[:, None], 1 - truth[:, None])


def test_kappas_are_those_of_scikit_learn():
    rng = np.random.default_rng(1)
    labels, model = rng.integers(0, 3, (80, 4)), rng.integers(0, 3, 80)
    labels[:10, 0] = -1
    votes = Votes.from_matrix(labels, n_options=3)

    result = human_likeness(votes, model, rng=rng, n_draws=20)

    def kappa(a, b):
        both = (a >= 0) & (b >= 0)
        return cohen_kappa_score(a[both], b[both])

    own = [
        np.mean([kappa(labels[:, j], labels[:, k]) for k in range(4) if k != j]) for j in range(4)
    ]
    with_model = [kappa(labels[:, j], model) for j in range(4)]
    assert list(result.kappas.values()) == pytest.approx(own)
    assert result.model_kappa == pytest.approx(np.mean(with_model))
    assert result.z == pytest.approx((np.mean(with_model) - np.mean(own)) / np.std(own, ddof=1))
    assert result.difference.value == pytest.approx(np.mean(with_model) - np.mean(own))
    assert result.n_pairs == 6


def test_a_judge_that_may_guess_is_not_called_human_like():
    """30 people answer 30 of 300 items each, right on about 72 %; the judge is right on half."""
    rng = np.random.default_rng(4)
    truth, found = rng.integers(0, 2, 300), set()
    half = wilson_proportion(np.arange(300) % 2).interval
    entry = {"clusters": {"ci": None}, "ci": [half.low, half.high]}
    for _ in range(20):
        people = np.full((300, 30), -1)
        skill = rng.normal(0.72, 0.06, 30)
        for number, item in enumerate(np.concatenate([rng.permutation(300) for _ in range(3)])):
            errs = rng.random() > skill[number // 30]
            people[item, number // 30] = truth[item] ^ errs
        judge = truth ^ (rng.permutation(300) % 2)
        likeness = human_likeness(Votes.from_matrix(people), judge, rng=rng, n_draws=50)
        kappas = _of_run(likeness, entry, options=2)["human_likeness"]
        found.add((likeness.label, kappas["label"], kappas.get("label_reason")))

    assert found == {
        ("below human", "below human", None),
        ("human-like", None, "at_chance"),
    }


def test_labels_are_given_with_ten_people_and_not_with_nine():
    rng = np.random.default_rng(3)
    truth = rng.integers(0, 2, 400)
    accuracies = [0.7, 0.72, 0.75, 0.78, 0.8, 0.82, 0.74, 0.76, 0.79, 0.71]
    people = raters(rng, truth, accuracies)

    def label(labels, model):
        votes = Votes.from_matrix(labels)
        return human_likeness(votes, model, rng=rng, n_draws=20).label

    assert label(people, truth) == "super-consistent"
    assert label(people, rng.integers(0, 2, 400)) == "below human"
    assert label(people, raters(rng, truth, [0.765])[:, 0]) == "human-like"
    assert label(people[:, :9], truth) is None


def test_pairs_who_share_too_few_items_are_skipped_and_counted():
    labels = np.random.default_rng(5).integers(0, 2, (60, 3))
    labels[29:, 2] = -1

    result = human_likeness(
        Votes.from_matrix(labels), labels[:, 0], rng=np.random.default_rng(0), n_draws=20
    )

    assert (result.n_pairs, result.n_pairs_skipped, result.n_people) == (1, 2, 2)
    assert (result.z, result.reason) == (None, "too_few_annotators")
    assert result.difference.value is not None


def test_several_models_at_once_get_what_each_gets_alone():
    rng = np.random.default_rng(8)
    truth = rng.integers(0, 2, 90)
    votes = Votes.from_matrix(raters(rng, truth, [0.8, 0.7, 0.9, 0.75]))
    silent = np.full(90, -1)
    models = [raters(rng, truth, [0.85])[:, 0], silent, 1 - truth]

    several = human_likeness_of_several(votes, models, rng=np.random.default_rng(2), n_draws=300)

    for model, result in zip(models, several, strict=True):
        alone = human_likeness(votes, model, rng=np.random.default_rng(2), n_draws=300)
        assert result == alone
    assert several[1].reason == "no_pairs"
    assert human_likeness_of_several(votes, [], rng=rng) == ()


def test_thirty_people_with_thirty_random_items_each_have_a_likeness():
    """The seats of 300 items with three answers each are filled at random, so pairs share few."""
    rng = np.random.default_rng(11)
    item = np.repeat(np.arange(300), 3)
    person = spread_design()[1]
    truth = rng.integers(0, 2, 300)
    labels = np.full((300, 30), -1)
    right = rng.random(900) < rng.uniform(0.6, 0.9, 30)[person]
    labels[item, person] = np.where(right, truth[item], 1 - truth[item])
    model = np.where(rng.random(300) < 0.75, truth, 1 - truth)
    model[::40] = -1

    result = human_likeness(Votes.from_matrix(labels), model, rng=rng, n_draws=50)

    def of(j):
        own = np.flatnonzero(labels[:, j] >= 0)
        pairs = [
            (labels[i, j], labels[i, k])
            for i in own
            for k in np.flatnonzero(labels[i] >= 0)
            if k != j
        ]
        both = own[model[own] >= 0]
        return cohen_kappa_score(*zip(*pairs, strict=True)), cohen_kappa_score(
            labels[both, j], model[both]
        )

    expected = np.array([of(j) for j in range(30)])
    assert list(result.kappas.values()) == pytest.approx(expected[:, 0])
    assert result.model_kappa == pytest.approx(expected[:, 1].mean())
    gap = expected[:, 1].mean() - expected[:, 0].mean()
    assert result.z == pytest.approx(gap / expected[:, 0].std(ddof=1))
    assert result.label == "human-like"
    assert result.n_pairs == 30
