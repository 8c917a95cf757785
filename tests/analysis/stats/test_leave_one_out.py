import itertools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from analysis.stats import (
    Sharing,
    Votes,
    effective_number,
    general_difference,
    pooled_replacement_test,
    reference_judges,
)


def spread_votes(seed, *, n=120, people=20, k=3, options=2):
    """Votes of `k` of `people` on each item, drawn from an item's own leaning, and a judge."""
    rng = np.random.default_rng(seed)
    lean = rng.normal(0, 1.5, (n, options))
    seats = np.argsort(rng.random((n, people)), axis=1)[:, :k]
    choice = (lean[:, None] + rng.gumbel(size=(n, k, options))).argmax(axis=2)
    item = np.repeat(np.arange(n), k)
    votes = Votes.from_long(item, seats.ravel(), choice.ravel(), n_options=options)
    return votes, (lean + rng.gumbel(size=(n, options))).argmax(axis=1)


def by_hand(labels, model, options):
    """Every answer with every other one of its item, as `(gap, balanced gap)` and agreements."""
    raw: dict[str, list[float]] = {"judge": [], "person": []}
    of_label = {c: {"judge": 0.0, "person": 0.0, "weight": 0.0} for c in range(options)}
    for own, judge in zip(labels, model, strict=True):
        given = [int(label) for label in own if label >= 0]
        if judge < 0 or len(given) < 2:
            continue
        pairs = [(r, s) for r in range(len(given)) for s in range(len(given)) if r != s]
        raw["judge"].append(np.mean([judge == given[s] for _, s in pairs]))
        raw["person"].append(np.mean([given[r] == given[s] for r, s in pairs]))
        for r, s in pairs:
            seen = of_label[given[s]]
            seen["judge"] += (judge == given[s]) / len(pairs)
            seen["person"] += (given[r] == given[s]) / len(pairs)
            seen["weight"] += 1 / len(pairs)
    labels_seen = [c for c in of_label.values() if c["weight"]]
    balanced = [
        sum(c[side] / c["weight"] for c in labels_seen) / max(2, len(labels_seen))
        for side in ("judge", "person")
    ]
    return np.mean(raw["judge"]), np.mean(raw["person"]), *balanced


@given(st.integers(0, 2**32 - 1), st.sampled_from([2, 3]))
@settings(max_examples=40)
def test_both_scales_are_those_of_taking_every_pair_of_answers_by_hand(seed, options):
    rng = np.random.default_rng(seed)
    labels = rng.integers(-1, options, (30, 5))
    model = rng.integers(-1, options, 30)

    result = pooled_replacement_test(
        Votes.from_matrix(labels, n_options=options), model, epsilon=0.1
    )

    raw, balanced = result.raw, result.balanced
    found = (raw.model, raw.people, balanced.model, balanced.people)
    assert found == pytest.approx(by_hand(labels, model, options))
    assert raw.advantage.value == pytest.approx(raw.people - raw.model)
    assert balanced.advantage.value == pytest.approx(balanced.people - balanced.model)


def test_the_gain_is_over_the_mean_of_all_orders_of_the_judges_own_labels():
    labels = np.random.default_rng(5).integers(0, 3, (6, 4))
    votes, model = Votes.from_matrix(labels, n_options=3), np.array([0, 1, 2, 1, 0, 0])

    result = pooled_replacement_test(votes, model, epsilon=0.1)

    agreements = [by_hand(labels, order, 3)[0] for order in itertools.permutations(model)]
    assert result.gain.value == pytest.approx(result.raw.model - np.mean(agreements))


def test_the_unit_is_the_item_with_everything_that_items_share():
    votes, model = spread_votes(1, n=240, people=40)
    sharing = Sharing.of_items(240, {"persona": np.arange(240) % 15}, votes)

    result = pooled_replacement_test(votes, model, epsilon=0.1, sharing=sharing)

    counts = votes.counts()
    values = [
        row[choice] / 3 - sum(n * (n - 1) for n in row) / 6
        for row, choice in zip(counts, model, strict=True)
    ]
    expected = general_difference(values, sharing, margin=0.1)
    assert result.n == 240
    assert result.raw.advantage.value == pytest.approx(-expected.value)
    # People who count as n answer 3 to an item: the variance and its freedom allow for that.
    n = result.people_effective
    assert result.raw.se == pytest.approx(expected.se * np.sqrt(n / (n - 3)))
    assert expected.df is not None
    assert result.raw.df == pytest.approx(min(expected.df, n - 1))
    half = stats.t.ppf(0.975, result.raw.df) * result.raw.se
    assert result.raw.advantage.interval.high == pytest.approx(-expected.value + half)
    tail = float(stats.t.sf((expected.value + 0.1) / result.raw.se, result.raw.df))
    assert result.raw.p == pytest.approx(tail)


