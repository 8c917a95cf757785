"""Agreement of several people, beyond chance and for people in general."""

from collections.abc import Callable
from dataclasses import replace
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt

from ..comparison.general_difference import general_difference
from ..core.bootstrap import count_rows, estimate_with_interval, pairable, ratio
from ..core.proportions import constant_interval
from ..core.results import Estimate, FloatArray, IntArray, Interval, normal_quantile
from ..core.shared_variance import Sharing
from ..core.votes import Votes

Weights = Literal["identity", "linear", "quadratic", "ordinal"]

BAND_WIDTH = 20
N_BANDS = 5


def percent_agreement(
    counts: npt.ArrayLike,
    *,
    n_draws: int = 1000,
    rng: np.random.Generator | None = None,
    level: float = 0.95,
) -> Estimate:
    r"""Share of pairs of annotators of one item who chose the same option.

    Parameters
    ----------
    counts : array_like of int, shape (n_items, n_options)
        Votes per item and option, as of `Votes.counts`. Items with fewer than two are left out.
    n_draws : int, default 1000
        Resamples of items for the interval.
    rng : numpy.random.Generator, optional
        Source of randomness. None: no interval.
    level : float, default 0.95

    Returns
    -------
    Estimate
        In [0, 1]; undefined (``"no_pairs"``) if no item has two votes. If all items have the
        same agreement, such as 1, the interval is exact.

    Notes
    -----
    :math:`\frac1N\sum_u \sum_c \frac{c_{uc}(c_{uc}-1)}{m_u(m_u-1)}`: every item counts once,
    however many annotators it has.

    Examples
    --------
    >>> round(percent_agreement([[3, 0], [2, 1]]).value, 4)
    0.6667
    """
    rows = count_rows(counts)
    estimate = estimate_with_interval(_percent_agreement, rows, "no_pairs", n_draws, rng, level)
    if estimate.value is None or estimate.interval_reason != "no_variation":
        return estimate
    interval = constant_interval(estimate.value, len(pairable(rows)), level=level)
    return Estimate(estimate.value, interval=interval)


def fleiss_kappa(
    counts: npt.ArrayLike,
    *,
    n_draws: int = 1000,
    rng: np.random.Generator | None = None,
    level: float = 0.95,
) -> Estimate:
    r"""Fleiss' kappa, in Gwet's form for items with different numbers of votes.

    Parameters
    ----------
    counts, n_draws, rng, level
        As for `percent_agreement`.

    Returns
    -------
    Estimate
        Undefined without pairs (``"no_pairs"``), below two items (``"too_few_items"``), or
        if everybody chose one option (``"no_variation"``).

    Notes
    -----
    :math:`(p_a - p_e)/(1 - p_e)` with :math:`p_e = \sum_c \pi_c^2` and
    :math:`\pi_c = \frac1N\sum_u c_{uc}/m_u` over items with a vote; :math:`p_a` as in
    `percent_agreement`. With equally many votes on every item this is Fleiss (1971), and
    :math:`\alpha = 1 - (1 - \kappa)(n-1)/n`.

    References
    ----------
    .. [1] J. L. Fleiss, "Measuring Nominal Scale Agreement Among Many Raters", 1971.
    .. [2] K. L. Gwet, "Handbook of Inter-Rater Reliability", 4th edition, 2014.

    Examples
    --------
    >>> round(fleiss_kappa([[3, 0], [2, 1], [0, 3], [1, 2]]).value, 4)
    0.3333
    """

    def chance(prevalence: FloatArray) -> FloatArray:
        return np.asarray((prevalence**2).sum(axis=1))

    return _chance_corrected(counts, chance, n_draws, rng, level)


