import numpy as np
import pytest
from hypothesis import strategies as st

from analysis.stats.core.multiplicity import (
    benjamini_yekutieli,
    flipped_signs,
    holding,
    holm,
    permuted_groups,
)
from tests.analysis.stats.reference import vector

BY_FDR = vector("by_fdr")
p_values = st.lists(st.floats(0, 1), min_size=1, max_size=12)


@pytest.mark.parametrize(("adjust", "key"), [(holm, "holm"), (benjamini_yekutieli, "fdr_by")])
def test_adjusted_values_and_rejections_are_the_reference_ones(adjust, key):
    expected = BY_FDR["expected"][key]

    adjusted = adjust(BY_FDR["p"])

    assert adjusted == pytest.approx(expected["adj"], abs=1e-12)
    assert [p <= 0.05 for p in adjusted] == expected["reject"]


def test_a_test_that_could_not_be_made_is_not_counted():
    assert holm([0.02, None, 0.03]) == [0.04, None, 0.04]
    assert benjamini_yekutieli([None, 0.02]) == [None, 0.02]
    assert holm([None]) == [None]
    assert holm([]) == []


def test_values_that_are_no_probabilities_are_refused():
    for bad in (-0.1, 1.1, np.nan):
        with pytest.raises(ValueError, match="p_values"):
            holm([bad])


def test_a_group_without_errors_is_no_finding_and_a_real_one_is():
    rng = np.random.default_rng(3)
    answered = np.full((2, 30), 4)
    wrong = rng.binomial(4, 0.1, (2, 30))
    inside = np.stack([np.arange(30) < 3, np.arange(30) >= 20])
    wrong[:, :3] = 0
    wrong[1, 20:] = 3

    found = permuted_groups(wrong, answered, inside, ~inside, fewest=3, rng=rng)

    assert found.adjusted[0].min() > 0.05
    assert found.adjusted[1, 1] == 1 / 2000
    assert found.t[1, 1] > 0
    assert (found.adjusted >= found.p).all()


def test_groups_and_signs_without_enough_clusters_have_no_test():
    rng = np.random.default_rng(3)
    inside = np.arange(10)[None] < 2

    groups = permuted_groups(np.eye(10)[:1], np.ones((1, 10)), inside, ~inside, fewest=3, rng=rng)
    signs = flipped_signs([[1.0] * 5, [0.0] * 5], rng=rng)

    assert np.isnan(groups.adjusted).all()
    assert np.isnan(signs.p).all()


def test_signs_are_flipped_for_all_raters_alike():
    rng = np.random.default_rng(3)
    sums = np.tile(rng.normal(0.5, 1, 40), (5, 1))

    found = flipped_signs(sums, rng=rng)

    # Raters that say the same are one test.
    assert found.adjusted == pytest.approx(found.p)
    assert found.p[0] < 0.05


def test_kinds_hold_by_holm_and_nothing_after_the_first_that_fails():
    assert holding([0.04, 0.001, None]) == [0.05, 0.025, 0.0]
    assert holding([0.03, 0.04]) == [0.0, 0.0]
    assert holding([]) == []
