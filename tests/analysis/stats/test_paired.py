import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.contingency_tables import mcnemar as statsmodels_mcnemar

from analysis.stats.comparison.paired import (
    PairedCounts,
    count_pairs,
    mcnemar,
    tango_interval,
    tango_statistic,
    wald_interval,
)
from tests.analysis.stats.reference import vector

MCNEMAR = vector("mcnemar")["expected"]
TOST = vector("paired_tost")

counts = st.tuples(st.integers(0, 60), st.integers(0, 60), st.integers(1, 300)).map(
    lambda t: PairedCounts(b=t[0], c=t[1], n=t[0] + t[1] + t[2])
)


@pytest.mark.parametrize("name", [name for name in MCNEMAR if name != "none"])
def test_mcnemar_gives_the_reference_p_values(name):
    case = MCNEMAR[name]
    n = int(np.sum(case["table"]))

    result = mcnemar(PairedCounts(b=case["b"], c=case["c"], n=n))

    assert result.p == pytest.approx(case["exact"], abs=1e-12)
    assert result.p_mid == pytest.approx(case["midp"], abs=1e-12)
    assert result.chi2 == pytest.approx(case["chi2"], abs=1e-12)


def test_mcnemar_without_discordant_items_is_undefined():
    result = mcnemar(PairedCounts(b=0, c=0, n=14))

    assert (result.p, result.p_mid, result.chi2) == (None, None, None)
    assert result.reason == "no_discordant"


@given(counts)
@settings(max_examples=50, deadline=None)
def test_mcnemar_agrees_with_statsmodels_and_does_not_care_which_side_comes_first(pairs):
    if pairs.b + pairs.c == 0:
        return
    swapped = PairedCounts(b=pairs.c, c=pairs.b, n=pairs.n)

    expected = statsmodels_mcnemar([[0, pairs.b], [pairs.c, 0]], exact=True).pvalue

    assert mcnemar(pairs).p == pytest.approx(expected, abs=1e-12)
    assert mcnemar(swapped).p == mcnemar(pairs).p
    assert mcnemar(swapped).p_mid == mcnemar(pairs).p_mid


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


def test_tango_with_one_side_right_on_every_item_ends_at_one():
    interval = tango_interval(PairedCounts(b=10, c=0, n=10))

    z2 = stats.norm.ppf(0.975) ** 2
    assert interval.high == 1
    assert interval.low == pytest.approx((10 - z2) / (10 + z2), abs=1e-9)


@given(counts, st.sampled_from([0.8, 0.95, 0.99]))
@settings(max_examples=80, deadline=None)
def test_tango_mirrors_when_the_sides_swap_and_holds_the_estimate(pairs, level):
    swapped = PairedCounts(b=pairs.c, c=pairs.b, n=pairs.n)

    interval, mirrored = tango_interval(pairs, level), tango_interval(swapped, level)

    assert -1 <= interval.low <= pairs.difference <= interval.high <= 1
    assert (mirrored.low, mirrored.high) == pytest.approx((-interval.high, -interval.low), abs=1e-9)


@given(counts, st.floats(-0.95, 0.95))
@settings(max_examples=80, deadline=None)
def test_tango_statistic_uses_the_maximum_likelihood_estimate_under_the_hypothesis(pairs, delta):
    """The constrained estimate is found here by a grid over the likelihood itself."""
    # With no item for a side the estimate may lie on the edge, which the grid leaves out.
    pairs = PairedCounts(b=pairs.b + 1, c=pairs.c + 1, n=pairs.n + 2)
    low, high = max(0.0, -delta), (1 - delta) / 2
    q = np.linspace(low, high, 40_001)[1:-1]
    concordant = pairs.n - pairs.b - pairs.c
    likelihood = (
        pairs.b * np.log(q + delta)
        + pairs.c * np.log(q)
        + concordant * np.log(np.maximum(1 - 2 * q - delta, 1e-300))
    )
    best = q[likelihood.argmax()]
    variance = pairs.n * (2 * best + delta * (1 - delta))

    expected = (pairs.b - pairs.c - pairs.n * delta) / np.sqrt(variance)

    assert tango_statistic(pairs, delta) == pytest.approx(expected, rel=2e-3, abs=2e-3)


def test_tango_statistic_at_zero_is_mcnemars():
    pairs = PairedCounts(b=57, c=60, n=300)

    assert tango_statistic(pairs, 0.0) ** 2 == pytest.approx(mcnemar(pairs).chi2, rel=1e-12)


def test_items_without_an_answer_from_both_sides_are_left_out_and_counted():
    pairs = count_pairs([1, 1, 0, 0, -1, 1], [1, 0, 1, 0, 1, -1])

    assert pairs == PairedCounts(b=1, c=1, n=4, n_missing=2)


def test_bad_input_is_refused():
    with pytest.raises(ValueError, match="may hold only 1"):
        count_pairs([2], [1])
    with pytest.raises(ValueError, match="equally long"):
        count_pairs([1, 0], [1])
    with pytest.raises(ValueError, match="fit into `n`"):
        PairedCounts(b=5, c=6, n=10)
    with pytest.raises(ValueError, match="no item"):
        tango_interval(PairedCounts(b=0, c=0, n=0))
    with pytest.raises(ValueError, match="level"):
        tango_interval(PairedCounts(b=1, c=1, n=9), 1.0)


@pytest.mark.slow
@pytest.mark.parametrize(("p12", "p21"), [(0.10, 0.08), (0.30, 0.10), (0.20, 0.00)])
def test_tango_covers_at_its_level(p12, p21):
    rng, n, runs = np.random.default_rng(20), 60, 2000
    draws = rng.multinomial(n, [p12, p21, 1 - p12 - p21], size=runs)
    seen, hits = {}, 0
    for b, c, _ in draws:
        if (b, c) not in seen:
            seen[b, c] = tango_interval(PairedCounts(b=int(b), c=int(c), n=n))
        hits += seen[b, c].low <= p12 - p21 <= seen[b, c].high

    assert hits / runs == pytest.approx(0.95, abs=0.02)