def brennan_prediger(
    counts: npt.ArrayLike,
    *,
    n_draws: int = 1000,
    rng: np.random.Generator | None = None,
    level: float = 0.95,
) -> Estimate:
    r"""Brennan and Prediger's kappa: chance agreement is one over the options *offered*.

    Parameters
    ----------
    counts : array_like of int, shape (n_items, n_options)
        One column per option that was offered, including options that nobody chose.
    n_draws, rng, level
        As for `percent_agreement`.

    Returns
    -------
    Estimate
        ``(p_a - 1/C) / (1 - 1/C)``; also defined if everybody chose one option. If all items
        have the same agreement, the interval is exact.

    References
    ----------
    .. [1] R. L. Brennan and D. J. Prediger, "Coefficient Kappa: Some Uses, Misuses, and
       Alternatives", 1981. Equal to Randolph's free-marginal kappa.

    Examples
    --------
    >>> round(brennan_prediger([[3, 0], [2, 1]]).value, 4)
    0.3333
    """

    def chance(prevalence: FloatArray) -> FloatArray:
        return np.full(len(prevalence), 1 / prevalence.shape[1])

    n_options = np.shape(counts)[-1]
    limits = (1 / n_options, 1 / n_options)
    return _chance_corrected(counts, chance, n_draws, rng, level, limits=limits)


def gwet_ac(
    counts: npt.ArrayLike,
    *,
    weights: Weights | FloatArray = "identity",
    n_draws: int = 1000,
    rng: np.random.Generator | None = None,
    level: float = 0.95,
) -> Estimate:
    r"""Gwet's AC1, or AC2 with weights for ordered options.

    Parameters
    ----------
    counts : array_like of int, shape (n_items, n_options)
        One column per option that was offered, in order.
    weights : {"identity", "linear", "quadratic", "ordinal"} or array_like, default "identity"
        ``"identity"`` is AC1; the others give neighbouring options partial agreement (AC2), or a
        matrix says how far each two options agree.
    n_draws, rng, level
        As for `percent_agreement`.

    Returns
    -------
    Estimate
        Also defined if everybody chose one option: then it is 1, because it counts unchosen
        options. If all items have the same agreement, the interval combines that agreement's
        interval with any possible chance agreement.

    Notes
    -----
    :math:`p_e = \frac{\sum W}{C(C-1)}\sum_c \pi_c(1-\pi_c)` with :math:`\pi_c` of
    `fleiss_kappa`, and :math:`p_a` the mean weighted agreement
    :math:`\sum_c c_{uc}((Wc_u)_c - 1)/(m_u(m_u-1))`.

    References
    ----------
    .. [1] K. L. Gwet, "Computing Inter-Rater Reliability and Its Variance in the Presence of
       High Agreement", British Journal of Mathematical and Statistical Psychology 61, 2008.

    Examples
    --------
    >>> round(gwet_ac([[2, 0]] * 118 + [[1, 1]] * 7).value, 5)
    0.94078
    """
    if isinstance(weights, str) and weights not in get_args(Weights):
        raise ValueError(
            f"`weights` must be one of {', '.join(get_args(Weights))}, got {weights!r}."
        )
    rows = count_rows(counts)
    n_options = rows.shape[1]
    if n_options < 2:
        raise ValueError("`counts` needs a column for each of at least two options.")
    matrix = _agreement_weights(weights, n_options) if isinstance(weights, str) else weights

    def chance(prevalence: FloatArray) -> FloatArray:
        spread = (prevalence * (1 - prevalence)).sum(axis=1)
        return np.asarray(matrix.sum() / (n_options * (n_options - 1)) * spread)

    limits = (0.0, float(matrix.sum()) / n_options**2)
    return _chance_corrected(rows, chance, n_draws, rng, level, matrix, limits)


def certainty_band_counts(votes: Votes) -> IntArray:
    """Votes per item and certainty band, shape (n_items, 5), for AC2.

    Bands are 1-20, 21-40, 41-60, 61-80 and 81-100; a certainty between two of them (20.5) is in
    the upper one. Missing certainties are left out.

    Parameters
    ----------
    votes : Votes
        Choices with certainties.

    Returns
    -------
    ndarray of int, shape (n_items, 5)
        Number of certainties in each band, in ascending order of the bands.

    Examples
    --------
    >>> votes = Votes.from_matrix([[0, 0, 1]], [[20, 21, 100]])
    >>> certainty_band_counts(votes).tolist()
    [[1, 1, 0, 0, 1]]
    """
    stated = ~np.isnan(votes.certainty)
    band = np.ceil(votes.certainty[stated] / BAND_WIDTH).astype(np.int64) - 1
    cells = np.bincount(votes.item[stated] * N_BANDS + band, minlength=votes.n_items * N_BANDS)
    return cells.reshape(votes.n_items, N_BANDS).astype(np.int64)


