"""How much more data would settle a comparison, if the differences seen are the true ones."""

import math
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from statistics import NormalDist
from typing import Any

import numpy as np
from scipy import special

from analysis.report.report_json import ReportJson
from analysis.report.rules import LEVEL
from analysis.report.study import competitors
from analysis.report.verdict.answer import (
    POWER,
    headline_run,
)
from analysis.stats.core.results import FloatArray

MOST_TIMES = 1e9
# Studies drawn for the power of Holm's method with several judges.
DRAWN_STUDIES, DRAWN_SEED = 4_000, 20240701


def times_more(
    difference: Mapping[str, Any], rivals: Sequence[Mapping[str, Any]] = ()
) -> tuple[float, str]:
    """How many times as much data would settle it if the observed differences are the true ones.

    With probability `POWER`, a test at 5 % then finds a difference, or finds it inside the margin,
    whichever needs less. Items, people, personas and questions are assumed to grow together. The
    `rivals` are the differences of the other competing runs, which Holm's method tests with it.
    """
    gap, se, margin = abs(difference["value"]), difference["se"], difference["margin"]
    if not se:
        return math.inf, ""
    family = [difference, *(rival for rival in rivals if rival["se"])]
    ways = []
    if gap:
        ways.append((_times_until(partial(_finds, family)), "different"))
    if gap < margin:
        ways.append((_times_until(partial(_finds_inside, family)), "equivalent"))
    return min(ways, default=(math.inf, ""))


def _times_until(power: Callable[[float], float]) -> float:
    """The least multiple of the data whose power is `POWER`."""
    few, many = 0.0, 1.0
    while power(many) < POWER and many < MOST_TIMES:
        few, many = many, many * 2
    for _ in range(30):
        middle = (few + many) / 2
        few, many = (few, middle) if power(middle) >= POWER else (middle, many)
    return many


def _finds(family: Sequence[Mapping[str, Any]], times: float) -> float:
    """How often a study so many times as large finds the first difference."""
    gaps, shrunk = _gaps_and_errors(family, times)
    if len(family) == 1:
        return NormalDist().cdf(abs(gaps[0]) / shrunk[0] - NormalDist().inv_cdf(1 - LEVEL / 2))
    estimates = gaps / shrunk + _noise(len(family))
    return _held(2 * special.ndtr(-np.abs(estimates)))


def _finds_inside(family: Sequence[Mapping[str, Any]], times: float) -> float:
    """How often both one-sided tests of such a study find the first one inside the margin."""
    gaps, shrunk = _gaps_and_errors(family, times)
    margin, normal = family[0]["margin"], NormalDist()
    if len(family) == 1:
        least = normal.inv_cdf(1 - LEVEL)
        upper, lower = ((margin + sign * gaps[0]) / shrunk[0] - least for sign in (-1, 1))
        return normal.cdf(upper) - normal.cdf(-lower)
    estimates = gaps / shrunk + _noise(len(family))
    return _held(special.ndtr(np.abs(estimates) - margin / shrunk))


def _gaps_and_errors(
    family: Sequence[Mapping[str, Any]], times: float
) -> tuple[FloatArray, FloatArray]:
    gaps, errors = (np.array([one[key] for one in family]) for key in ("value", "se"))
    return gaps, errors / math.sqrt(times)


@cache
def _noise(n: int) -> FloatArray:
    """Errors of several runs' differences; half of their variance is that of the same people."""
    rng = np.random.default_rng(DRAWN_SEED)
    own, shared = rng.normal(size=(DRAWN_STUDIES, n)), rng.normal(size=(DRAWN_STUDIES, 1))
    return np.asarray((own + shared) / math.sqrt(2))


def _held(ps: FloatArray) -> float:
    """How often Holm's method rejects the first of several tests, in a row for each study."""
    order = np.argsort(ps, axis=1)
    steps = np.take_along_axis(ps, order, axis=1) * np.arange(ps.shape[1], 0, -1)
    adjusted = np.maximum.accumulate(steps, axis=1)
    return float((adjusted[order == 0] <= LEVEL).mean())


def rivals_of(report: ReportJson) -> list[ReportJson]:
    """The differences of the other runs that compete with the headline's and have a test."""
    best = headline_run(report)
    others = (
        report["comparison"][index]["difference_general"]
        for index in competitors(report["judges"])
        if index != best
    )
    return [rival for rival in others if rival["p"] is not None]


def rounded(n: float) -> int:
    """Round up to two digits; more would suggest false precision."""
    n = max(1, math.ceil(n - 1e-9))
    unit = 10 ** max(0, len(str(n)) - 2)
    return math.ceil(n / unit) * unit
