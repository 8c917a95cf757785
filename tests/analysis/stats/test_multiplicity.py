import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from statsmodels.stats.multitest import multipletests

from analysis.stats.core.multiplicity import benjamini_yekutieli, holm
from tests.analysis.stats.reference import vector
from tests.sampling import examples

BY_FDR = vector("by_fdr")
p_values = st.lists(st.floats(0, 1), min_size=1, max_size=12)


@pytest.mark.parametrize(("adjust", "key"), [(holm, "holm"), (benjamini_yekutieli, "fdr_by")])
def test_adjusted_values_and_rejections_are_the_reference_ones(adjust, key):
    expected = BY_FDR["expected"][key]

    adjusted = adjust(BY_FDR["p"])

    assert adjusted == pytest.approx(expected["adj"], abs=1e-12)
    assert [p <= 0.05 for p in adjusted] == expected["reject"]


@pytest.mark.slow  # imports statsmodels
@given(p_values)
@settings(max_examples=examples(5, every=50))
def test_both_agree_with_statsmodels(values):
    assert holm(values) == pytest.approx(multipletests(values, method="holm")[1], abs=1e-12)
    assert benjamini_yekutieli(values) == pytest.approx(
        multipletests(values, method="fdr_by")[1], abs=1e-12
    )


@given(p_values, st.randoms(use_true_random=False))
def test_the_order_of_the_tests_does_not_matter(values, random):
    order = list(range(len(values)))
    random.shuffle(order)

    for adjust in (holm, benjamini_yekutieli):
        straight, shuffled = adjust(values), adjust([values[i] for i in order])
        assert shuffled == pytest.approx([straight[i] for i in order], abs=1e-12)


def test_a_test_that_could_not_be_made_is_not_counted():
    assert holm([0.02, None, 0.03]) == [0.04, None, 0.04]
    assert benjamini_yekutieli([None, 0.02]) == [None, 0.02]
    assert holm([None]) == [None]
    assert holm([]) == []


def test_values_that_are_no_probabilities_are_refused():
    for bad in (-0.1, 1.1, np.nan):
        with pytest.raises(ValueError, match="p_values"):
            holm([bad])
