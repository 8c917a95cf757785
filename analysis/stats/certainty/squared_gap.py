"""Squared gap between stated certainty and the share of right answers, with an interval."""

import numpy as np
from scipy import sparse

from analysis.stats.core.checks import n_distinct, normal_quantile, relabel
from analysis.stats.core.results import Estimate, FloatArray, IntArray, Interval

# Wrong answers that n right ones in a row may hide, as Agresti and Coull add them.
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
        What answers share, such as an item; codes from 0 without holes.
    level : float, default 0.95
    note : str, optional
        Stored with the interval.

    Returns
    -------
    Estimate
        0 on average if each confidence is the probability of being right; a single value may
        be negative. Undefined (``"too_few_items"``) if no two units share a confidence;
        confidences of a single unit are left out.

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
    # Deviations from a mean of few are too small by this factor.
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
