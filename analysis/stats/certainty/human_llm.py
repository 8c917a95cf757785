"""Certainty of people and of models: use of the scale, item by item, and as distributions."""

import math
import warnings
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import scipy
from scipy import special

from ..comparison.general_difference import interval_of, why_not
from ..core.results import (
    EstimateAndTest,
    FloatArray,
    Interval,
    Reason,
    check_level,
    distinct_values,
    mid_ranks,
    normal_quantile,
    t_quantile,
)
from ..core.shared_variance import Sharing

MIN_PAIRS = 3
MIN_FOR_INTERVAL = 10
# Most items for which SciPy computes the exact distribution with tied sizes.
MAX_SIGN_CHOICES = 13


@dataclass(frozen=True)
class CertaintyPairs:
    """Comparison of two certainties on the same items.

    Attributes
    ----------
    n : int
        Items with both.
    pearson, spearman, kendall : float or None
        Correlations; Kendall's is tau b.
    concordance : float or None
        Lin's concordance: correlation that also penalises a different mean or spread.
    correlation_reason : str or None
        Why the correlations are None: ``"too_few_items"``, or ``"no_variation"`` if a side is
        constant.
    mean_difference : float or None
        Model minus people, in points of certainty.
    wilcoxon_p : float or None
        Two-sided signed-rank p value, equal pairs dropped.
    reason : str or None
        ``"too_few_items"`` if `mean_difference` is None.
    wilcoxon_reason : str or None
        ``"no_variation"`` if all pairs are equal.
    spearman_interval : Interval or None
        Of `spearman`, for independent items; None if that is None, 1 or -1, and with fewer
        than 10 items.
    """

    n: int
    pearson: float | None
    spearman: float | None
    kendall: float | None
    concordance: float | None
    correlation_reason: Reason | None
    mean_difference: float | None
    wilcoxon_p: float | None
    reason: Reason | None = None
    wilcoxon_reason: Reason | None = None
    spearman_interval: Interval | None = None


@dataclass(frozen=True)
class CertaintyDistributions:
    """Comparison of two distributions of certainty.

    Attributes
    ----------
    n_human, n_model : int
        Certainties given.
    human_mean, model_mean, human_sd, model_sd : float or None
        Means and standard deviations in points (ddof 1).
    ks, ks_p : float or None
        Largest distance of the two distribution functions and its p value, which treats the
        answers as independent.
    wasserstein : float or None
        Mean shift, in points, that turns one distribution into the other.
    reason : str or None
        ``"too_few_items"`` if a side has fewer than 3.
    """

    n_human: int
    n_model: int
    human_mean: float | None
    model_mean: float | None
    human_sd: float | None
    model_sd: float | None
    ks: float | None
    ks_p: float | None
    wasserstein: float | None
    reason: Reason | None = None


def compare_certainty(
    human: npt.ArrayLike, model: npt.ArrayLike, *, level: float = 0.95
) -> CertaintyPairs:
    r"""Compare the certainty of people and model item by item.

    Parameters
    ----------
    human, model : array_like of float, shape (n_items,)
        Certainty of each side on the same items, 0 to 100; NaN is missing. Items without both
        sides are left out.
    level : float, default 0.95
        Of the interval of Spearman's correlation.

    Returns
    -------
    CertaintyPairs

    Raises
    ------
    ValueError
        If the shapes differ or a value is out of range.

    Notes
    -----
    Lin: :math:`\rho_c=\frac{2s_{xy}}{s_x^2+s_y^2+(\bar x-\bar y)^2}` with moments over n. Check
    what you compare: a mean over three people varies less than one model's number; see
    :func:`analysis.stats.certainty.like_for_like.like_for_like`.

    References
    ----------
    .. [1] Lin, "A concordance correlation coefficient to evaluate reproducibility", Biometrics
       45 (1989), 255-268.
    .. [2] Bonett and Wright, "Sample size requirements for estimating Pearson, Kendall and Spearman
       correlations", Psychometrika 65 (2000), 23-28.

    Examples
    --------
    >>> result = compare_certainty([50, 60, 70, 90], [60, 70, 80, 100])
    >>> round(result.pearson, 6), round(result.concordance, 4), result.mean_difference
    (1.0, 0.814, 10.0)
    """
    check_level(level)
    people, machine = _certainties(human), _certainties(model)
    if people.shape != machine.shape:
        raise ValueError(f"`human` and `model` differ in length: {people.size} and {machine.size}.")
    both = ~np.isnan(people) & ~np.isnan(machine)
    x, y = people[both], machine[both]
    n = int(x.size)
    if n < MIN_PAIRS:
        few: Reason = "too_few_items"
        return CertaintyPairs(n, None, None, None, None, few, None, None, few, few)

    wilcoxon_p = _signed_ranks_p(y - x) if np.any(x != y) else None
    wilcoxon_reason: Reason | None = None if wilcoxon_p is not None else "no_variation"
    mean_difference = float(np.mean(y - x))
    # Means of several certainties may differ by rounding alone.
    if min(np.ptp(x), np.ptp(y)) < 1e-9:
        return CertaintyPairs(
            *(n, None, None, None, None, "no_variation", mean_difference, wilcoxon_p),
            wilcoxon_reason=wilcoxon_reason,
        )
    covariance = float(np.mean((x - x.mean()) * (y - y.mean())))
    spearman = float(scipy.stats.spearmanr(x, y).statistic)
    return CertaintyPairs(
        n=n,
        pearson=float(scipy.stats.pearsonr(x, y).statistic),
        spearman=spearman,
        kendall=float(scipy.stats.kendalltau(x, y, variant="b").statistic),
        concordance=2 * covariance / float(x.var() + y.var() + mean_difference**2),
        correlation_reason=None,
        mean_difference=mean_difference,
        wilcoxon_p=wilcoxon_p,
        wilcoxon_reason=wilcoxon_reason,
        spearman_interval=_spearman_interval(spearman, n, level),
    )


