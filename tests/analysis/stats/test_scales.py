"""Agreement on more than two labels, against other implementations on random tables."""

import json
from pathlib import Path
from typing import Any

import krippendorff
import numpy as np
import pytest
from sklearn.metrics import cohen_kappa_score, precision_recall_fscore_support

from analysis.stats import (
    AnswerScale,
    Sharing,
    Votes,
    class_agreement,
    gwet_ac,
    intraclass_correlation,
    krippendorff_alpha,
    pooled_replacement_test,
    pooled_replacement_tests,
    weighted_kappa,
)

TABLES = range(40)


def table_of(seed, *, missing=0.3):
    """Options of items by people, -1 missing, and those of a judge who shares their signal."""
    rng = np.random.default_rng(seed)
    n, people, options = rng.integers(12, 40), rng.integers(3, 7), rng.integers(3, 8)
    signal = rng.integers(0, options, n)
    noise = rng.integers(-1, 2, (n, people + 1))
    table = np.clip(signal[:, None] + noise, 0, options - 1)
    votes = np.where(rng.random((n, people)) < missing, -1, table[:, :-1])
    votes[:2, :2] = [[0, options - 1], [0, 1]]
    return votes, table[:, -1], int(options)


def values_of(options):
    return np.cumsum(1 + np.arange(options) % 2).astype(float)


@pytest.mark.parametrize("seed", TABLES)
def test_coefficients_equal_those_of_other_programs(seed):
    table, judge, options = table_of(seed)
    votes = Votes.from_matrix(table, n_options=options)
    counts, index = votes.counts(), np.arange(options)
    squared = 1 - (index[:, None] - index) ** 2 / (options - 1) ** 2

    both = table[:, 0] >= 0
    one, other = table[both, 0], judge[both]
    for weights, name in ((squared, "quadratic"), (np.eye(options), None)):
        own = weighted_kappa(table[:, 0], judge, weights).value
        theirs = cohen_kappa_score(one, other, labels=index, weights=name)
        assert own == pytest.approx(theirs, abs=1e-12)

    reported = np.where(table >= 0, table, np.nan).T
    for level in ("nominal", "ordinal", "interval"):
        theirs = krippendorff.alpha(
            reported, level_of_measurement=level, value_domain=index.tolist()
        )
        own = krippendorff_alpha(counts, metric=level).value
        assert own == pytest.approx(theirs, abs=1e-12)

    recall = precision_recall_fscore_support(one, other, labels=index, zero_division=np.nan)
    by_label = class_agreement(table[:, 0], judge, n_options=options)
    for place, figures in enumerate(zip(*recall, strict=True)):
        one_label = by_label[place]
        ours = one_label.precision, one_label.recall, one_label.f1, one_label.n
        for mine, theirs in zip(ours, figures, strict=True):
            assert np.isnan(theirs) if mine is None else mine == pytest.approx(theirs)


# AC1, AC2 and AC2 with our values by irrCAC 0.4.4, then ICC(2,1) and ICC(2,k) by pingouin 0.6.1.
OTHERS = json.loads((Path(__file__).parent / "other_programs.json").read_text("utf-8"))


@pytest.mark.parametrize("seed", TABLES)
def test_gwet_and_icc_equal_the_values_of_irrcac_and_pingouin(seed):
    table, _, options = table_of(seed)
    counts = Votes.from_matrix(table, n_options=options).counts()
    full, _, _ = table_of(seed, missing=0)

    coefficients = [
        gwet_ac(counts, weights=1 - (each[:, None] - each) ** 2 / (each[-1] - each[0]) ** 2).value
        for each in (np.arange(options), values_of(options))
    ]
    icc = intraclass_correlation(full)

    found = [gwet_ac(counts).value, *coefficients, icc.single, icc.mean]
    assert found == pytest.approx(OTHERS[seed], abs=1e-9)


