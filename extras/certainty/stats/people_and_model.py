"""Certainty of people and of models: use of the scale, item by item, and as distributions."""

import warnings
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import scipy

from analysis.stats.certainty.human_llm import MIN_FOR_INTERVAL
from analysis.stats.core.results import (
    FloatArray,
    Interval,
    Reason,
    check_level,
    normal_quantile,
)

MIN_PAIRS = 3
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
    `like_for_like`.

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
    test = scipy.stats.permutation_test(
        (difference,),
        lambda signed, axis: np.sum(ranks * (signed > 0), axis=axis),
        permutation_type="samples",
        vectorized=True,
        n_resamples=np.inf,
    )
    return float(test.pvalue)


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