def _signed_ranks_p(difference: FloatArray) -> float:
    """Compute the p value of `scipy.stats.wilcoxon`, without its slow path for few items.

    With ties or equal pairs among few items scipy goes through every choice of signs, and ranks the
    items again for each. Ranks do not depend on signs, so all choices are computed at once here.
    """
    unequal, size = difference != 0, np.abs(difference)
    if difference.size > MAX_SIGN_CHOICES or np.unique(size[unequal]).size == difference.size:
        return float(scipy.stats.wilcoxon(difference, zero_method="wilcox").pvalue)
    ranks = np.zeros(difference.size)
    ranks[unequal] = scipy.stats.rankdata(size[unequal])
    found = scipy.stats.permutation_test(
        (difference,),
        lambda signed, axis: np.sum(ranks * (signed > 0), axis=axis),
        permutation_type="samples",
        vectorized=True,
        n_resamples=np.inf,
    )
    return float(found.pvalue)


def _spearman_interval(rho: float, n: int, level: float) -> Interval | None:
    """Bonett and Wright's interval, by Fisher's z."""
    if n < MIN_FOR_INTERVAL or abs(rho) > 1 - 1e-9:
        return None
    half = normal_quantile(level) * ((1 + rho**2 / 2) / (n - 3)) ** 0.5
    z = float(np.arctanh(rho))
    low, high = (float(end) for end in np.tanh([z - half, z + half]))
    return Interval(low, high, level, "bonett-wright", n)


def compare_certainty_distributions(
    human: npt.ArrayLike, model: npt.ArrayLike
) -> CertaintyDistributions:
    """Compare how people and model use the certainty scale, regardless of items.

    Parameters
    ----------
    human : array_like of float, shape (n_human,)
        All certainties of people, 0 to 100; NaN is missing and left out.
    model : array_like of float, shape (n_model,)
        All certainties of the model; the lengths may differ.

    Returns
    -------
    CertaintyDistributions

    Raises
    ------
    ValueError
        If an array is not one-dimensional or a value is out of range.

    References
    ----------
    .. [1] Hodges, "The significance probability of the Smirnov two-sample test", Arkiv foer
       Matematik 3 (1958), 469-486.

    Examples
    --------
    >>> result = compare_certainty_distributions([50, 60, 70], [60, 70, 80])
    >>> round(result.ks, 4), round(result.wasserstein, 6)
    (0.3333, 10.0)
    """
    people, machine = _certainties(human), _certainties(model)
    people, machine = people[~np.isnan(people)], machine[~np.isnan(machine)]
    n_human, n_model = int(people.size), int(machine.size)
    if min(n_human, n_model) < MIN_PAIRS:
        return CertaintyDistributions(
            n_human, n_model, None, None, None, None, None, None, None, reason="too_few_items"
        )
    with warnings.catch_warnings():
        # If the exact p value overflows, SciPy warns and gives the asymptotic one.
        warnings.simplefilter("ignore", RuntimeWarning)
        test = scipy.stats.ks_2samp(people, machine)
    return CertaintyDistributions(
        n_human=n_human,
        n_model=n_model,
        human_mean=float(people.mean()),
        model_mean=float(machine.mean()),
        human_sd=float(people.std(ddof=1)),
        model_sd=float(machine.std(ddof=1)),
        ks=float(test.statistic),
        ks_p=float(test.pvalue),
        wasserstein=float(scipy.stats.wasserstein_distance(people, machine)),
    )


def _certainties(values: npt.ArrayLike) -> FloatArray:
    certainty = np.asarray(values, dtype=np.float64)
    if certainty.ndim != 1:
        raise ValueError(f"Certainties must be one-dimensional, got shape {certainty.shape}.")
    stated = certainty[~np.isnan(certainty)]
    if stated.size and not (stated.min() >= 0 and stated.max() <= 100):
        raise ValueError("Certainties must lie between 0 and 100.")
    return certainty


