"""Ceilings of agreement: closed forms, and planted truths."""

from itertools import product

import numpy as np
import pytest
from scipy import optimize
from scipy.special import expit

from analysis.stats.core.results import Estimate
from analysis.stats.core.shared_variance import Sharing
from analysis.stats.core.votes import Votes
from extras.methods.stats.ceiling import (
    agreed_with,
    agreement_ceiling,
    majority_of_others,
    pair_agreement,
    retest_ceiling,
    share_of_ceiling,
    share_of_possible,
)
from tests.sampling import examples

NODES = np.linspace(-4, 4, 81)
WEIGHTS = np.exp(-(NODES**2) / 2) / np.exp(-(NODES**2) / 2).sum()


def independent(n):
    return Sharing.of_items(n, {"persona": np.arange(n)})


def ways(k, options):
    """Every table of counts of k answers."""
    return [row for row in product(range(k + 1), repeat=options) if sum(row) == k]


@pytest.mark.parametrize("counts", [(2, 1), (1, 1, 1), (4, 1), (2, 2, 1), (3, 3), (5, 0)])
def test_agreement_of_pairs_and_of_the_majority_of_others_is_a_count_over_people(counts):
    answers = np.repeat(np.arange(len(counts)), counts)
    pairs, majorities = [], []
    for place, one in enumerate(answers):
        others = np.delete(answers, place)
        pairs += list(others == one)
        n = np.bincount(others, minlength=len(counts))
        winners = np.flatnonzero(n == n.max())
        majorities.append((one in winners) / len(winners))

    assert pair_agreement(np.array([counts]))[0] == pytest.approx(np.mean(pairs))
    assert majority_of_others(np.array([counts]))[0] == pytest.approx(np.mean(majorities))


@pytest.mark.parametrize("options", [2, 3])
def test_the_higher_bound_is_the_largest_ceiling_that_the_agreement_of_pairs_allows(options):
    """A linear programme over all distributions of the shares of people."""
    grid = np.array(ways(60, options)) / 60
    counts = np.array([[3, 0, 0], [2, 1, 0], [0, 3, 0], [1, 2, 0]] * 10)[:, :options]

    found = agreement_ceiling(counts, independent(40))

    best = optimize.linprog(
        -grid.max(axis=1),
        A_eq=np.stack([np.ones(len(grid)), (grid**2).sum(axis=1)]),
        b_eq=[1, found.pair.value],
    )
    assert found.pair.value == pytest.approx(2 / 3)
    assert found.high.value == pytest.approx(-best.fun, abs=2e-3)
    assert found.low.value <= found.high.value


def test_the_share_is_undefined_where_people_may_agree_by_chance_alone():
    rng = np.random.default_rng(8)
    counts = rng.multinomial(3, [0.5, 0.5], 200)

    found = share_of_possible(agreed_with(np.zeros(200, int), counts), counts, independent(200))

    assert found.agreement.value == pytest.approx(0.5, abs=0.1)
    assert (found.low, found.interval, found.reason) == (None, None, "at_chance")
    opposite = agreement_ceiling([[1, 1]] * 40, independent(40))
    assert (opposite.high.value, opposite.high.interval) == (0.5, None)
    assert opposite.high.interval_reason == "at_chance"


def crossed(rng, *, items, people, k):
    """Items, people, personas and questions that differ; a judge that is wrong by its own noise."""
    persona, question = np.arange(items) % 30, np.arange(items) // 30 * 3 + np.arange(items) % 3
    logit = 1.2 * rng.normal(size=items) + 0.5 * rng.normal(size=30)[persona]
    logit += 0.5 * rng.normal(size=question.max() + 1)[question]
    severity = 0.6 * rng.normal(size=people)
    rounds = items * k // people
    rater = np.concatenate([rng.permutation(people) for _ in range(rounds)])
    item = np.repeat(np.arange(items), k)
    choice = rng.random(item.size) > expit(logit[item] + severity[rater])
    votes = Votes.from_long(item, rater, choice.astype(int))
    sharing = Sharing.of_items(items, {"persona": persona, "question": question}, votes)
    return votes.counts(), sharing, logit, expit(logit + 0.7 * rng.normal(size=items))


def everybody(logit):
    """The share of all people who choose response 1."""
    return expit(logit[:, None] + 0.6 * NODES) @ WEIGHTS


@pytest.mark.nightly
@pytest.mark.parametrize("k", [2, 3, 5])
def test_intervals_cover_the_truth_with_people_personas_and_questions_that_differ(k):
    rng = np.random.default_rng(40 + k)
    logit = (1.2**2 + 0.5) ** 0.5 * rng.normal(size=100_000)
    p, q = everybody(logit), expit(logit + 0.7 * rng.normal(size=logit.size))
    agreement, ceiling = np.where(q >= 0.5, p, 1 - p).mean(), np.maximum(p, 1 - p).mean()
    truth = {
        "agreement": agreement,
        "share": (agreement - 0.5) / (ceiling - 0.5),
        "pair": (p**2 + (1 - p) ** 2).mean(),
    }
    covered, studies = dict.fromkeys((*truth, "ceiling"), 0), examples(50, every=300)

    for _ in range(studies):
        counts, sharing, _, q = crossed(rng, items=300, people=30, k=k)
        answer = (q < 0.5).astype(int)
        share = share_of_possible(agreed_with(answer, counts), counts, sharing)
        bounds = agreement_ceiling(counts, sharing)
        found = {
            "agreement": share.agreement,
            "share": share,
            "pair": bounds.pair,
        }
        for name, value in truth.items():
            ends = found[name].interval
            # With two answers an item, people may seem to agree by chance alone.
            if name == "share" and k == 2 and ends is None:
                covered[name] += share.reason == "at_chance"
                continue
            covered[name] += ends.low <= value <= ends.high
        covered["ceiling"] += bounds.low.interval.low <= ceiling <= bounds.high.interval.high

    # 95 % with four standard errors
    least = 0.95 * studies - 4 * (0.95 * 0.05 * studies) ** 0.5
    assert min(covered.values()) >= least, covered


@pytest.mark.parametrize("slip", [0.0, 0.1, 0.35, 0.49])
def test_the_ceiling_of_a_retest_is_the_accuracy_of_a_judge_that_knows_what_people_mean(slip):
    repeated = slip**2 + (1 - slip) ** 2

    assert retest_ceiling(repeated) == pytest.approx(1 - slip)
    assert share_of_ceiling(Estimate(1 - slip), repeated).value == pytest.approx(1)
    assert share_of_ceiling(Estimate(0.5), repeated).value == pytest.approx(0)


def test_answers_repeated_by_chance_leave_no_ceiling():
    assert retest_ceiling(0.5) is None
    assert share_of_ceiling(Estimate(0.6), 0.4).reason == "at_chance"
    with pytest.raises(ValueError, match="must lie in"):
        retest_ceiling(1.2)
