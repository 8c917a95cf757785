import numpy as np
import pytest
from scipy import stats

from analysis.stats.comparison.paired import (
    PairedCounts,
    count_pairs,
    mcnemar,
    tango_interval,
    wald_interval,
)
from tests.analysis.stats.reference import vector

MCNEMAR = vector("mcnemar")["expected"]
TOST = vector("paired_tost")


@pytest.mark.parametrize("name", [name for name in MCNEMAR if name != "none"])
def test_mcnemar_gives_the_reference_p_values(name):
    case = MCNEMAR[name]
    n = int(np.sum(case["table"]))

    result = mcnemar(PairedCounts(b=case["b"], c=case["c"], n=n))

    assert result.p == pytest.approx(case["exact"], abs=1e-12)
    assert result.p_mid == pytest.approx(case["midp"], abs=1e-12)


def test_mcnemar_without_discordant_items_is_undefined():
    result = mcnemar(PairedCounts(b=0, c=0, n=14))

    assert (result.p, result.p_mid) == (None, None)
    assert result.reason == "no_discordant"


@pytest.mark.parametrize("case", TOST["cases"])
def test_tango_and_wald_give_the_reference_intervals(case):
    pairs = PairedCounts(b=case["b"], c=case["c"], n=case["n"])

    tango, wald, narrow = tango_interval(pairs), wald_interval(pairs), wald_interval(pairs, 0.9)

    assert (tango.low, tango.high) == pytest.approx(case["tango95"], abs=1e-9)
    assert (wald.low, wald.high) == pytest.approx(case["ci95"], abs=1e-9)
    assert (narrow.low, narrow.high) == pytest.approx(case["ci90"], abs=1e-9)


def test_tango_gives_the_published_example():
    case = TOST["tango_1998_table"]

    interval = tango_interval(PairedCounts(b=case["b"], c=case["c"], n=case["n"]))

    assert (interval.low, interval.high) == pytest.approx(case["ci"], abs=1e-9)


@pytest.mark.parametrize("n", [1, 20, 300])
def test_tango_without_discordant_items_has_its_closed_form_and_width(n):
    z = stats.norm.ppf(0.975)

    interval = tango_interval(PairedCounts(b=0, c=0, n=n))

    assert interval.high == pytest.approx(z**2 / (n + z**2), abs=1e-10)
    assert interval.low == pytest.approx(-interval.high, abs=1e-10)
    wald = wald_interval(PairedCounts(b=0, c=0, n=n))
    assert (wald.low, wald.high) == (0, 0)


def test_items_without_an_answer_from_both_sides_are_left_out_and_counted():
    pairs = count_pairs([1, 1, 0, 0, -1, 1], [1, 0, 1, 0, 1, -1])

    assert pairs == PairedCounts(b=1, c=1, n=4, n_missing=2)
