"""Intervals for data without variation, where an interval from resamples has no width."""

from scipy import optimize

from analysis.stats.core.checks import check_level, normal_quantile
from analysis.stats.core.results import Interval

STEP = 1e-9  # distance from an area of 0 or 1, which solves its own equation


def constant_interval(
    value: float, n: int, *, level: float = 0.95, low: float = 0.0, high: float = 1.0
) -> Interval:
    r"""Exact interval of the mean of `n` independent values that are all the same.

    Parameters
    ----------
    value : float
        The common value.
    n : int
        Number of values, at least 1.
    level : float, default 0.95
    low, high : float, default 0 and 1
        Smallest and largest possible value.

    Notes
    -----
    If one value had a smaller probability than :math:`L=(1-level)^{1/n}`, all n would rarely have
    it. With at least L at `value` and the rest anywhere in its range, the mean lies between
    :math:`Lv+(1-L)\,low` and :math:`Lv+(1-L)\,high`: the rule of three, for any value.

    Examples
    --------
    >>> interval = constant_interval(1.0, 60)
    >>> round(interval.low, 3), interval.high
    (0.951, 1.0)
    """
    check_level(level)
    if not (n >= 1 and low <= value <= high):
        raise ValueError(f"`value` must lie in {low} to {high} and `n` be positive: {value}, {n}.")
    mass = (1 - level) ** (1 / n)
    least, most = (value + (1 - mass) * (end - value) for end in (low, high))
    return Interval(least, most, level, "exact, all values the same", n)


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
        raise ValueError(f"No area of {n_right} right and {n_wrong} wrong answers: {auroc}.")
    z = normal_quantile(level)
    others = (n_right + n_wrong) / 2 - 1

    def excess(theta: float) -> float:
        factor = 1 + others * ((1 - theta) / (2 - theta) + theta / (1 + theta))
        variance = theta * (1 - theta) / (n_right * n_wrong) * factor
        return float((auroc - theta) ** 2 - z * z * variance)

    low = optimize.brentq(excess, STEP / 1000, auroc - STEP) if auroc > 2 * STEP else 0.0
    high = optimize.brentq(excess, auroc + STEP, 1 - STEP / 1000) if auroc < 1 - 2 * STEP else 1.0
    n = n_right + n_wrong if n_items is None else n_items
    return Interval(float(low), float(high), level, "newcombe score", n)
