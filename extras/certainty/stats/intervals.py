"""Quality of certainties and the squared gap to right answers, with intervals."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import sparse

from analysis.stats.certainty.calibration import MIN_EACH, usable_answers
from analysis.stats.core.bootstrap import resampled_estimate, resampled_weights
from analysis.stats.core.proportions import constant_interval
from analysis.stats.core.results import (
    Estimate,
    FloatArray,
    IntArray,
    Interval,
    Reason,
    check_level,
    distinct_values,
    kinds_of,
    n_distinct,
    normal_quantile,
    relabel,
    root_between,
)

# Distance from an area of 0 or 1, which solves its own equation.
STEP = 1e-9
# Wrong answers added to n right ones in a row, after Agresti and Coull.
UNSEEN = 2


def squared_gap(
    confidence: FloatArray,
    right: IntArray,
    unit: IntArray,
    *,
    level: float = 0.95,
    note: str | None = None,
) -> Estimate:
    r"""Mean squared gap of accuracy and confidence over distinct confidences.

    Parameters
    ----------
    confidence : ndarray of float, shape (n,)
        In [0, 1].
    right : ndarray of int, shape (n,)
        1 or 0.
    unit : ndarray of int, shape (n,)
        What answers share, such as an item; codes from 0 without gaps.
    level : float, default 0.95
    note : str, optional
        Stored with the interval.

    Returns
    -------
    Estimate
        0 on average if each confidence is the probability of being right; single values can be
        negative. Undefined (``"too_few_items"``) if no two units share a confidence; confidences of
        a single unit are left out.

    Notes
    -----
    With :math:`e=y-v` the squared gap at the value :math:`v` is estimated by the mean of
    :math:`e_ie_j` over its pairs of answers from different units, which chance does not
    increase. S, the mean over values weighted by their answers, is a sum of degenerate parts with
    variance B and of a part whose variance grows with the gap itself. The interval contains every
    :math:`\theta` with :math:`(S-\theta)^2\le z^2(B+k\max(\theta,0))`, a score interval, so that
    it contains S, and 0 as often as it should if certainties are perfect.
    :math:`B=2\sum_{c\ne d}(\sum_va_vE_{cv}E_{dv})^2` with E the sums of e per unit and value and
    :math:`a_v` their weights, and at least what independent answers of perfect certainty give;
    :math:`k=(4cD+q)/n` with c the variance of right and wrong around
    the accuracy of each value (the larger of its plain mean and that weighted by squared gaps, and
    at least what 2 unseen errors would make it), D the design effect of the units, and q what the
    draw of the confidences adds. The lower end is cut off at 0, or at S where that is below.

    References
    ----------
    .. [1] A. Kumar, P. Liang and T. Ma, "Verified Uncertainty Calibration", NeurIPS 2019.
    .. [2] Y. Sun, P. Chaudhari, I. Barnett and E. Dobriban, "A Confidence Interval for the l2
       Expected Calibration Error", 2024.
    """
    values, at = np.unique(confidence, return_inverse=True)
    n_at = np.bincount(at)
    cell, n_cells = relabel(unit * values.size + at)
    unit_of, value_of = np.empty((2, n_cells), dtype=np.int64)
    unit_of[cell], value_of[cell] = unit, at
    in_cell = np.bincount(cell)
    error = np.bincount(cell, right - confidence).astype(
        np.float64
    )  # E, one entry per unit and value
    pairs = n_at**2 - np.bincount(value_of, in_cell**2, minlength=values.size)
    used = pairs > 0
    if not used.any():
        return Estimate(None, "too_few_items")
    n = int(n_at[used].sum())
    weight = np.where(used, n_at / n, 0.0)
    scale = np.divide(weight, pairs, out=np.zeros(values.size), where=used)
    products = np.bincount(value_of, error, minlength=values.size) ** 2
    products -= np.bincount(value_of, error**2, minlength=values.size)
    value = float(scale @ products)

    kept = used[at]
    perfect = values * (1 - values)
    degenerate = max(
        _degenerate_variance(error, unit_of, value_of, scale),
        2 * float(scale**2 @ (perfect**2 * pairs)),
    )
    slope = _slope(confidence[kept], right[kept], unit[kept], at[kept], n)
    low, high = _score_ends(value, degenerate, slope, normal_quantile(level))
    n_units = n_distinct(unit[kept])
    interval = Interval(low, high, level, "score of squared gaps", n_units, note=note)
    return Estimate(value, interval=interval)


def _degenerate_variance(
    error: FloatArray, unit: IntArray, value: IntArray, scale: FloatArray
) -> float:
    """B: variance of the sum over pairs of units if confidence is right on average."""
    shape = (int(unit.max()) + 1, scale.size)
    z = sparse.csr_array((error * np.sqrt(scale[value]), (unit, value)), shape=shape)
    among = float((sparse.csr_array(z.T @ z).data ** 2).sum())
    own = np.asarray((z * z).sum(axis=1))
    return 2 * max(among - float(own @ own), 0.0)


def _slope(confidence: FloatArray, right: IntArray, unit: IntArray, at: IntArray, n: int) -> float:
    """k: how fast the variance grows with the squared gap."""
    at, _ = relabel(at)
    n_at = np.bincount(at)
    accuracy = np.bincount(at, right) / n_at
    rest = right - accuracy[at]
    # Deviations from a mean of few values are too small by this factor.
    spread = np.bincount(at, rest**2) / np.maximum(n_at - 1, 1)
    gap = accuracy - np.bincount(at, confidence) / n_at
    weight = n_at / n
    steep = weight * gap**2
    unseen = UNSEEN / (n + 2 * UNSEEN)
    by_gap = float(steep @ spread / steep.sum()) if steep.any() else 0.0
    variance = max(float(weight @ spread), by_gap, unseen * (1 - unseen))
    sums = np.bincount(unit, rest)
    squares = float(rest @ rest)
    design = max(1.0, float(sums @ sums) / squares) if squares > 0 else 1.0
    per_unit = n / n_distinct(unit)
    drawn = float(steep @ gap**2 / steep.sum()) * per_unit if steep.any() else 0.0
    return (4 * variance * design + drawn) / n


def _score_ends(value: float, fixed: float, slope: float, z: float) -> tuple[float, float]:
    """Ends of the theta with (value - theta)^2 <= z^2 (fixed + slope * max(theta, 0))."""
    centre = value + z * z * slope / 2
    half = max(centre**2 - value**2 + z * z * fixed, 0.0) ** 0.5
    low = centre - half if value > z * fixed**0.5 else 0.0
    high = max(centre + half, value + z * fixed**0.5 if centre + half < 0 else 0.0)
    return min(low, value), high


FEW_ANSWERS = 50


@dataclass(frozen=True)
class CertaintyQuality:
    """Calibration and discrimination with intervals.

    Attributes
    ----------
    ece : Estimate
        Expected calibration error over the distinct certainties. Chance increases it, and twice in
        a resample, so it has no interval (``"biased"``); use `squared_error`.
    squared_error : Estimate
        Mean squared gap of accuracy and certainty over the distinct certainties, without what
        sampling alone adds: 0 on average for perfect certainties. See
        `analysis.stats.certainty.intervals`.
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
    # Answers of one unit are not independent, so a unit counts once among right and once among
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