def cohen_kappa(
    one: npt.ArrayLike, other: npt.ArrayLike, *, n_options: int = 2, level: float = 0.95
) -> Estimate:
    r"""Cohen's kappa of two sources of answers, such as the human majority and a model.

    Parameters
    ----------
    one, other : array_like of int, shape (n_items,)
        Option ``0..n_options-1`` of each source; -1 is missing. Items that miss one are left
        out.
    n_options : int, default 2
        Options offered.
    level : float, default 0.95

    Returns
    -------
    Estimate
        With a normal interval, clipped to -1 and 1, that treats items as independent. Undefined
        below two items (``"too_few_items"``) and if both always gave the same single answer
        (``"no_variation"``). No interval (``"no_variation"``) if its standard error is 0, for
        example if both always agree.

    Notes
    -----
    :math:`(p_o - p_e)/(1-p_e)`; standard error of Fleiss, Cohen and Everitt (1969).

    References
    ----------
    .. [1] J. Cohen, "A Coefficient of Agreement for Nominal Scales", 1960.
    .. [2] J. L. Fleiss, J. Cohen and B. S. Everitt, "Large Sample Standard Errors of Kappa and
       Weighted Kappa", Psychological Bulletin 72(5), 1969.

    Examples
    --------
    >>> one, other = [0] * 25 + [1] * 25, [0] * 20 + [1] * 5 + [0] * 10 + [1] * 15
    >>> kappa = cohen_kappa(one, other)
    >>> round(kappa.value, 3), round(kappa.interval.low, 3), round(kappa.interval.high, 3)
    (0.4, 0.151, 0.649)
    """
    table = cross_table(one, other, n_options)
    n = int(table.sum())
    if n < 2:
        return Estimate(None, "too_few_items")
    p = table / n
    rows, columns = p.sum(axis=1), p.sum(axis=0)
    observed, chance = float(np.trace(p)), float(rows @ columns)
    if chance > 1 - 1e-12:
        return Estimate(None, "no_variation")
    kappa = (observed - chance) / (1 - chance)

    margins = columns[:, None] + rows[None, :]
    on = np.diag(p) * (1 - (rows + columns) * (1 - kappa)) ** 2
    off = (p * margins**2).sum() - (np.diag(p) * (rows + columns) ** 2).sum()
    rest = (kappa - chance * (1 - kappa)) ** 2
    variance = (on.sum() + (1 - kappa) ** 2 * off - rest) / (n * (1 - chance) ** 2)
    if variance < 1e-18:
        return Estimate(kappa, interval_reason="no_variation")
    half = normal_quantile(level) * float(variance) ** 0.5
    return Estimate(
        kappa,
        interval=Interval(
            max(kappa - half, -1.0), min(kappa + half, 1.0), level, "fleiss-cohen-everitt", n
        ),
    )


def cross_table(one: npt.ArrayLike, other: npt.ArrayLike, n_options: int) -> IntArray:
    """Items by the options of two sources, without those that miss one."""
    a, b = np.asarray(one, dtype=np.int64), np.asarray(other, dtype=np.int64)
    if a.shape != b.shape or a.ndim != 1:
        raise ValueError(f"`one` and `other` differ in shape: {a.shape}, {b.shape}.")
    if max(a.max(initial=-1), b.max(initial=-1)) >= n_options:
        raise ValueError(f"An answer lies outside the {n_options} options.")
    both = (a >= 0) & (b >= 0)
    cells = np.bincount(a[both] * n_options + b[both], minlength=n_options**2)
    return cells.reshape(n_options, n_options)


def _percent_agreement(weights: FloatArray, rows: FloatArray) -> FloatArray:
    return _observed(weights, rows, np.eye(rows.shape[1]))


def _observed(weights: FloatArray, rows: FloatArray, matrix: FloatArray) -> FloatArray:
    """Mean weighted agreement of pairs over items with two votes; NaN where there are none."""
    paired = rows.sum(axis=1) >= 2
    share = agreement_within(rows[paired], matrix)
    return ratio(weights[:, paired] @ share, weights[:, paired].sum(axis=1))


