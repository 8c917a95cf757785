import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.proportion import confint_proportions_2indep, proportions_ztest

from analysis.stats import compare_groups, newcombe_interval, support
from tests.sampling import examples

COUNTS = st.integers(1, 60).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))


@given(COUNTS, COUNTS)
def test_newcombes_interval_is_that_of_statsmodels_and_turns_with_the_sides(one, two):
    interval = newcombe_interval(*one, *two)

    expected = confint_proportions_2indep(*one, *two, method="newcomb", compare="diff")
    assert (interval.low, interval.high) == pytest.approx(expected, abs=1e-9)
    mirrored = newcombe_interval(*two, *one)
    assert (interval.low, interval.high) == pytest.approx((-mirrored.high, -mirrored.low))


def groups_of(*cells):
    """Rows of right and wrong answers from (right, n) per group."""
    right = np.concatenate([np.repeat([1, 0], [k, n - k]) for k, n in cells])
    return right, np.repeat(np.arange(len(cells)), [n for _, n in cells])


def test_independent_groups_get_the_score_test_and_holm():
    right, group = groups_of((30, 50), (20, 50), (45, 60))

    result = compare_groups(right, group)

    raw = {(d.first, d.second): d.p for d in result.differences}
    for (a, b), p in raw.items():
        cells = [result.cells[g] for g in (a, b)]
        _, expected = proportions_ztest([c.correct for c in cells], [c.n for c in cells])
        assert p == pytest.approx(expected, rel=1e-9)
    smallest = min(raw, key=raw.get)
    adjusted = {(d.first, d.second): d.p_adjusted for d in result.differences}
    assert adjusted[smallest] == pytest.approx(min(1, 3 * raw[smallest]))
    assert all(adjusted[pair] >= raw[pair] for pair in raw)


def test_small_groups_are_shown_and_not_compared():
    right, group = groups_of((5, 9), (6, 29), (15, 30), (20, 30))

    result = compare_groups(right, group)

    assert list(result.support.values()) == ["nothing", "share", "comparison", "comparison"]
    assert [(d.first, d.second) for d in result.differences] == [(2, 3)]
    assert [support(n) for n in (0, 9, 10, 29, 30)] == [
        *("nothing", "nothing", "share", "share", "comparison")
    ]


def test_missing_answers_and_rows_without_a_group_count_nowhere():
    right, group = groups_of((20, 40), (30, 40))

    result = compare_groups(np.append(right, [-1, 1]), np.append(group, [0, -1]))

    assert (result.cells[0].n, result.cells[1].n, len(result.cells)) == (40, 40, 2)


def test_what_cannot_be_compared_says_why():
    right, group = groups_of((30, 30), (30, 30))

    same = compare_groups(right, group).differences[0]
    one = compare_groups(right, group, clusters={"item": np.zeros(60, dtype=int)}).differences[0]
    flat = compare_groups(right, group, clusters={"item": np.arange(60)}).differences[0]

    assert (same.difference.value, same.p, same.p_adjusted) == (0, None, None)
    assert one.difference.interval_reason == "too_few_items"
    assert flat.difference.interval_reason == "no_variation"


def few_and_many(rng, few, n_clusters=30):
    """300 answers about personas of two groups that are alike, and about 20 questions."""
    persona, question = rng.permutation(300) % n_clusters, rng.integers(0, 20, 300)
    logit = 0.8 + rng.normal(0, 0.7, n_clusters)[persona] + rng.normal(0, 0.5, 20)[question]
    right = (rng.random(300) < 1 / (1 + np.exp(-logit))).astype(int)
    return right, (persona >= few).astype(int), {"persona": persona, "question": question}


def test_the_degrees_of_freedom_are_those_of_the_whole_matrices():
    """Bell and McCaffrey's, with the matrices of rows by clusters written out."""
    right, group, clusters = few_and_many(np.random.default_rng(2), 5)

    found = compare_groups(right, group, clusters=clusters).differences[0]

    degrees = []
    for codes in clusters.values():
        weights, centre = np.zeros(300), np.eye(300)
        for code in (0, 1):
            rows = group == code
            sizes = np.bincount(codes[rows], minlength=30) / rows.sum()
            weights[rows] = (1 - (sizes**2).sum()) ** -0.5 / rows.sum()
            centre[np.ix_(rows, rows)] -= 1 / rows.sum()
        weights[group == 1] *= -1
        sums = weights * (codes[None] == np.arange(codes.max() + 1)[:, None])
        matrix = sums @ centre @ sums.T
        degrees.append(np.trace(matrix) ** 2 / (matrix**2).sum())
    assert found.difference.interval.method == f"multiway t({min(degrees):.1f})"
    low, high = found.difference.interval.low, found.difference.interval.high
    se = (high - low) / 2 / stats.t.ppf(0.975, min(degrees))
    t = found.difference.value / se
    assert found.p == pytest.approx(2 * stats.t.sf(abs(t), min(degrees)))


def test_a_group_with_too_few_clusters_is_not_tested():
    right, group, clusters = few_and_many(np.random.default_rng(4), 3)
    alone = {"persona": np.where(group == 0, 0, clusters["persona"])}

    one = compare_groups(right, group, clusters=alone).differences[0]
    two = compare_groups(
        right, group, clusters={"persona": np.where(group == 0, clusters["persona"] % 2, 9)}
    ).differences[0]

    for found in (one, two):
        assert (found.p, found.p_adjusted, found.difference.interval) == (None, None, None)
        assert found.difference.interval_reason == "too_few_clusters"
        assert found.difference.value is not None


@pytest.mark.nightly
@pytest.mark.parametrize("few", [5, 10, 15])
def test_groups_that_are_alike_differ_in_five_percent_of_studies(few):
    rng, n = np.random.default_rng(few), examples(60, every=2000)

    rejected = [
        compare_groups(right, group, clusters=clusters).differences[0].p < 0.05
        for right, group, clusters in (few_and_many(rng, few) for _ in range(n))
    ]

    assert np.mean(rejected) <= 0.05 + 2 * (0.05 * 0.95 / n) ** 0.5