def auroc_score_interval(
    auroc: float, n_right: int, n_wrong: int, *, level: float = 0.95, n_items: int | None = None
) -> Interval:
    r"""Score interval of an area under the ROC curve, also at 0, at 1 and if all certainties tie.

    Parameters
    ----------
    auroc : float
        In [0, 1].
    n_right, n_wrong : int
        Right and wrong answers, at least 1 each.
    level : float, default 0.95
    n_items : int, optional
        Number of items; by default the number of answers.

    Notes
    -----
    Newcombe's method 5: the :math:`\theta` with
    :math:`(\hat\theta-\theta)^2=z^2\frac{\theta(1-\theta)}{mn}\left[1+(N-1)\left(
    \frac{1-\theta}{2-\theta}+\frac{\theta}{1+\theta}\right)\right]`, where
    :math:`N=(m+n)/2`.

    References
    ----------
    .. [1] R. G. Newcombe, "Confidence Intervals for an Effect Size Measure Based on the
       Mann-Whitney Statistic. Part 2", Statistics in Medicine 25, 2006.

    Examples
    --------
    >>> interval = auroc_score_interval(1.0, 30, 20)
    >>> round(interval.low, 3), interval.high
    (0.916, 1.0)
    """
    if not (0 <= auroc <= 1 and min(n_right, n_wrong) >= 1):
        raise ValueError(f"{auroc} is not an area for {n_right} right and {n_wrong} wrong answers.")
    z = normal_quantile(level)
    others = (n_right + n_wrong) / 2 - 1

    def excess(theta: float) -> float:
        factor = 1 + others * ((1 - theta) / (2 - theta) + theta / (1 + theta))
        variance = theta * (1 - theta) / (n_right * n_wrong) * factor
        return float((auroc - theta) ** 2 - z * z * variance)

    low = root_between(excess, STEP / 1000, auroc - STEP) if auroc > 2 * STEP else 0.0
    high = root_between(excess, auroc + STEP, 1 - STEP / 1000) if auroc < 1 - 2 * STEP else 1.0
    n = n_right + n_wrong if n_items is None else n_items
    return Interval(low, high, level, "newcombe score", n)
