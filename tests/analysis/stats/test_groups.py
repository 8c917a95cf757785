import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from statsmodels.stats.proportion import confint_proportions_2indep, proportions_ztest

from analysis.stats import compare_groups, multiway_mean, newcombe_interval, support

COUNTS = st.integers(1, 60).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))


@given(COUNTS, COUNTS)
def test_newcombes_interval_is_that_of_statsmodels_and_turns_with_the_sides(one, two):
    interval = newcombe_interval(*one, *two)

    expected = confint_proportions_2indep(*one, *two, method="newcomb", compare="diff")
    assert (interval.low, interval.high) == pytest.approx(expected, abs=1e-9)
    mirrored = newcombe_interval(*two, *one)
    assert (interval.low, interval.high) == pytest.approx((-mirrored.high, -mirrored.low))


def test_newcombes_interval_is_the_published_one_of_table_5():
    interval = newcombe_interval(38, 48, 30, 42)

    assert (round(interval.low, 3), round(interval.high, 3)) == (-0.099, 0.253)


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


def test_clusters_in_both_groups_make_the_difference_that_of_pairs():
    """Every cluster has one row in either group: the test is the one of paired differences."""
    rng = np.random.default_rng(4)
    one, two = rng.integers(0, 2, 80), rng.integers(0, 2, 80)
    cluster = np.tile(np.arange(80), 2)

    result = compare_groups(
        np.concatenate([one, two]), np.repeat([0, 1], 80), clusters={"item": cluster}
    ).differences[0]

    expected = multiway_mean(one - two, {"item": np.arange(80)})
    assert result.difference.value == pytest.approx(expected.value)
    assert result.difference.interval.low == pytest.approx(expected.interval.low, abs=1e-12)
    assert (result.p < 0.05) == (expected.interval.low > 0 or expected.interval.high < 0)


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


def test_bad_input_is_refused():
    with pytest.raises(ValueError, match="`correct` has 1 rows, `group` has 2"):
        compare_groups([1], [0, 1])
    with pytest.raises(ValueError, match="Counts out of range"):
        newcombe_interval(3, 2, 0, 1)
