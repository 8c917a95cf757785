"""Statistics keep their promises in a few studies, and a broken promise is noticed."""

from functools import partial
from statistics import fmean, stdev

import numpy as np
import pytest

from analysis.stats import Interval
from benchmarks.simulations.families import agreement
from benchmarks.simulations.method_checks import calls_of, families, measure
from benchmarks.simulations.promises import (
    Counts,
    MethodCheck,
    compared,
    covers,
    errs,
    is_on_average,
)
from tests.analysis.stats.reference import vector

EVERY = [(family.name, check) for family in families().values() for check in family.checks]


@pytest.mark.nightly
@pytest.mark.slow
@pytest.mark.parametrize(
    ("family", "check"), EVERY, ids=[f"{family}: {check.name}" for family, check in EVERY]
)
def test_a_statistic_keeps_its_promises(family, check):
    found = measure(family, check, calls=calls_of(check, quick=True))

    assert not [finding for finding in found if finding.kept is False]
    assert all(finding.n for finding in found)


def test_names_are_unique_and_every_promise_is_counted_or_undefined():
    for family in families().values():
        names = [check.name for check in family.checks]
        assert len(names) == len(set(names)), family.name
        assert all(check.full >= check.quick >= check.batch for check in family.checks)


def near(rng: np.random.Generator, counts: Counts, *, shift: float) -> None:
    """Intervals of the mean of a normal value, moved by `shift` standard errors."""
    value = float(rng.normal(0, 1)) + shift
    interval = Interval(value - 1.96, value + 1.96, 0.95, "normal", 1)
    counts.covered("interval", interval, 0.0)
    counts.happened("is found", abs(value) > 1.96)
    counts.measured("value", value)
    counts.covered("usual interval", None, 0.0)


PROMISES = {
    "interval": covers(),
    "is found": errs(0.05, most=0.06),
    "value": is_on_average(0.0),
    "usual interval": compared(),
}


def test_promises_that_are_kept_and_broken_are_told_apart():
    good, bad = (
        MethodCheck("normal", "One value.", partial(near, shift=shift), PROMISES, 500, 500)
        for shift in (0.0, 1.0)
    )

    kept = {found.name: found for found in measure("family", good, calls=500)}
    broken = {found.name: found for found in measure("family", bad, calls=500)}

    assert [found.kept for found in kept.values()] == [True, True, True, None]
    assert [found.kept for found in broken.values()] == [False, False, False, None]
    assert kept["interval"].found == pytest.approx(0.95, abs=0.03)
    share = kept["interval"].found
    assert kept["interval"].error == pytest.approx((share * (1 - share) / 500) ** 0.5)
    assert kept["usual interval"].found is None
    assert (kept["usual interval"].n, kept["usual interval"].undefined) == (0, 500)


def test_a_promise_without_a_single_value_is_not_kept():
    check = MethodCheck("none", "None.", lambda rng, counts: None, {"interval": covers()}, 3, 3)

    [found] = measure("family", check, calls=3)

    assert (found.kept, found.n) == (False, 0)


def test_the_seed_and_the_name_alone_decide_the_numbers():
    check = next(check for family, check in EVERY if family == "agreement")

    one, two = (measure("agreement", check, calls=5, seed=3) for _ in range(2))

    assert one == two
    assert one != measure("agreement", check, calls=5, seed=4)


@pytest.mark.nightly
def test_the_spread_of_alpha_is_the_reference_one():
    counts = Counts()
    rng = np.random.default_rng(7)
    for _ in range(300):
        agreement.alpha(rng, counts, n_items=300, k=3)

    mean, sd = vector("alpha_precision")["N=300,k=3,true_alpha=0.200"]
    assert fmean(counts.values["alpha"]) == pytest.approx(mean, abs=4 * sd / 300**0.5)
    assert stdev(counts.values["alpha"]) == pytest.approx(sd, rel=0.25)


@pytest.mark.nightly
def test_usual_methods_fail_where_the_references_say_that_they_do():
    single = next(check for _, check in EVERY if check.name == "single answers")

    found = {one.name: one for one in measure("accuracy", single, calls=600)}

    reference = vector("accuracy_ci_coverage")["sd_item=1,sd_ann=0.6 (logit)"]["wilson"][0]
    assert found["Wilson"].found == pytest.approx(reference, abs=0.06)
    assert found["two-way interval"].kept
