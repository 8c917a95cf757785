"""Noise between runs of a judge, changes beyond noise, and a judge's uncertainty."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import special

from ..agreement.coefficients import agreement_within, percent_agreement
from ..core.bootstrap import estimate_with_interval, pairable, ratio
from ..core.results import Estimate, FloatArray, Reason, check_level
from ..core.votes import Votes

MIN_RUNS = 3


@dataclass(frozen=True)
class RunNoise:
    """Variation between runs of one judge.

    Attributes
    ----------
    same_choice : Estimate
        Probability that two runs choose the same on an item, with its item-bootstrap interval:
        the baseline for every change.
    flipped : Estimate
        Share of items on which not all runs agree.
    accuracy : tuple of float
        Of each run, over items with a truth that every run answered.
    accuracy_sd : float or None
        Standard deviation of the accuracy from run to run on these items.
    run_variance, item_variance : float or None
        Parts of the variance of a single answer being right: within items, between runs; and
        between items.
    certainty_sd : float or None
        Standard deviation of certainty between runs of one item, in points.
    n_runs, n_items : int
        Runs; items with at least two answers.
    reason : str or None
        ``"too_few_annotators"`` below three runs; then only statistics of two are given.
    accuracy_reason : str or None
        Why `accuracy_sd` is None: ``"empty_group"`` or ``"too_few_annotators"``.
    """

    same_choice: Estimate
    flipped: Estimate
    accuracy: tuple[float, ...]
    accuracy_sd: float | None
    run_variance: float | None
    item_variance: float | None
    certainty_sd: float | None
    n_runs: int
    n_items: int
    reason: Reason | None = None
    accuracy_reason: Reason | None = None


@dataclass(frozen=True)
class Change:
    """Difference between two settings of one judge beyond the noise of each.

    Attributes
    ----------
    within, across : float or None
        Probability that two runs agree on an item: of the same setting, and of different ones.
    excess : Estimate
        ``within - across`` with its item-bootstrap interval; 0 if the setting changes
        nothing, however noisy the judge is.
    n_items : int
        Items with at least two runs of each setting.
    """

    within: float | None
    across: float | None
    excess: Estimate
    n_items: int


def run_noise(
    runs: Votes,
    truth: npt.ArrayLike | None = None,
    *,
    n_draws: int = 1000,
    rng: np.random.Generator | None = None,
    level: float = 0.95,
) -> RunNoise:
    r"""Measure disagreement between repeated runs of one judge with the same settings.

    Parameters
    ----------
    runs : Votes
        Choices of one judge, each run as an annotator of its own.
    truth : array_like of int, shape (n_items,), optional
        Right option; -1 is unknown.
    n_draws : int, default 1000
        Resamples of items.
    rng : numpy.random.Generator, optional
        Source of randomness. None: no intervals.
    level : float, default 0.95

    Returns
    -------
    RunNoise

    Raises
    ------
    ValueError
        If `truth` has another length than the items.

    Notes
    -----
    With :math:`s_i^2` the variance (``ddof=1``) over R runs of being right on item i, the run
    variance is :math:`\overline{s_i^2}`, the standard deviation of the accuracy of one run on these
    n items :math:`\sqrt{\overline{s_i^2}/n}`, and the item variance
    :math:`\max(0,\operatorname{var}_i(\bar y_i)-\overline{s_i^2}/R)`. This is the variation on the
    *same* items; other items add to it.

    Examples
    --------
    >>> runs = Votes.from_matrix([[0, 0, 0], [0, 1, 0], [1, 1, 1], [1, 1, 1]])
    >>> noise = run_noise(runs, [0, 0, 1, 0])
    >>> round(noise.same_choice.value, 4), noise.flipped.value, round(noise.accuracy_sd, 4)
    (0.8333, 0.25, 0.1443)
    """
    check_level(level)
    truths = np.full(runs.n_items, -1) if truth is None else np.asarray(truth, dtype=np.int64)
    if truths.shape != (runs.n_items,):
        raise ValueError(f"`truth` has {truths.size} items, `runs` has {runs.n_items}.")
    n_runs = int(np.unique(runs.annotator).size)
    rows = pairable(runs.counts().astype(np.float64))
    same = percent_agreement(rows, n_draws=n_draws, rng=rng, level=level)
    flipped = estimate_with_interval(_flipped, rows, "no_pairs", n_draws, rng, level)
    right = _complete(runs, truths, n_runs)
    enough = n_runs >= MIN_RUNS
    few: Reason | None = None if enough else "too_few_annotators"
    run_variance = item_variance = accuracy_sd = None
    if enough and len(right):
        run_variance = float(right.var(axis=1, ddof=1).mean())
        accuracy_sd = (run_variance / len(right)) ** 0.5
        if len(right) > 1:
            between = float(right.mean(axis=1).var(ddof=1))
            item_variance = max(0.0, between - run_variance / n_runs)
    return RunNoise(
        same_choice=same,
        flipped=flipped,
        accuracy=tuple(right.mean(axis=0).tolist()) if len(right) else (),
        accuracy_sd=accuracy_sd,
        run_variance=run_variance,
        item_variance=item_variance,
        certainty_sd=_certainty_sd(runs) if enough else None,
        n_runs=n_runs,
        n_items=len(rows),
        reason=few,
        accuracy_reason=few or (None if len(right) else "empty_group"),
    )


def change_beyond_noise(
    base: Votes,
    changed: Votes,
    *,
    n_draws: int = 1000,
    rng: np.random.Generator | None = None,
    level: float = 0.95,
) -> Change:
    r"""Measure the effect of changed settings on answers beyond the noise between runs.

    Parameters
    ----------
    base, changed : Votes
        Runs of one judge under two settings on the same items, each run as an annotator.
    n_draws : int, default 1000
        Resamples of items.
    rng : numpy.random.Generator, optional
        Source of randomness. None: no interval.
    level : float, default 0.95

    Returns
    -------
    Change
        Undefined (``"no_pairs"``) if no item has two runs of each setting: one run of each
        cannot separate a change from noise.

    Raises
    ------
    ValueError
        If items or options differ.

    Notes
    -----
    With p and q the two settings' probabilities of the options on an item, `within` is
    :math:`\frac12(\sum_c p_c^2+\sum_c q_c^2)`, `across` :math:`\sum_c p_cq_c`, both estimated
    without bias from pairs of distinct runs; the excess is
    :math:`\frac12\sum_c(p_c-q_c)^2\ge0`, averaged over items.

    References
    ----------
    .. [1] G. J. Szekely and M. L. Rizzo, "Energy Statistics", Journal of Statistical Planning
       and Inference 143(8), 2013.

    Examples
    --------
    >>> one = Votes.from_matrix([[0, 0, 1], [1, 1, 1], [0, 0, 0]])
    >>> other = Votes.from_matrix([[0, 1, 1], [1, 1, 1], [1, 1, 1]])
    >>> change = change_beyond_noise(one, other)
    >>> round(change.within, 4), round(change.across, 4), round(change.excess.value, 4)
    (0.7778, 0.4815, 0.2963)
    """
    if (base.n_items, base.n_options) != (changed.n_items, changed.n_options):
        raise ValueError(
            "Both settings must be about the same items and options, got "
            f"{base.n_items} by {base.n_options} and {changed.n_items} by {changed.n_options}."
        )
    counts = np.hstack([base.counts(), changed.counts()])
    half = base.n_options
    usable = (counts[:, :half].sum(axis=1) >= 2) & (counts[:, half:].sum(axis=1) >= 2)
    rows = counts[usable].astype(np.float64)

    def excess(weights: FloatArray, distinct: FloatArray) -> FloatArray:
        within, across = _agreements(distinct, half)
        return ratio(weights @ (within - across), weights.sum(axis=1))

    estimate = estimate_with_interval(excess, rows, "no_pairs", n_draws, rng, level)
    if estimate.value is None:
        return Change(None, None, estimate, 0)
    within, across = _agreements(rows, half)
    return Change(float(within.mean()), float(across.mean()), estimate, len(rows))


def _flipped(weights: FloatArray, rows: FloatArray) -> FloatArray:
    split = (rows.max(axis=1) < rows.sum(axis=1)).astype(np.float64)
    return ratio(weights @ split, weights.sum(axis=1))


def _agreements(rows: FloatArray, half: int) -> tuple[FloatArray, FloatArray]:
    """Agreement within and across two settings, whose counts are in adjacent columns."""
    one, two = rows[:, :half], rows[:, half:]
    within = (agreement_within(one, np.eye(half)) + agreement_within(two, np.eye(half))) / 2
    across = (one * two).sum(axis=1) / (one.sum(axis=1) * two.sum(axis=1))
    return within, np.asarray(across)


def _complete(runs: Votes, truth: npt.NDArray[np.int64], n_runs: int) -> FloatArray:
    """Right or wrong of items with a truth that every run answered once, shape (n, n_runs)."""
    codes = np.unique(runs.annotator, return_inverse=True)[1]
    right = np.full((runs.n_items, n_runs), np.nan)
    right[runs.item, codes] = runs.choice == truth[runs.item]
    right[truth < 0] = np.nan
    return np.asarray(right[~np.isnan(right).any(axis=1)])


def _certainty_sd(runs: Votes) -> float | None:
    """Pooled standard deviation of certainty within items."""
    stated = ~np.isnan(runs.certainty)
    item, value = runs.item[stated], runs.certainty[stated]
    m = np.bincount(item)
    means = np.bincount(item, value) / np.maximum(m, 1)
    df = int((m[m > 0] - 1).sum())
    return float((((value - means[item]) ** 2).sum() / df) ** 0.5) if df > 0 else None


def preference_entropy(probability: npt.ArrayLike) -> FloatArray:
    r"""Entropy of a choice between two responses, in nats.

    Parameters
    ----------
    probability : array_like of float
        Probability of response 1, the mean of both orders, in [0, 1]; NaN is missing.

    Returns
    -------
    ndarray of float
        0 for a certain choice, ln 2 for an undecided one, NaN where it is missing. It is defined
        also where the two orders lead to different choices.

    Raises
    ------
    ValueError
        If a probability is out of range.

    Notes
    -----
    :math:`-\bar p\ln\bar p-(1-\bar p)\ln(1-\bar p)`.

    References
    ----------
    .. [1] SCOPE, arXiv 2602.13110.

    Examples
    --------
    >>> preference_entropy([0.85, 0.5, 1.0]).round(6).tolist()
    [0.422709, 0.693147, 0.0]
    """
    share: FloatArray = np.asarray(probability, dtype=np.float64)
    known = share[~np.isnan(share)]
    if ((known < 0) | (known > 1)).any():
        raise ValueError("`probability` must lie between 0 and 1.")
    return np.asarray(special.entr(share) + special.entr(1 - share), dtype=np.float64)


def certainty_from_entropy(probability: npt.ArrayLike) -> FloatArray:
    """Entropy turned into a certainty: 100 for a certain choice, 0 for an undecided one.

    Parameters
    ----------
    probability : array_like of float
        As for :func:`preference_entropy`.

    Returns
    -------
    ndarray of float
        100 times the share of ln 2 by which the entropy is smaller.

    Raises
    ------
    ValueError
        If a probability is out of range.

    Examples
    --------
    >>> certainty_from_entropy([0.85, 0.5, 1.0]).round(1).tolist()
    [39.0, 0.0, 100.0]
    """
    value: FloatArray = 100 * (1 - preference_entropy(probability) / np.log(2))
    # Rounding must not make an even choice slightly decided.
    return np.asarray(np.where(np.isnan(value), np.nan, np.clip(value, 0, 100)), dtype=np.float64)
