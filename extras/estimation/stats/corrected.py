"""Win rates of systems, corrected for a judge's errors."""

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from analysis.stats.comparison.general_difference import general_differences
from analysis.stats.core.results import Estimate, Reason, check_level
from analysis.stats.core.shared_variance import Sharing
from analysis.stats.systems.win_rates import Contests, half_scale, linearised, margins


@dataclass(frozen=True)
class CorrectedWinRates:
    """Win rates of a judge, corrected for its errors against a reference.

    Attributes
    ----------
    n : int
        Contests that the judge decided.
    n_both : int
        Those whose reference is not a tie.
    accuracy : Estimate
        Share of `n_both` in which judge and reference chose the same system; a tie by the judge
        counts half.
    rates : tuple of Estimate
        One per system. Undefined (``"at_chance"``) if the interval of `accuracy` reaches 1/2.
    """

    n: int
    n_both: int
    accuracy: Estimate
    rates: tuple[Estimate, ...]


def corrected_win_rates(
    contests: Contests,
    judge: npt.ArrayLike,
    reference: npt.ArrayLike,
    sharing: Sharing,
    *,
    level: float = 0.95,
) -> CorrectedWinRates:
    r"""Estimate the reference's win rates from a judge's win rates and its known errors.

    Parameters
    ----------
    contests : Contests
    judge, reference : array_like of int, shape (n_items,)
        Choices of the judge, and of the people or own answers that reveal its errors: 0, 1, 2 (a
        tie) or -1 (missing).
    sharing : Sharing
        What the items share, including the people who voted if they are the reference.
    level : float, default 0.95

    Returns
    -------
    CorrectedWinRates
        A rate whose interval is outside [0, 1] contradicts the assumption and is undefined
        (``"not_identified"``).

    Notes
    -----
    The estimator of Rogan and Gladen [1]_ for pairs: with margins :math:`m` of the judge and
    :math:`r` of the reference (1, 0, -1), :math:`E(m\mid r)=\lambda r` gives :math:`\bar r=\bar
    m/\hat\lambda`, where :math:`\hat\lambda=\sum mr/\sum r^2=2a-1` for a judge of accuracy a. It
    assumes that errors do not depend on which system wrote the better response: favouritism towards
    a system is not corrected. The interval is linearised and includes the error of
    :math:`\hat\lambda`; ends are clipped to 0 and 1.

    References
    ----------
    .. [1] W. J. Rogan and B. Gladen, "Estimating prevalence from the results of a screening
       test", American Journal of Epidemiology 107(1), 1978.

    Examples
    --------
    >>> contests = Contests.of([0] * 60, [1] * 60)
    >>> people, judge = [0, 0, 0, 0, 1, -1] * 10, [0, 0, 0, 1, 1, 0] * 10
    >>> sharing = Sharing.of_items(60, {"persona": np.arange(60) // 3})
    >>> found = corrected_win_rates(contests, judge, people, sharing)
    >>> found.accuracy.value, round(found.rates[0].value, 3)
    (0.8, 0.778)
    """
    check_level(level)
    rows = contests.rows(judge)
    judged, known = margins(judge, rows), margins(reference, rows)
    known[np.asarray(reference)[rows] < 0] = 0.0
    both = known != 0
    n_both = int(both.sum())
    agreed = (judged * known)[both]
    if not n_both:
        nothing = Estimate(None, "empty_group")
        return CorrectedWinRates(rows.size, 0, nothing, (nothing,) * contests.n_systems)
    [mean] = general_differences(agreed[None], sharing.take(rows[both]), level=level)
    accuracy, slope = half_scale(mean), float(agreed.mean())
    reason: Reason | None = mean.interval_reason
    if reason is None and (mean.interval is None or mean.interval.low <= 0):
        reason = "at_chance"
    if reason is not None:
        nothing = Estimate(None, reason)
        return CorrectedWinRates(rows.size, n_both, accuracy, (nothing,) * contests.n_systems)

    signs = contests.signs(rows)
    met = signs != 0
    sizes = met.sum(axis=1, keepdims=True)
    gained = (signs * judged).sum(axis=1, keepdims=True) / np.maximum(sizes, 1)
    # Each row of scores has mean 0, so its spread is that of the estimate.
    scores = rows.size * (signs * judged - gained * met) / np.maximum(sizes, 1) / slope
    error = np.where(both, judged * known - slope, 0.0) / n_both
    scores = scores - gained / slope**2 * rows.size * error
    value = 0.5 + gained[:, 0] / slope / 2
    within = sharing.take(rows)
    rates = tuple(
        _within_bounds(estimate) if size else Estimate(None, "empty_group")
        for estimate, size in zip(
            linearised(value, scores / 2, within, level=level), sizes[:, 0], strict=True
        )
    )
    return CorrectedWinRates(rows.size, n_both, accuracy, rates)


def _within_bounds(estimate: Estimate) -> Estimate:
    """Clip a share to 0..1."""
    assert estimate.value is not None  # noqa: S101 - undefined shares do not come here
    interval = estimate.interval
    if interval is not None:
        low, high = np.clip([interval.low, interval.high], 0.0, 1.0)
        if not low < high:
            return Estimate(None, "not_identified")
        interval = replace(interval, low=low, high=high)
    value = min(max(estimate.value, 0.0), 1.0)
    return Estimate(value, None, interval, estimate.interval_reason)
