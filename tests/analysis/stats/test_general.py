"""Differences and accuracies in general: against the definition, at boundaries, and simulated."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from analysis.stats import (
    GeneralDifference,
    Sharing,
    Votes,
    adjusted_states,
    general_contrast,
    general_difference,
    general_proportion,
    general_spearman,
)
from tests.analysis.stats.reference import block_design


def random_design(rng, n=40, n_people=14, k=3, personas=7, questions=6):
    """People who voted on each item, and everything that items share."""
    people = np.argsort(rng.random((n, n_people)), axis=1)[:, :k]
    persona, question = rng.integers(0, personas, n), rng.integers(0, questions, n)
    votes = Votes.from_long(np.repeat(np.arange(n), k), people.ravel(), np.zeros(n * k, dtype=int))
    sharing = Sharing.of_items(n, {"persona": persona, "question": question}, votes)
    return people, persona, question, sharing


def by_definition(d, people, persona, question):
    """Variance and degrees of freedom from dense matrices, as the notes of `spread` have them."""
    n = d.size
    membership = np.zeros((n, people.max() + 1))
    membership[np.arange(n)[:, None], people] = 1
    kinds = [membership]
    for codes in (persona, question):
        kinds.append((codes[:, None] == np.unique(codes)).astype(float))
    centring = np.eye(n) - 1 / n
    links = [np.eye(n)] + [b @ b.T - np.diag((b @ b.T).diagonal()) for b in kinds]
    e = d - d.mean()
    sums = np.array([e @ link @ e for link in links])
    expected = np.array([[np.trace(centring @ a @ centring @ b) for b in links] for a in links])
    kept = list(range(4))
    while True:
        found = np.zeros(4)
        found[kept] = np.linalg.solve(expected[np.ix_(kept, kept)], sums[kept])
        parts = found * np.array([link.sum() for link in links]) / n**2
        if parts[1:].min() >= 0:
            break
        kept.remove(1 + int(parts[1:].argmin()))
    freedom = []
    for b in kinds:
        k = (b.T @ centring @ b) @ (b.T @ centring @ b)
        freedom.append(np.trace(k) ** 2 / np.trace(k @ k))
    noise = parts[0] ** 2 / (n - 1) + parts[0] ** 2 / 2 / freedom[0]
    noise += sum((p**2 + 2 * p * parts[0]) / f for p, f in zip(parts[1:], freedom, strict=True))
    return parts.sum(), parts.sum() ** 2 / noise


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=25)
def test_variance_and_interval_follow_the_definition_written_out(seed):
    rng = np.random.default_rng(seed)
    people, persona, question, sharing = random_design(rng)
    d = rng.integers(-1, 2, 40) + 0.0

    spread, found = sharing.spread(d), general_difference(d, sharing, margin=0.1)

    variance, df = by_definition(d, people, persona, question)
    assert float(spread.variance[0]) == pytest.approx(variance, rel=1e-9)
    assert float(spread.degrees_of_freedom[0]) == pytest.approx(max(df, 1), rel=1e-6)
    if found.interval.method == "general t":
        half = stats.t.ppf(0.975, max(df, 1)) * variance**0.5
        assert found.interval.high == pytest.approx(min(d.mean() + half, 1), rel=1e-6)
        assert found.p == pytest.approx(
            2 * stats.t.sf(abs(d.mean()) / variance**0.5, max(df, 1)), rel=1e-5, abs=1e-12
        )


@given(st.integers(0, 2**32 - 1), st.floats(0, 0.5), st.floats(0.01, 0.3))
@settings(max_examples=60)
def test_p_values_and_intervals_say_the_same(seed, rare, margin):
    rng = np.random.default_rng(seed)
    *_, sharing = random_design(rng)
    d = rng.choice([-1.0, 0.0, 1.0], 40, p=[rare / 2, 1 - rare, rare / 2])

    found = general_difference(d, sharing, margin=margin)

    outside = found.interval.low > 0 or found.interval.high < 0
    inside = -margin < found.narrow.low and found.narrow.high < margin
    assert outside == (found.p < 0.05)
    assert inside == (found.p_equivalence < 0.05)
    assert found.interval.low < found.narrow.low <= found.value
    assert found.interval.high > found.narrow.high >= found.value


@pytest.mark.parametrize("value", [-1.0, 0.0, 1.0])
def test_nothing_that_varies_still_has_an_interval_with_width(value):
    *_, sharing = random_design(np.random.default_rng(5), n=300, n_people=30)

    found = general_difference(np.full(300, value), sharing)

    assert found.interval.method == "general score"
    assert 0.005 < found.interval.high - found.interval.low < 0.05
    assert (found.p < 0.001) == (value != 0)


def test_what_is_too_few_to_speak_about_others_gives_no_interval():
    rng = np.random.default_rng(7)
    *_, people = random_design(rng, n_people=11)
    *_, personas = random_design(rng, personas=2)
    everybody = Sharing.of_items(40, {}, Votes.from_matrix(np.zeros((40, 30), dtype=int)))
    d = rng.integers(-1, 2, 40) + 0.0

    assert people.short == everybody.short == ("annotator",)
    assert general_difference(d, people).interval_reason == "too_few_annotators"
    assert general_difference(d, everybody).interval_reason == "too_few_annotators"
    assert general_difference(d, personas).interval_reason == "too_few_clusters"
    assert general_proportion(d > 0, personas).interval_reason == "too_few_clusters"
    assert general_contrast(d, d < 2, d, d < 2, people).interval_reason == "too_few_annotators"
    assert general_difference([np.nan] * 40, people).reason == "empty_group"


def test_few_clusters_are_noted_and_a_single_one_is_no_clustering():
    *_, few = random_design(np.random.default_rng(8), personas=4, questions=1)

    found = general_difference([1.0, 0.0] * 20, few)

    assert few.used == ("annotator", "persona")
    assert found.interval.note == "only one question; fewer than 8 persona clusters"


def test_the_same_clusters_under_two_names_count_once():
    codes = np.repeat(np.arange(10), 4)
    item, annotator = block_design(n_items=40, n_annotators=30)
    votes = Votes.from_long(item, annotator, np.zeros(120, dtype=int))

    found = Sharing.of_items(40, {"persona": codes, "question": codes + 3}, votes)

    assert found.used == ("annotator",)
    assert general_difference([1.0, 0.0] * 20, found).interval is not None


@given(st.integers(0, 2**32 - 1), st.sampled_from([4, 10_000]))
@settings(max_examples=6)
def test_the_interval_of_a_rank_correlation_is_that_of_the_jackknife_in_large(seed, levels):
    rng = np.random.default_rng(seed)
    x = rng.integers(0, levels, 400)
    y = np.where(rng.random(400) < 0.5, x, rng.integers(0, levels, 400))
    alone = Sharing.of_items(400, {})

    found = general_spearman(x, y, alone)

    # Spearman's rho without each item in turn: Pearson's of the ranks.
    ranks = [stats.rankdata([np.delete(v, i) for i in range(400)], axis=1) for v in (x, y)]
    one, two = (rank - 200 for rank in ranks)
    left_out = (one * two).sum(axis=1) / np.sqrt((one**2).sum(axis=1) * (two**2).sum(axis=1))
    se = float(np.sqrt(399 / 400 * ((left_out - np.mean(left_out)) ** 2).sum()))
    z = np.arctanh([found.interval.low, found.interval.high])
    assert found.value == pytest.approx(stats.spearmanr(x, y).statistic)
    half = stats.t.ppf(0.975, 399) * se / (1 - found.value**2)
    assert (z[1] - z[0]) / 2 == pytest.approx(half, rel=0.03)
    same = general_spearman(2 * x + 1, y, alone)
    assert same.interval.low == pytest.approx(found.interval.low)


def test_a_rank_correlation_allows_for_what_items_share_and_says_why_there_is_no_interval():
    rng = np.random.default_rng(10)
    *_, people = random_design(rng, n_people=11)
    persona = np.repeat(np.arange(8), 5)
    x, y = persona + rng.random(40) / 9, (persona * 3) % 8 + rng.random(40) / 9
    shared = Sharing.of_items(40, {"persona": persona})

    wide, narrow = (general_spearman(x, y, one) for one in (shared, Sharing.of_items(40, {})))

    assert wide.interval.high - wide.interval.low > 1.5 * (
        narrow.interval.high - narrow.interval.low
    )
    weak, weaker = rng.random((2, 40))
    p = general_spearman(weak, weaker, shared).p
    ends = general_spearman(weak, weaker, shared, level=1 - p).interval
    assert min(abs(ends.low), abs(ends.high)) == pytest.approx(0, abs=1e-9)
    assert general_spearman(x, y, people).interval_reason == "too_few_annotators"
    assert general_spearman(x, [1.0] * 40, shared).reason == "no_variation"
    assert general_spearman(x, x, shared).interval_reason == "no_variation"
    assert general_spearman(x, [np.nan] * 39 + [1.0], shared).reason == "too_few_items"
    few = np.where(np.arange(40) < 9, y, np.nan)
    assert general_spearman(x, few, shared).interval_reason == "too_few_items"


def test_holm_decides_over_all_runs_that_compete():
    def run(p, q=0.9):
        return GeneralDifference(0.1, p=p, p_equivalence=q)

    alone = adjusted_states([run(0.02)])
    among = adjusted_states([run(0.02), run(0.4), run(0.6)])
    close = adjusted_states([run(0.5, 0.01), run(0.5, 0.04), run(0.5, 0.2)])

    assert alone[0].state == "different"
    assert [entry.state for entry in among] == ["inconclusive"] * 3
    assert among[0].p == pytest.approx(0.06)
    assert [entry.state for entry in close] == ["equivalent", "inconclusive", "inconclusive"]
    assert adjusted_states([GeneralDifference(0.1)])[0].state is None


def test_the_lower_end_of_the_best_of_several_allows_for_the_choice():
    *_, sharing = random_design(np.random.default_rng(9), n=120)
    d = np.random.default_rng(9).integers(-1, 2, 120) + 0.0

    two, nine = (general_difference(d, sharing, among=among) for among in (2, 9))

    assert (two.as_best.low, two.as_best.high) == (two.interval.low, two.interval.high)
    assert nine.as_best.low < nine.interval.low
    assert nine.as_best.high == nine.interval.high
    quantile = stats.t.ppf(1 - 0.05 / 9, nine.df)
    assert nine.as_best.low == pytest.approx(nine.value - quantile * nine.se)