@pytest.mark.parametrize("seed", range(10))
def test_the_pooled_test_compares_each_person_with_the_judge_on_the_same_others(seed):
    table, judge, options = table_of(seed)
    votes = Votes.from_matrix(table, n_options=options)
    scale = AnswerScale.of_values(values_of(options), votes.counts().sum(axis=0))
    weights, labels = scale.agreement, scale.label.argmax(axis=1)
    items: list[Any] = []
    of_label: dict[Any, Any] = {}
    shares: dict[Any, Any] = {}
    for row, own in zip(table, judge, strict=True):
        given = row[row >= 0]
        if given.size < 2:
            continue
        gains = []
        for person, choice in enumerate(given):
            for other in np.delete(given, person):
                gain = (weights[own, other] - weights[choice, other]) / (given.size - 1)
                gains.append(gain)
                label = int(labels[other])
                of_label[label] = of_label.get(label, 0) + gain / given.size
        items.append(sum(gains) / given.size)
        for choice in given:
            label = int(labels[choice])
            shares[label] = shares.get(label, 0) + 1 / given.size

    found = pooled_replacement_test(votes, judge, epsilon=0.1, scale=scale)

    assert found.raw.advantage.value == pytest.approx(-np.mean(items))
    balanced = np.mean([of_label.get(label, 0) / shares[label] for label in shares])
    assert found.balanced.advantage.value == pytest.approx(-balanced)


def test_a_judge_near_the_middle_of_the_scale_never_takes_a_persons_place():
    """It loses 5 points, because the middle is never far off; half of a person's gain decides."""
    rng = np.random.default_rng(3)
    studies, n = 40, 200
    signal = rng.normal(0, 1, (studies, n, 1))
    cuts = [-1.5, -0.5, 0.5, 1.5]
    answers = np.searchsorted(cuts, signal + rng.normal(0, 0.6, (studies, n, 2)))
    judge = np.where(rng.random((studies, n)) < 0.2, np.searchsorted(cuts, signal[..., 0]), 2)
    counts = (answers[..., None] == np.arange(5)).sum(axis=2)
    scale = AnswerScale.of_values([1, 2, 3, 4, 5], counts.sum(axis=(0, 1)))

    found = pooled_replacement_tests(
        counts, judge, Sharing.of_items(n, {}), epsilon=0.1, scale=scale
    )

    assert all(p is not None and p < 0.05 for one in found for p in (one.raw.p, one.balanced.p))
    assert not any(one.replaceable for one in found)


CUTS = [-1.5, -0.5, 0.5, 1.5]


def steps_of(rng, studies, n, seats, follows, constant):
    """Answers of people with leanings, and a judge who follows the item or gives `constant`."""
    signal, lean = rng.normal(0, 1, (studies, n)), rng.normal(0, 0.5, (studies, seats.max() + 1))
    heard = signal[..., None] + lean[:, seats] + rng.normal(0, 0.6, (studies, n, 2))
    judge = np.searchsorted(CUTS, signal + rng.normal(0, 0.3, (studies, n)))
    other = rng.integers(0, 5, judge.shape) if constant is None else constant
    judge = np.where(rng.random(judge.shape) < follows, judge, other)
    return (np.searchsorted(CUTS, heard)[..., None] == np.arange(5)).sum(axis=2), judge


@pytest.mark.parametrize("constant", [2, None])
def test_a_judge_at_a_limit_rarely_takes_a_persons_place(constant):
    """The judge loses epsilon, or gains half of what a person does; larger runs gave .01 to .04."""
    many = np.arange(2 * 60_000).reshape(-1, 2)
    whole = AnswerScale.of_values(np.arange(5), [100] * 5)

    def found(seed, studies, n, seats, follows):
        rng = np.random.default_rng(seed)
        counts, judge = steps_of(rng, studies, n, seats, follows, constant)
        votes = Votes.from_long(np.repeat(np.arange(n), 2), seats.ravel(), np.zeros(2 * n, int))
        sharing = Sharing.of_items(n, {}, votes)
        return pooled_replacement_tests(counts, judge, sharing, epsilon=0.1, scale=whole)

    full, none = (found(1, 1, len(many), many, follows)[0] for follows in (1.0, 0.0))
    # Losses and gains are linear in how often the judge follows the item.
    at_half = full.people_gain / 2 / full.gain.value
    lost = [max(one.raw.advantage.value, one.balanced.advantage.value) for one in (none, full)]
    follows = max(at_half, (lost[0] - 0.1) / (lost[0] - lost[1]))
    values = [one.raw.advantage.value for one in (none, full)]
    truth = values[0] + follows * (values[1] - values[0])
    seats = np.stack([np.random.default_rng(n).permutation(24)[:2] for n in range(200)])

    studies = found(2, 150, 200, seats, follows)

    assert sum(bool(one.replaceable) for one in studies) <= 15
    covered = [one.raw.advantage.interval for one in studies]
    assert sum(each.low <= truth <= each.high for each in covered) >= 0.9 * 150