def general_spearman(
    first: npt.ArrayLike, second: npt.ArrayLike, sharing: Sharing, *, level: float = 0.95
) -> EstimateAndTest:
    r"""Rank correlation over items, with shared clusters as a sample.

    Parameters
    ----------
    first, second : array_like of float, shape (n_items,)
        Certainties; NaN is missing, and such items are left out.
    sharing : Sharing
        What the items share, including the people behind the certainties.
    level : float, default 0.95

    Returns
    -------
    EstimateAndTest
        In [-1, 1]. Undefined with fewer than two items (``"too_few_items"``) or if a side is
        constant (``"no_variation"``). No interval with fewer than 10 items or with too few
        clusters, and if the correlation is 1 or -1 (``"no_variation"``).

    Notes
    -----
    With u and v the mid-ranks as shares less one half, :math:`\rho=C/\sqrt{UV}` for
    :math:`C=\overline{uv},U=\overline{u^2},V=\overline{v^2}`. The influence of item i on C is
    :math:`u_iv_i+\overline{K(x_i,x_j)v_j}+\overline{K(y_i,y_j)u_j}` with K = 1 if the first value
    is smaller, ½ if both are equal, and that on U and V has the same form. The influence on
    :math:`\rho` follows by the delta method, its mean has the variance of `Sharing.spread`, and
    the interval is of Fisher's z with the t quantile. For independent items it is close to that of
    Bonett and Wright.

    Examples
    --------
    >>> sharing = Sharing.of_items(40, {"persona": np.arange(40) // 4})
    >>> found = general_spearman([90, 60, 75, 80, 55] * 8, [80, 65, 60, 90, 70] * 8, sharing)
    >>> round(found.value, 3), round(found.interval.low, 3), round(found.interval.high, 3)
    (0.5, 0.277, 0.672)
    >>> round(found.p, 5)
    0.00015
    """
    check_level(level)
    x, y = (np.asarray(side, dtype=np.float64) for side in (first, second))
    if not x.shape == y.shape == (sharing.n,):
        raise ValueError(f"Both sides must have shape ({sharing.n},), got {x.shape}, {y.shape}.")
    both = np.flatnonzero(~np.isnan(x) & ~np.isnan(y))
    x, y = x[both], y[both]
    if x.size < 2:
        return EstimateAndTest(None, "too_few_items")
    if min(np.ptp(x), np.ptp(y)) < 1e-9:
        return EstimateAndTest(None, "no_variation")
    rho, influence = _influence(x, y)
    within = sharing if both.size == sharing.n else sharing.take(both)
    if x.size < MIN_FOR_INTERVAL:
        return EstimateAndTest(rho, interval_reason="too_few_items")
    if reason := why_not(within):
        return EstimateAndTest(rho, interval_reason=reason)
    spread = within.spread(influence)
    variance = float(spread.variance[0])
    if abs(rho) > 1 - 1e-9 or variance <= 0:
        return EstimateAndTest(rho, interval_reason="no_variation")
    df = float(spread.degrees_of_freedom[0])
    se, z = math.sqrt(variance) / (1 - rho**2), math.atanh(rho)
    half = t_quantile(df, (1 + level) / 2) * se
    low, high = math.tanh(z - half), math.tanh(z + half)
    interval = interval_of(low, high, level, "general fisher z", within)
    return EstimateAndTest(rho, interval=interval, p=2 * float(special.stdtr(df, -abs(z) / se)))


def _influence(x: FloatArray, y: FloatArray) -> tuple[float, FloatArray]:
    """The correlation of ranks, and how much each item moves it."""
    n = x.size
    u, v = ((mid_ranks(side) - 0.5) / n - 0.5 for side in (x, y))
    of_both = u * v + _above(x, v) + _above(y, u)
    of_u, of_v = (share**2 + 2 * _above(side, share) for side, share in ((x, u), (y, v)))
    both, uu, vv = float(u @ v) / n, float(u @ u) / n, float(v @ v) / n
    rho = min(max(both / math.sqrt(uu * vv), -1.0), 1.0)
    moved = (of_both - of_both.mean()) / math.sqrt(uu * vv)
    moved -= rho / 2 * ((of_u - of_u.mean()) / uu + (of_v - of_v.mean()) / vv)
    return rho, moved


def _above(side: FloatArray, weights: FloatArray) -> FloatArray:
    """Mean of the weights of all items with a higher value, with half of those of equal ones."""
    values, place = distinct_values(side)
    sums = np.bincount(place, weights=weights, minlength=values.size)
    higher = sums.sum() - np.cumsum(sums)
    return np.asarray((higher + sums / 2)[place] / side.size)
