"""Prevalence from a judge's yes or no, corrected by its known errors."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from analysis.stats.core.bootstrap import resampled_estimate
from analysis.stats.core.results import Estimate, FloatArray, Reason, relabel
from analysis.stats.core.shared_variance import Sharing
from extras.estimation.stats.scores import FEWEST, Sampled, interval_of_scores, within

BLOCK = 4_000_000


@dataclass(frozen=True)
class RoganGladen:
    """Corrected prevalence with two intervals.

    Attributes
    ----------
    delta : Estimate
        With the interval of the delta method.
    bootstrap : Estimate
        With the interval of resampled clusters.
    sensitivity, specificity : float or None
        The judge's, on answered items.
    n_answered, n_items : int
        Items answered yes or no, and all items.
    reason : str or None
        ``"too_few_items"`` with fewer than ten answered items, ``"empty_group"`` if yes or no never
        occurs, ``"at_chance"`` if the judge may be no better than chance.
    """

    delta: Estimate
    bootstrap: Estimate
    sensitivity: float | None
    specificity: float | None
    n_answered: int
    n_items: int
    reason: Reason | None = None


def rogan_gladen(
    target: npt.ArrayLike,
    test: npt.ArrayLike,
    sharing: Sharing,
    *,
    clusters: npt.ArrayLike,
    n_draws: int = 1000,
    level: float = 0.95,
    rng: np.random.Generator,
) -> RoganGladen:
    r"""Share of items to which people would say yes, from a judge's yes or no to all.

    Parameters
    ----------
    target : array_like of float, shape (n_items,)
        People's answers: 1 yes, 0 no; anything else counts as no answer.
    test : array_like of float, shape (n_items,)
        The judge's answers: 1 yes, 0 no; NaN is left out.
    sharing : Sharing
        What the items share, including the people who answered.
    clusters : array_like of int, shape (n_items,)
        What the bootstrap resamples, for example personas.
    n_draws : int, default 1000
    level : float, default 0.95
    rng : numpy.random.Generator

    Returns
    -------
    RoganGladen

    Notes
    -----
    :math:`(\hat p+sp-1)/(se+sp-1)` [1]_. It assumes that the judge errs as often on unanswered
    items. The delta method includes the errors of all three shares and what items share; the judge
    counts as no better than chance if the interval of :math:`se+sp-1` contains 0.

    References
    ----------
    .. [1] W. J. Rogan and B. Gladen, "Estimating prevalence from the results of a screening
       test", American Journal of Epidemiology 107(1), 1978.

    Examples
    --------
    >>> people = np.where(np.arange(300) < 100, np.arange(300) % 2 == 0, np.nan)
    >>> judge = np.where(np.arange(300) % 10 == 0, 0, np.arange(300) % 2 == 0)
    >>> sharing = Sharing.of_items(300, {"persona": np.arange(300) // 2})
    >>> found = rogan_gladen(
    ...     people, judge, sharing, clusters=np.arange(300) // 2, rng=np.random.default_rng(1)
    ... )
    >>> found.sensitivity, found.specificity, round(found.delta.value, 3)
    (0.8, 1.0, 0.5)
    """
    y = np.asarray(target, dtype=np.float64)
    items = Sampled.of(np.where(np.isin(y, (0, 1)), y, np.nan), test, sharing)
    judged = ~np.isnan(np.asarray(test, dtype=np.float64))
    groups, n_groups = relabel(np.asarray(clusters)[judged])
    yes, no = (items.answered & (items.target == value) for value in (1, 0))
    sizes = items.n_answered, items.n_items

    def nothing(reason: Reason, *shares: float) -> RoganGladen:
        given = shares or (None, None)
        none = Estimate(None, reason)
        return RoganGladen(none, none, given[0], given[1], *sizes, reason)

    if items.n_answered < FEWEST:
        return nothing("too_few_items")
    if not (yes.any() and no.any()):
        return nothing("empty_group")
    f = items.signal
    sensitivity, false_alarms = float(f[yes].mean()), float(f[no].mean())
    better = sensitivity - false_alarms
    errors = [
        np.where(rows, f - share, 0.0) * items.n_items / rows.sum()
        for rows, share in ((yes, sensitivity), (no, false_alarms))
    ]
    gap = interval_of_scores(
        max(better, 0.0), errors[0] - errors[1], items, level=level, method="general t"
    )
    if better <= 0 or (gap.interval is not None and gap.interval.low <= 0):
        return nothing("at_chance", sensitivity, 1 - false_alarms)
    value = float(f.mean() - false_alarms) / better
    scores = (f - f.mean() - value * errors[0] - (1 - value) * errors[1]) / better
    delta = interval_of_scores(value, scores, items, level=level, method="delta t")
    sums = np.stack(
        [
            np.bincount(groups, weights=each, minlength=n_groups).astype(np.float64)
            for each in (np.ones(f.size), f, yes, yes * f, no, no * f)
        ]
    )
    draws = _drawn(sums, n_draws, rng)
    resampled = resampled_estimate(
        value,
        draws,
        level=level,
        method="cluster bootstrap",
        n_items=items.known.n,
        rng=rng,
        undefined="at_chance",
    )
    return RoganGladen(delta, within(resampled), sensitivity, 1 - false_alarms, *sizes)


def _drawn(sums: FloatArray, n_draws: int, rng: np.random.Generator) -> FloatArray:
    """The estimate in resamples of clusters; NaN where the judge is no better than chance."""
    n = sums.shape[1]
    found = np.empty(n_draws)
    step = max(1, BLOCK // n)
    for start in range(0, n_draws, step):
        size = min(step, n_draws - start)
        weights = rng.multinomial(n, np.full(n, 1 / n), size)
        total, hits, yes, yes_hits, no, no_hits = sums @ weights.T
        with np.errstate(divide="ignore", invalid="ignore"):
            alarms = no_hits / no
            better = yes_hits / yes - alarms
            value = (hits / total - alarms) / better
        found[start : start + size] = np.where(better > 0, value, np.nan)
    return found
