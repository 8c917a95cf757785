"""Verbosity bias: preference for longer responses beyond what is right."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import expit

from analysis.stats.accuracy.bias import chosen_slots
from analysis.stats.comparison.paired import count_pairs, tango_interval
from analysis.stats.core.checks import check_level, t_quantile
from analysis.stats.core.multiway import Clusters, degrees_of_freedom, score_variance
from analysis.stats.core.results import Estimate, FloatArray, IntArray, Interval, Reason

MAX_STEPS = 50
# Log odds that data of ordinary size cannot distinguish from infinity.
SEPARATED = 15.0


@dataclass(frozen=True)
class VerbosityBias:
    """Preference of a judge for longer responses beyond what is right.

    Attributes
    ----------
    longer_chosen, longer_true : float or None
        Shares of `n` on which the longer response was chosen, and is right.
    difference : Estimate
        The first minus the second, with Tango's interval.
    n, n_equal, n_missing : int
        Items with choice and truth whose responses differ in length; items left out because
        the lengths are equal, and because choice or truth is missing.
    """

    longer_chosen: float | None
    longer_true: float | None
    difference: Estimate
    n: int
    n_equal: int
    n_missing: int


@dataclass(frozen=True)
class LengthPull:
    """Effect of the length of a response on the odds that it is chosen.

    Attributes
    ----------
    per_doubling : Estimate
        Log odds of choosing a response, for each doubling of its length relative to the other,
        between items with the same right response. Above 0, longer responses are preferred.
    n, n_missing : int
        Items used; items without a choice, a truth or a length.
    """

    per_doubling: Estimate
    n: int
    n_missing: int


def verbosity_bias(
    first_length: npt.ArrayLike,
    second_length: npt.ArrayLike,
    answer: npt.ArrayLike,
    truth: npt.ArrayLike,
    *,
    level: float = 0.95,
) -> VerbosityBias:
    """Difference between how often a judge chooses the longer response and how often it is right.

    Parameters
    ----------
    first_length, second_length : array_like of int, shape (n_items,)
        Lengths of both responses, in any unit, for example characters.
    answer, truth : array_like of int, shape (n_items,)
        Response chosen and right response: 0 the first, 1 the second, -1 missing or a tie.
    level : float, default 0.95
        Nominal coverage of the interval.

    Returns
    -------
    VerbosityBias
        Undefined (``"empty_group"``) if no item with responses of different length has both.

    Raises
    ------
    ValueError
        If the lengths of the arrays differ or a choice is not -1, 0 or 1.

    Notes
    -----
    If people prefer longer responses too, a judge that chooses them is right; only the
    excess is a bias. Tango's interval of the paired difference treats items as independent.

    Examples
    --------
    >>> result = verbosity_bias([9, 5, 8, 3, 4], [3, 7, 2, 9, 4], [0, 1, 0, 1, 0], [0, 0, 1, 1, 1])
    >>> result.longer_chosen, result.longer_true, result.difference.value, result.n_equal
    (1.0, 0.5, 0.5, 1)
    """
    one, two, chosen, right = _aligned(first_length, second_length, answer, truth)
    known = (chosen >= 0) & (right >= 0)
    used = known & (one != two)
    longer = (two > one).astype(np.int64)
    n, n_equal, n_missing = int(used.sum()), int((known & ~used).sum()), int((~known).sum())
    if n == 0:
        return VerbosityBias(None, None, Estimate(None, "empty_group"), 0, n_equal, n_missing)
    chose, true = (chosen == longer)[used], (right == longer)[used]
    pairs = count_pairs(chose, true)
    return VerbosityBias(
        longer_chosen=float(chose.mean()),
        longer_true=float(true.mean()),
        difference=Estimate(pairs.difference, interval=tango_interval(pairs, level)),
        n=n,
        n_equal=n_equal,
        n_missing=n_missing,
    )


def length_pull(
    first_length: npt.ArrayLike,
    second_length: npt.ArrayLike,
    answer: npt.ArrayLike,
    truth: npt.ArrayLike,
    *,
    clusters: Clusters | None = None,
    level: float = 0.95,
) -> LengthPull:
    r"""Logistic regression of the choice on the ratio of lengths and the right response.

    `verbosity_bias` measures how often the longer response wins; this measures the effect of
    the ratio of lengths, and allows for longer responses being right more often.

    Parameters
    ----------
    first_length, second_length, answer, truth
        As for `verbosity_bias`; a response of length 0 has no ratio and its item is left out.
    clusters : mapping of str to array_like of int, each of shape (n_items,), optional
        What items have in common, as for `multiway_variance`; by default nothing.
    level : float, default 0.95

    Returns
    -------
    LengthPull
        Undefined: ``"empty_group"`` without items, ``"no_variation"`` if all are chosen or
        longer on one side, ``"not_identified"`` if length or truth predicts every choice.

    Raises
    ------
    ValueError
        If the lengths of the arrays differ or a choice is not -1, 0 or 1.

    Notes
    -----
    :math:`\operatorname{logit}P(r_2)=\beta_0+\beta_1\log_2(\ell_2/\ell_1)+\beta_2t`
    with t = 1 where :math:`r_2` is right and -1 where :math:`r_1` is, by Newton's method; the
    variance is the cluster-robust one, with a t quantile.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> one, two = rng.integers(20, 200, (2, 2000))
    >>> right = rng.integers(0, 2, 2000)
    >>> odds = 0.8 * np.log2(two / one) + np.where(right == 1, 1, -1)
    >>> chosen = (rng.random(2000) < 1 / (1 + np.exp(-odds))).astype(int)
    >>> pull = length_pull(one, two, chosen, right).per_doubling
    >>> round(pull.value, 1), pull.interval.low > 0.6
    (0.8, True)
    """
    check_level(level)
    one, two, chosen, right = _aligned(first_length, second_length, answer, truth)
    used = (chosen >= 0) & (right >= 0) & (one > 0) & (two > 0)
    n, n_missing = int(used.sum()), int((~used).sum())

    def undefined(reason: Reason) -> LengthPull:
        return LengthPull(Estimate(None, reason), n, n_missing)

    if n == 0:
        return undefined("empty_group")
    y = chosen[used].astype(np.float64)
    ratio = np.log2(two[used] / one[used])
    design = np.stack([np.ones(n), ratio, 2.0 * right[used] - 1], axis=1)
    if np.ptp(right[used]) == 0:
        design = design[:, :2]  # one right side: the constant stands for it
    if np.ptp(y) == 0 or np.linalg.matrix_rank(design) < design.shape[1]:
        return undefined("no_variation")
    fitted = _fit(design, y)
    if fitted is None:
        return undefined("not_identified")
    coefficients, bread = fitted
    influence = ((y - expit(design @ coefficients))[:, None] * design) @ bread[:, 1]
    within: Clusters = clusters or {"item": np.arange(used.size)}
    variance = score_variance(influence, {k: np.asarray(v)[used] for k, v in within.items()})
    value = float(coefficients[1])
    if variance is None or variance.variance <= 0:
        return LengthPull(Estimate(value, interval_reason="too_few_items"), n, n_missing)
    df = degrees_of_freedom(variance)
    half = t_quantile(df, (1 + level) / 2) * variance.variance**0.5
    interval = Interval(value - half, value + half, level, f"multiway t({df}) of log odds", n)
    return LengthPull(Estimate(value, interval=interval), n, n_missing)


def _aligned(
    first_length: npt.ArrayLike,
    second_length: npt.ArrayLike,
    answer: npt.ArrayLike,
    truth: npt.ArrayLike,
) -> tuple[FloatArray, FloatArray, IntArray, IntArray]:
    chosen, right = chosen_slots(answer), chosen_slots(truth)
    one = np.asarray(first_length, dtype=np.float64)
    two = np.asarray(second_length, dtype=np.float64)
    if not chosen.shape == right.shape == one.shape == two.shape:
        raise ValueError(
            "Lengths, `answer` and `truth` must have one length, got "
            f"{one.size}, {two.size}, {chosen.size} and {right.size}."
        )
    return one, two, chosen, right


def _fit(design: FloatArray, y: FloatArray) -> tuple[FloatArray, FloatArray] | None:
    """Coefficients and the inverse of the information; None if they are infinite."""
    coefficients = np.zeros(design.shape[1])
    for _ in range(MAX_STEPS):
        p = expit(design @ coefficients)
        information = (design * (p * (1 - p))[:, None]).T @ design
        if np.linalg.cond(information) > 1e12:
            return None
        bread = np.linalg.inv(information)
        step = bread @ (design.T @ (y - p))
        coefficients = coefficients + step
        if np.abs(coefficients).max() > SEPARATED:
            return None
        if np.abs(step).max() < 1e-10:
            return coefficients, np.asarray(bread, dtype=np.float64)
    return None
