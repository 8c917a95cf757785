"""Do two sides err on the same items, and does one judge repeat itself?"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from .bootstrap import percentile_interval
from .checks import check_level
from .paired import count_pairs
from .results import Estimate, FloatArray, Reason
from .votes import Votes


@dataclass(frozen=True)
class RunNoise:
    """How much one judge varies when it is asked again.

    Attributes
    ----------
    same_choice : float or None
        Chance that two runs choose alike on an item: what a change of prompt or persona has to
        be compared with.
    accuracy_sd : float or None
        Standard deviation (ddof 1) of the runs' accuracies.
    noise_share : float or None
        Share of the variance of being right that lies within items: 0 where each item is always
        right or always wrong, 1 where the item says nothing.
    n_runs, n_items : int
        Runs, and items with at least two of them.
    reason : str or None
        ``"no_pairs"`` where no item has two runs.
    accuracy_reason : str or None
        Why `accuracy_sd` or `noise_share` is None: ``"too_few_annotators"`` below three runs,
        ``"empty_group"`` without truth, ``"no_variation"`` where all is right or all is wrong
        (then only `noise_share` is None).
    """

    same_choice: float | None
    accuracy_sd: float | None
    noise_share: float | None
    n_runs: int
    n_items: int
    reason: Reason | None = None
    accuracy_reason: Reason | None = None


def error_consistency(
    first_right: npt.ArrayLike,
    second_right: npt.ArrayLike,
    *,
    rng: np.random.Generator,
    n_draws: int = 1000,
    level: float = 0.95,
) -> Estimate:
    r"""Do two sides err on the same items more than their accuracies make them?

    Parameters
    ----------
    first_right, second_right : array_like of int, shape (n_items,)
        1 right, 0 wrong, -1 missing; items that miss a side are left out.
    rng : numpy.random.Generator
        Source of randomness of the item bootstrap.
    n_draws : int, default 1000
        Resamples.
    level : float, default 0.95
        Nominal coverage.

    Returns
    -------
    Estimate
        Kappa of being right: 1 the same mistakes, 0 no more than by chance, below 0 fewer.
        Undefined without common items (``"empty_group"``) and where both sides are always right
        or both always wrong (``"no_variation"``).

    Raises
    ------
    ValueError
        If the arrays do not fit or a number is out of range.

    References
    ----------
    .. [1] Geirhos, Meding and Wichmann, "Beyond accuracy: quantifying trial-by-trial behaviour
       of CNNs and humans by measuring error consistency", NeurIPS 2020.

    Examples
    --------
    >>> people, model = [1, 1, 0, 0, 1, 0], [1, 1, 0, 1, 1, 0]
    >>> round(error_consistency(people, model, rng=np.random.default_rng(0)).value, 4)
    0.6667
    """
    check_level(level)
    if n_draws < 2:
        raise ValueError(f"`n_draws` must be at least 2, got {n_draws}.")
    pairs = count_pairs(first_right, second_right)
    if pairs.n == 0:
        return Estimate(None, "empty_group")
    both = int(np.sum((np.asarray(first_right) == 1) & (np.asarray(second_right) == 1)))
    cells = np.array([both, pairs.b, pairs.c, pairs.n - both - pairs.b - pairs.c])
    value = float(_kappa(cells[None, :].astype(np.float64))[0])
    if np.isnan(value):
        return Estimate(None, "no_variation")
    draws = _kappa(rng.multinomial(pairs.n, cells / pairs.n, size=n_draws).astype(np.float64))
    interval = percentile_interval(
        draws, level=level, method="item bootstrap", n_items=pairs.n, rng=rng
    )
    return Estimate(value, interval=interval, interval_reason=None if interval else "no_variation")


def run_noise(runs: Votes, truth: npt.ArrayLike | None = None) -> RunNoise:
    r"""Variation of one judge between runs that differ by nothing but chance.

    Parameters
    ----------
    runs : Votes
        Choices of the runs, each run as an annotator of its own.
    truth : array_like of int, shape (n_items,), optional
        Right option, -1 none.

    Returns
    -------
    RunNoise

    Raises
    ------
    ValueError
        If `truth` does not fit `runs`.

    Notes
    -----
    Same choice: mean over items of the share of equal pairs. Noise: with :math:`\bar y_i` the
    share of right runs of item i out of :math:`k_i`, the within-item variance is the mean of
    :math:`\frac{k_i}{k_i-1}\bar y_i(1-\bar y_i)`, set against :math:`\bar y(1-\bar y)` and cut
    at 1.

    Examples
    --------
    >>> runs = Votes.from_matrix([[0, 0, 0], [1, 1, 0], [1, 1, 1], [0, 1, 1]])
    >>> noise = run_noise(runs, [0, 1, 1, 0])
    >>> round(noise.same_choice, 4), round(noise.accuracy_sd, 4), round(noise.noise_share, 4)
    (0.6667, 0.25, 0.8889)
    """
    counts = runs.counts()
    k = counts.sum(axis=1)
    repeated = k >= 2
    n_runs, n_items = int(np.unique(runs.annotator).size), int(repeated.sum())
    if n_items == 0:
        return RunNoise(None, None, None, n_runs, 0, "no_pairs", "no_pairs")
    counts, k = counts[repeated], k[repeated]
    same = float(np.mean((counts * (counts - 1)).sum(axis=1) / (k * (k - 1))))
    if n_runs < 3:
        return RunNoise(same, None, None, n_runs, n_items, None, "too_few_annotators")

    truths = np.full(runs.n_items, -1) if truth is None else np.asarray(truth, dtype=np.int64)
    if truths.shape != (runs.n_items,):
        raise ValueError(f"`truth` must have shape ({runs.n_items},), got {truths.shape}.")
    usable = (repeated & (truths >= 0))[runs.item]
    if not usable.any():
        return RunNoise(same, None, None, n_runs, n_items, None, "empty_group")
    right = (runs.choice == truths[runs.item])[usable].astype(np.float64)
    accuracies = _group_means(right, runs.annotator[usable])
    mean = float(right.mean())
    sd = float(accuracies.std(ddof=1)) if accuracies.size > 1 else None
    if mean in (0.0, 1.0):
        return RunNoise(same, sd, None, n_runs, n_items, None, "no_variation")
    of_item = _group_means(right, runs.item[usable])
    n_of_item = np.unique(runs.item[usable], return_counts=True)[1]
    within = float(np.mean(n_of_item / (n_of_item - 1) * of_item * (1 - of_item)))
    return RunNoise(same, sd, min(1.0, within / (mean * (1 - mean))), n_runs, n_items)


def _kappa(cells: FloatArray) -> FloatArray:
    """Kappa of rows of (both right, first only, second only, both wrong); NaN if undefined."""
    n = cells.sum(axis=1)
    first, second = cells[:, 0] + cells[:, 1], cells[:, 0] + cells[:, 2]
    chance = first * second + (n - first) * (n - second)
    observed = n * (cells[:, 0] + cells[:, 3])
    kappa = np.full(n.shape, np.nan)
    defined = chance < n * n
    kappa[defined] = (observed - chance)[defined] / (n * n - chance)[defined]
    return kappa


def _group_means(values: FloatArray, group: npt.NDArray[np.int64]) -> FloatArray:
    """Mean of each group that occurs."""
    codes = np.unique(group, return_inverse=True)[1]
    return np.asarray(np.bincount(codes, weights=values) / np.bincount(codes), dtype=np.float64)
