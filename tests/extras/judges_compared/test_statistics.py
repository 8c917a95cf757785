import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from statsmodels.stats.contingency_tables import cochrans_q

from extras.judges_compared.stats import cochran_q, compare_judges, joint_bootstrap
from tests.analysis.stats.test_undefined import check, rng, studies
from tests.sampling import examples

MATRIX = st.integers(2, 4).flatmap(
    lambda j: st.lists(st.lists(st.integers(0, 1), min_size=j, max_size=j), min_size=1, max_size=25)
)


@given(MATRIX)
def test_cochrans_q_is_that_of_statsmodels_and_ignores_the_order_of_judges(rows):
    result = cochran_q(rows)
    if result.reason:
        assert all(len(set(row)) == 1 for row in rows)
        return

    expected = cochrans_q(np.array(rows))
    assert result.statistic == pytest.approx(expected.statistic)
    assert result.p == pytest.approx(expected.pvalue)
    turned = cochran_q([row[::-1] for row in rows])
    assert turned.statistic == pytest.approx(result.statistic)


def test_items_that_any_judge_misses_are_left_out_and_counted():
    rows = [[1, 0, 1], [1, -1, 0], [0, 1, 1], [-1, -1, -1]]

    result = cochran_q(rows)

    assert (result.n, result.n_missing, result.n_judges) == (2, 2, 3)
    assert cochran_q([[1, -1]]).reason == "empty_group"
    assert compare_judges([[1, -1]]).pairs[0].difference.reason == "empty_group"


def judges(rng, n, accuracies):
    return (rng.random((n, len(accuracies))) < accuracies).astype(int)


def test_ranks_leave_open_what_the_adjusted_tests_leave_open():
    right = judges(np.random.default_rng(1), 800, [0.9, 0.7, 0.72, 0.4])

    result = compare_judges(right)

    assert result.ranks == ((1, 1), (2, 3), (2, 3), (4, 4))
    p = {(pair.first, pair.second): pair.p_adjusted for pair in result.pairs}
    assert p.pop((1, 2)) > 0.05
    assert all(value < 0.05 for value in p.values())
    assert [cell.n for cell in result.accuracy] == [800] * 4


def test_the_joint_bootstrap_agrees_with_the_pairs_where_items_are_independent():
    right = judges(np.random.default_rng(3), 500, [0.85, 0.6, 0.62])

    joint = joint_bootstrap(right, rng=np.random.default_rng(4))
    pairs = compare_judges(right)

    assert joint.ranks == pairs.ranks
    assert joint.pairs[0, 1] == joint.p < 0.001
    assert joint.pairs[1, 2] == pytest.approx(pairs.pairs[2].p, abs=0.25)
    assert (joint.n, joint.n_clusters, joint.seed) == (500, 500, 4)


def test_few_clusters_have_no_joint_test():
    right = judges(np.random.default_rng(5), 60, [0.9, 0.5])

    result = joint_bootstrap(right, np.arange(60) % 7, rng=np.random.default_rng(0))

    assert (result.p, result.reason, result.ranks) == (None, "too_few_items", ((1, 2), (1, 2)))


@pytest.mark.nightly
def test_with_equal_judges_ranks_are_complete_and_clusters_keep_the_level():
    """30 personas of ten items; each persona suits some judges better than others."""
    rng = np.random.default_rng(7)
    persona = np.repeat(np.arange(30), 10)
    pairs, joint, ranks, n = 0, 0, 0, 300
    for _ in range(n):
        logit = 0.5 + rng.normal(0, 0.8, (30, 3))[persona]
        right = (rng.random(logit.shape) < 1 / (1 + np.exp(-logit))).astype(int)
        test = joint_bootstrap(right, persona, rng=rng, n_draws=400)
        joint += test.p < 0.05
        ranks += test.ranks == ((1, 3),) * 3
        pairs += cochran_q(right).p < 0.05

    assert 0.02 <= joint / n <= 0.09
    assert ranks / n >= 0.91
    assert pairs / n > 0.12  # items of one persona taken as independent


REFUSED = [
    (lambda: cochran_q([[1], [0]]), "at least two judges"),
    (
        lambda: joint_bootstrap([[1, 0]] * 9, [0], rng=np.random.default_rng(0)),
        "`cluster` has 1 rows",
    ),
    (lambda: compare_judges([[2, 0]]), "hold only 1"),
]


@pytest.mark.parametrize(("call", "message"), REFUSED)
def test_arguments_that_make_no_sense_are_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()


STATISTICS = {
    "cochran_q": lambda s: cochran_q(np.stack([s.model_right, s.people_right], axis=1)),
    "compare_judges": lambda s: compare_judges(
        np.stack([s.model_right, s.people_right, s.model_right], axis=1)
    ),
    "joint_bootstrap": lambda s: joint_bootstrap(
        np.stack([s.model_right, s.people_right], axis=1), rng=rng(), n_draws=20
    ),
}


@pytest.mark.parametrize("name", STATISTICS)
@given(study=studies())
@settings(
    max_examples=examples(15, every=60),
    suppress_health_check=[HealthCheck.too_slow],
)
def test_every_result_is_a_finite_number_or_has_a_reason(name, study):
    check(name, STATISTICS[name](study))
