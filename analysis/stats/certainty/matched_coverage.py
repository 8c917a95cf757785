"""Accuracy of the most certain answers at the coverage of another side."""

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from analysis.stats.certainty.calibration import usable_answers
from analysis.stats.core.checks import check_level, n_distinct, t_quantile
from analysis.stats.core.few_values import in_order
from analysis.stats.core.multiway import Clusters, score_variance
from analysis.stats.core.proportions import effective_n, wilson_ends
from analysis.stats.core.results import Estimate, FloatArray, IntArray, Interval

# Answers on either side of the cut that say how often those just there are right.
MIN_NEIGHBOURS = 10
NEIGHBOURS = 0.05


def matched_accuracy(
    certainty: npt.ArrayLike,
    correct: npt.ArrayLike,
    clusters: Clusters,
    *,
    reference_high: npt.ArrayLike,
    reference_clusters: Clusters,
    level: float = 0.95,
) -> Estimate:
    r"""Accuracy of the most certain answers, as large a share as is high in a reference.

    Two sides that use the scale differently are compared at equal shares of accepted answers, not
    above one threshold.

    Parameters
    ----------
    certainty : array_like of float, shape (n,)
        0 to 100; NaN is missing and left out.
    correct : array_like of int, shape (n,)
        1 right, 0 wrong, -1 missing and left out.
    clusters : mapping of str to array_like of int, each of shape (n,)
        What answers have in common, as for `multiway_variance`.
    reference_high : array_like of bool, shape (m,)
        Whether each answer of the reference is high: their share is the coverage.
    reference_clusters : mapping of str to array_like of int, each of shape (m,)
        As `clusters`, with the same names and codes, so that answers of both sides to one item
        are recognised as such. The reference may be the side itself.
    level : float, default 0.95

    Returns
    -------
    Estimate
        The value is that of `accuracy_at_coverage`. Undefined (``"empty_group"``) without usable
        answers or if no answer of the reference is high; no interval (``"too_few_items"``)
        below two clusters.

    Raises
    ------
    ValueError
        If the arrays do not fit together or a number is out of range.

    Notes
    -----
    With coverage c, n answers, weight :math:`w_i` 1 above the cut, 0 below it and in between for
    the answers tied at it, :math:`\hat A=\sum_iw_iy_i/(cn)`. Both the cut and c are estimated;
    with m the accuracy of the answers next to the cut, to first order

    .. math:: \hat A-A=\frac1{cn}\sum_i[w_i(y_i-m)-c(A-m)]+\frac{m-A}{c}(\hat c-c),

    whose cluster-robust variance gives an effective number of answers and Wilson's interval with
    a t quantile, as for `multiway_proportion`. m is the mean over the tenth of the answers around
    the cut, at least 20, and those tied at it.

    Examples
    --------
    >>> result = matched_accuracy(
    ...     [90, 80, 70, 60], [1, 1, 0, 0], {"item": range(4)},
    ...     reference_high=[1, 0, 1, 0], reference_clusters={"item": range(4)},
    ... )
    >>> result.value, result.interval.method
    (1.0, 'coverage-matched wilson')
    """
    check_level(level)
    high = np.asarray(reference_high, dtype=np.bool_)
    values, right, _ = usable_answers(certainty, correct)
    known = ~np.isnan(np.asarray(certainty, dtype=np.float64)) & (np.asarray(correct) >= 0)
    if values.size == 0 or not high.any():
        return Estimate(None, "empty_group")
    if clusters.keys() != reference_clusters.keys():
        raise ValueError("`clusters` and `reference_clusters` must have the same names.")
    n, coverage = values.size, float(high.mean())
    weight, near = _around_the_cut(values, coverage)
    accepted = coverage * n
    share = min(1.0, float(weight @ right) / accepted)
    at_cut = float(right[near].mean())

    own = (weight * (right - at_cut) - coverage * (share - at_cut)) / accepted
    through_coverage = (at_cut - share) / coverage * (high - coverage) / high.size
    together = {
        name: np.concatenate([np.asarray(codes)[known], np.asarray(reference_clusters[name])])
        for name, codes in clusters.items()
    }
    variance = score_variance(np.concatenate([own, through_coverage]), together)
    if variance is None:
        return Estimate(share, interval_reason="too_few_items")
    fewest = min(variance.n_clusters[name] for name in variance.used)
    at_most = _n_clusters(together, own.size, weight)
    # All right or all wrong: nothing varies among the accepted, whatever is next to the cut.
    spread = variance.variance if 1e-12 < share < 1 - 1e-12 else 0.0
    low, top = wilson_ends(
        share,
        effective_n(share, max(1, round(accepted)), spread, at_most=at_most),
        t_quantile(fewest - 1, (1 + level) / 2),
    )
    interval = Interval(
        low,
        top,
        level,
        "coverage-matched wilson",
        variance.n_clusters.get("item", n),
        variance.n_clusters.get("annotator"),
    )
    return Estimate(share, interval=interval)


def _around_the_cut(values: FloatArray, coverage: float) -> tuple[FloatArray, npt.NDArray[np.intp]]:
    """Weight of each answer at this coverage, and the answers next to the cut."""
    order = in_order(-values)
    wanted = coverage * values.size
    cut = values[order[min(int(wanted), values.size - 1)]]
    above, at = values > cut, values == cut
    part = np.clip((wanted - above.sum()) / at.sum(), 0, 1)
    weight = np.where(above, 1.0, np.where(at, part, 0.0))
    window = max(MIN_NEIGHBOURS, int(NEIGHBOURS * values.size))
    place = int(wanted)
    neighbours = order[max(0, place - window) : place + window]
    return weight, np.union1d(neighbours, np.flatnonzero(at))


def _n_clusters(clusters: Mapping[str, IntArray], n: int, weight: FloatArray) -> int:
    """Fewest clusters that the accepted answers come from."""
    return min(n_distinct(codes[:n][weight > 0]) for codes in clusters.values())
