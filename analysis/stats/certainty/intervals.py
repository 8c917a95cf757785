"""Quality of certainties, with intervals from resampling items."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import sparse

from analysis.stats.certainty.calibration import MIN_EACH, usable_answers
from analysis.stats.certainty.squared_gap import squared_gap
from analysis.stats.core.bootstrap import resampled_estimate, resampled_weights
from analysis.stats.core.checks import check_level, kinds_of, relabel
from analysis.stats.core.few_values import distinct_values
from analysis.stats.core.no_variation import auroc_score_interval, constant_interval
from analysis.stats.core.results import Estimate, FloatArray, IntArray, Reason

FEW_ANSWERS = 50


@dataclass(frozen=True)
class CertaintyQuality:
    """Calibration and discrimination with intervals.

    Attributes
    ----------
    ece : Estimate
        Expected calibration error over the distinct certainties. Chance increases it, in a
        resample twice, so it has no interval (``"biased"``): use `squared_error`.
    squared_error : Estimate
        Mean squared gap of accuracy and certainty over the distinct certainties, without what
        sampling alone adds: 0 on average for perfect certainties. See
        `analysis.stats.certainty.squared_gap`.
    brier : Estimate
        Brier score.
    skill : Estimate
        Brier score of the constant "share of right answers" minus `brier`: above 0, certainty
        says more than that constant.
    auroc : Estimate
        Probability that a right answer is more certain than a wrong one; ties count one half.
    n, n_missing, n_clusters : int
        Answers used, answers left out, items or clusters resampled.
    few : bool
        Fewer than 50 answers: draw no conclusion.
    """

    ece: Estimate
    squared_error: Estimate
    brier: Estimate
    skill: Estimate
    auroc: Estimate
    n: int
    n_missing: int
    n_clusters: int
    few: bool


def certainty_quality(
    certainty: npt.ArrayLike,
    correct: npt.ArrayLike,
    cluster: npt.ArrayLike | None = None,
    *,
    rng: np.random.Generator,
    n_draws: int = 1000,
    level: float = 0.95,
) -> CertaintyQuality:
    r"""Calibration error, Brier score and AUROC with their intervals.

    Parameters
    ----------
    certainty : array_like of float, shape (n,)
        Stated certainty, 0 to 100; NaN is missing.
    correct : array_like of int, shape (n,)
        1 right, 0 wrong, -1 missing.
    cluster : array_like of int, shape (n,), optional
        The units to resample: the item if it has several answers, or the block of
        annotators; any codes. By default every answer is its own.
    rng : numpy.random.Generator
        Source of randomness; its seed is stored.
    n_draws : int, default 1000
        Resamples, at least 2.
    level : float, default 0.95

    Returns
    -------
    CertaintyQuality
        Undefined (``"empty_group"``) without answers; `auroc` also as for `discrimination`.
        `squared_error` needs some certainty that was given in two clusters (``"too_few_items"``);
        certainties of a single one are left out of it. Where all resamples are the same, `brier`
        has an exact interval, `auroc` a score interval, and `skill` none (``"no_variation"``).

    Raises
    ------
    ValueError
        If the arrays do not fit or a number is out of range.

    Notes
    -----
    `brier`, `skill` and `auroc` have percentile intervals from resamples of clusters. All are
    functions of how many right and wrong answers there are at each certainty, so a resample costs
    as much as there are distinct certainties.

    References
    ----------
    .. [1] J. Broecker, "Estimating Reliability and Resolution of Probability Forecasts through
       Decomposition of the Empirical Score", Climate Dynamics 39, 2012.
    .. [2] R. G. Newcombe, "Confidence Intervals for an Effect Size Measure Based on the
       Mann-Whitney Statistic", Statistics in Medicine 25, 2006.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> certainty = rng.integers(5, 10, 400) * 10
    >>> correct = (rng.random(400) < certainty / 100).astype(int)  # perfectly calibrated
    >>> result = certainty_quality(certainty, correct, rng=rng)
    >>> round(result.ece.value, 3), abs(result.squared_error.value) < 0.002
    (0.038, True)
    """
    check_level(level)
    if n_draws < 2:
        raise ValueError(f"`n_draws` must be at least 2, got {n_draws}.")
    values, right, n_missing = usable_answers(certainty, correct)
    known = ~np.isnan(np.asarray(certainty, dtype=np.float64)) & (np.asarray(correct) >= 0)
    codes = np.arange(known.size) if cluster is None else np.asarray(cluster)
    if codes.shape != known.shape:
        raise ValueError(f"`cluster` has {codes.size} rows, `certainty` has {known.size}.")
    unit, n_units = relabel(codes[known])
    n = int(values.size)
    if n == 0:
        empty = Estimate(None, "empty_group")
        return CertaintyQuality(*(empty,) * 5, n=0, n_missing=n_missing, n_clusters=0, few=True)

    distinct, at = distinct_values(values)
    cell = at * 2 + right
    observed = np.bincount(cell, minlength=2 * distinct.size)[None, :].astype(np.float64)
    drawn = _resample(unit, n_units, cell, observed, n_draws, rng)
    points, draws = _measures(observed, distinct / 100), _measures(drawn, distinct / 100)
    made = "item bootstrap" if cluster is None else "cluster bootstrap"

    def resampled(name: str) -> Estimate:
        value = float(points[name][0])
        if n_units < 2:
            return Estimate(value, interval_reason="too_few_items")
        return resampled_estimate(
            value, draws[name], level=level, method=made, n_items=n_units, rng=rng
        )

    return CertaintyQuality(
        ece=Estimate(float(points["ece"][0]), interval_reason="biased"),
        squared_error=squared_gap(values / 100, right, unit, level=level),
        brier=_with_exact_interval(resampled("brier"), n_units, level),
        skill=resampled("skill"),
        auroc=_auroc(resampled, right, unit, level),
        n=n,
        n_missing=n_missing,
        n_clusters=n_units,
        few=n < FEW_ANSWERS,
    )


def _with_exact_interval(brier: Estimate, n_units: int, level: float) -> Estimate:
    """Brier score; if no resample changes it, with the interval of a constant."""
    if brier.value is None or brier.interval_reason != "no_variation":
        return brier
    return Estimate(brier.value, interval=constant_interval(brier.value, n_units, level=level))


def _auroc(
    resampled: Callable[[str], Estimate], right: IntArray, unit: IntArray, level: float
) -> Estimate:
    reason = _auroc_reason(right)
    if reason:
        return Estimate(None, reason)
    found = resampled("auroc")
    if found.value is None or found.interval_reason != "no_variation":
        return found
    # Answers of one unit are not independent: each counts once among the right, once among the
    # wrong.
    n_right, n_wrong = (int(np.unique(unit[right == side]).size) for side in (1, 0))
    interval = auroc_score_interval(
        found.value, n_right, n_wrong, level=level, n_items=int(unit.max()) + 1
    )
    return Estimate(found.value, interval=interval)


def _auroc_reason(right: IntArray) -> Reason | None:
    fewest = min(int(right.sum()), int(right.size - right.sum()))
    if fewest == 0:
        return "no_variation"
    return "too_few_items" if fewest < MIN_EACH else None


def _resample(
    unit: IntArray,
    n_units: int,
    cell: IntArray,
    observed: FloatArray,
    n_draws: int,
    rng: np.random.Generator,
) -> FloatArray:
    """Answers per (certainty, right or wrong) in resamples of units, shape (n_draws, cells)."""
    if n_units == cell.size:
        n = int(observed.sum())
        return rng.multinomial(n, observed[0] / n, n_draws).astype(np.float64)
    # Units with the same answers are one kind, and the sums of whole numbers stay the same.
    kind, n_kinds = kinds_of(unit, cell, n_units)
    example = np.empty(n_kinds, dtype=np.int64)
    example[kind] = np.arange(n_units)
    kept = example[kind[unit]] == unit
    shape = (observed.size, n_kinds)
    place = (cell[kept], kind[unit[kept]])
    answers = sparse.csr_array((np.ones(place[0].size), place), shape=shape)
    return np.stack([answers @ drawn for drawn in resampled_weights(n_units, n_draws, rng, kind)])


def _measures(cells: FloatArray, confidence: FloatArray) -> dict[str, FloatArray]:
    """Every measure of each row of counts; NaN where undefined."""
    wrong, right = cells[:, 0::2], cells[:, 1::2]
    at = wrong + right
    n = at.sum(axis=1)
    gap = np.abs(right - at * confidence)
    brier = (wrong * confidence**2 + right * (1 - confidence) ** 2).sum(axis=1) / n
    base = right.sum(axis=1) / n
    # Right answers beat the wrong ones below them, and half of the equally certain ones.
    below = np.cumsum(wrong, axis=1) - wrong
    pairs = right.sum(axis=1) * wrong.sum(axis=1)
    won = (right * (below + wrong / 2)).sum(axis=1)
    return {
        "ece": gap.sum(axis=1) / n,
        "brier": brier,
        "skill": base * (1 - base) - brier,
        "auroc": np.divide(won, pairs, out=np.full(n.shape, np.nan), where=pairs > 0),
    }