def agreement_within(paired: FloatArray, matrix: FloatArray) -> FloatArray:
    """Mean weighted agreement of the pairs of each count row; all have two votes or more."""
    m = paired.sum(axis=1)
    return np.asarray((paired * (paired @ matrix - 1)).sum(axis=1) / (m * (m - 1)))


def _chance_corrected(
    counts: npt.ArrayLike,
    chance: Callable[[FloatArray], FloatArray],
    n_draws: int,
    rng: np.random.Generator | None,
    level: float,
    matrix: FloatArray | None = None,
    limits: tuple[float, float] | None = None,
) -> Estimate:
    """``(p_a - p_e) / (1 - p_e)`` where `chance` gives p_e of the prevalences, shape (r, C).

    `limits` are the smallest and the largest possible p_e, if the largest is below 1.
    """
    rows = count_rows(counts)
    rows = rows[rows.sum(axis=1) >= 1]
    if not len(pairable(rows)):
        return Estimate(None, "no_pairs")
    if len(rows) < 2:
        return Estimate(None, "too_few_items")
    agreement = np.eye(rows.shape[1]) if matrix is None else matrix

    def statistic(weights: FloatArray, distinct: FloatArray) -> FloatArray:
        shares = distinct / distinct.sum(axis=1, keepdims=True)
        expected = chance(weights @ shares / weights.sum(axis=1, keepdims=True))
        observed = _observed(weights, distinct, agreement)
        return ratio(observed - expected, 1 - expected)

    estimate = estimate_with_interval(statistic, rows, "no_variation", n_draws, rng, level)
    if limits is None or estimate.interval_reason != "no_variation":
        return estimate
    paired = pairable(rows)
    shares = agreement_within(paired, agreement)
    if np.ptp(shares) > 1e-12:
        return estimate
    # The coefficient rises with p_a and falls with p_e.
    of_share = constant_interval(float(shares[0]), len(paired), level=level)
    low, high = (
        (share - expected) / (1 - expected)
        for share, expected in ((of_share.low, limits[1]), (of_share.high, limits[0]))
    )
    return Estimate(estimate.value, interval=replace(of_share, low=low, high=high))


def _agreement_weights(kind: Weights, n_options: int) -> FloatArray:
    distance = np.abs(np.subtract.outer(np.arange(n_options), np.arange(n_options))).astype(float)
    if kind == "identity":
        return np.eye(n_options)
    if kind == "ordinal":
        return np.asarray(1 - distance * (distance + 1) / (n_options * (n_options - 1)))
    scaled = distance / (n_options - 1)
    return np.asarray(1 - (scaled if kind == "linear" else scaled**2))


def general_agreement(counts: npt.ArrayLike, sharing: Sharing, *, level: float = 0.95) -> Estimate:
    """`percent_agreement`, with shared people, personas and questions as a sample.

    Parameters
    ----------
    counts : array_like of int, shape (n_items, n_options)
        As for `percent_agreement`.
    sharing : Sharing
        What the items share, including the people who voted.
    level : float, default 0.95

    Returns
    -------
    Estimate
        Interval of `general_difference`, cut off at 0 and 1; none if there are too few people
        (``"too_few_annotators"``), personas or questions (``"too_few_clusters"``).

    Examples
    --------
    >>> sharing = Sharing.of_items(40, {"persona": np.arange(40) // 4})
    >>> found = general_agreement([[3, 0], [2, 1]] * 20, sharing)
    >>> round(found.value, 2), round(found.interval.low, 2), round(found.interval.high, 2)
    (0.67, 0.56, 0.77)
    """
    rows = count_rows(counts)
    sizes = rows.sum(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        same = (rows * (rows - 1)).sum(axis=1) / (sizes * (sizes - 1))
    difference = general_difference(np.where(sizes > 1, same, np.nan), sharing, level=level)
    if difference.value is None:
        return Estimate(None, "no_pairs")
    interval = difference.interval
    if interval is not None:
        interval = replace(interval, low=max(interval.low, 0.0), high=min(interval.high, 1.0))
    return Estimate(difference.value, interval=interval, interval_reason=difference.interval_reason)