@pytest.mark.nightly
def test_the_error_of_balanced_agreement_is_that_of_leaving_out_one_item_after_another():
    votes, model = spread_votes(2, n=160, people=40)

    found = pooled_replacement_test(
        votes, model, epsilon=0.1, sharing=Sharing.of_items(160, {})
    ).balanced

    labels = np.full((160, 40), -1)
    labels[votes.item, votes.annotator] = votes.choice
    without = [
        np.subtract(*by_hand(np.delete(labels, i, 0), np.delete(model, i), 2)[2:][::-1])
        for i in range(160)
    ]
    jackknife = np.sqrt(159 / 160 * ((np.array(without) - np.mean(without)) ** 2).sum())
    assert found.se == pytest.approx(jackknife, rel=0.04)


def test_a_constant_judge_has_half_of_the_balanced_agreement_and_is_never_replaceable():
    rng = np.random.default_rng(3)
    item = np.repeat(np.arange(600), 2)
    person = rng.permutation(np.arange(1200) % 60)
    votes = Votes.from_long(item, person, (rng.random(1200) < 0.13).astype(int), n_annotators=60)
    votes = votes.take(np.unique(item * 60 + person, return_index=True)[1])

    result = pooled_replacement_test(votes, [0] * 600, epsilon=0.45)

    assert result.balanced.model == pytest.approx(0.5)
    assert result.raw.model > result.raw.people
    assert result.raw.p < 0.05
    assert result.balanced.p < 0.05
    assert (result.same_label, result.replaceable) == (1.0, False)


def test_the_rarest_label_needs_twenty_answers():
    votes, _ = spread_votes(4, n=300, people=40)
    for rare, could in ((19, False), (20, True)):
        choice = np.zeros(900, dtype=int)
        choice[:rare] = 1
        result = pooled_replacement_test(replace(votes, choice=choice), choice[::3], epsilon=0.3)
        assert (result.rarest, result.replaceable) == (rare, could)


def test_a_judge_must_beat_its_own_labels_in_random_order():
    """People agree by chance alone, so a coin loses nothing; it follows nobody either."""
    rng = np.random.default_rng(8)
    votes, _ = spread_votes(6, n=900, people=90)
    votes = replace(votes, choice=rng.integers(0, 2, votes.n))

    result = pooled_replacement_test(votes, rng.integers(0, 2, 900), epsilon=0.1)

    assert result.raw.p < 0.05
    assert result.balanced.p < 0.05
    assert result.gain_low <= 0
    assert result.replaceable is False


def test_few_people_by_their_shares_of_the_answers_allow_no_verdict():
    """One person gave most answers, so that 24 people are worth as few as eight equal ones."""
    votes, model = spread_votes(7, n=300, people=24, k=2)
    busy = replace(votes, annotator=np.where(np.arange(600) % 2, votes.annotator, 0))
    busy = busy.take(np.unique(busy.item * 24 + busy.annotator, return_index=True)[1])

    result = pooled_replacement_test(busy, model, epsilon=0.1)

    load = np.bincount(busy.annotator)
    assert result.people_effective < 8 < result.n_people
    assert result.raw.advantage.interval_reason == "too_few_annotators"
    assert (result.raw.p, result.replaceable) == (None, None)
    assert effective_number(load) == pytest.approx(1 / ((load / load.sum()) ** 2).sum())


def test_reference_judges_are_those_of_making_them():
    votes, _ = spread_votes(9, n=500, people=40, k=4)
    labels = np.full((500, 40), -1)
    labels[votes.item, votes.annotator] = votes.choice
    often = int(np.bincount(votes.choice).argmax())

    commonest, coin, person = reference_judges(votes)

    expected = by_hand(labels, np.full(500, often), 2)
    assert (commonest.raw, commonest.balanced) == pytest.approx((expected[0], expected[2]))
    assert (person.raw, person.balanced) == pytest.approx((expected[1], expected[3]))
    halves = [by_hand(labels, np.full(500, label), 2) for label in (0, 1)]
    assert (coin.raw, coin.balanced) == pytest.approx(
        tuple(np.mean([half[at] for half in halves]) for at in (0, 2))
    )
    assert reference_judges(Votes.from_matrix([[0, -1], [-1, 1]])) == ()


def test_where_everybody_agrees_the_interval_still_has_a_width():
    votes, _ = spread_votes(10, n=100, people=24)
    alike = replace(votes, choice=votes.item % 2)

    same = pooled_replacement_test(alike, np.arange(100) % 2, epsilon=0.1)
    nothing = pooled_replacement_test(alike, [-1] * 100, epsilon=0.1)

    assert same.raw.advantage.interval.method == "general score"
    assert 0.03 < same.raw.advantage.interval.high < 0.05
    # Half of the items have each label: as much is known of the mean over labels.
    assert same.balanced.advantage.interval.high == pytest.approx(same.raw.advantage.interval.high)
    assert same.replaceable is True
    assert nothing.raw.advantage.reason == "no_pairs"
    assert (nothing.raw.p, nothing.replaceable) == (None, None)
