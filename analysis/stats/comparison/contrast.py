"""The mean of some answers minus the mean of others, which share people, personas and questions."""

import numpy as np
import numpy.typing as npt
from scipy.special import betaln

from ..accuracy.general_accuracy import general_contrast
from ..core.results import FloatArray, IntArray, Reason, check_level
from ..core.shared_variance import Sharing
from .general_difference import GeneralDifference

FEWEST_OF_A_GROUP = 10
# With fewer of an outcome in either group, the variance of that group is not known.
FEWEST_OF_AN_OUTCOME = 3


def group_contrast(
    values: npt.ArrayLike, is_first: npt.ArrayLike, sharing: Sharing, *, level: float = 0.95
) -> GeneralDifference:
    """Mean of the first group's values, which are 0 or 1, minus that of all others.

    With too few answers, or too few of an outcome in a group, there is no interval, and p is that
    of Fisher's exact test, as if answers were independent.
    """
    check_level(level)
    v, first = np.asarray(values, dtype=np.float64), np.asarray(is_first, dtype=np.bool_)
    if v.shape != (sharing.n,) or first.shape != v.shape:
        raise ValueError(f"`values` and `is_first` must have shape ({sharing.n},).")
    rows = np.flatnonzero(~np.isnan(v))
    v, first = v[rows], first[rows]
    groups = [v[first], v[~first]]
    if min(group.size for group in groups) == 0:
        return GeneralDifference(None, n=rows.size, reason="empty_group")
    outcomes = min(min(group.sum(), (1 - group).sum()) for group in groups)
    is_small = min(group.size for group in groups) < FEWEST_OF_A_GROUP
    if is_small or outcomes < FEWEST_OF_AN_OUTCOME:
        why: Reason = "no_variation" if not is_small and outcomes == 0 else "too_few_items"
        value = float(groups[0].mean() - groups[1].mean())
        return GeneralDifference(value, p=_exact(*groups), n=rows.size, interval_reason=why)
    within = sharing if rows.size == sharing.n else sharing.take(rows)
    return general_contrast(v, first, v, ~first, within, level=level)


def _exact(one: FloatArray, other: FloatArray) -> float:
    """Fisher's two-sided p: of all tables with these sums, those that are no more likely."""
    # As `scipy.stats.fisher_exact`, which would be a report's only reason to load `scipy.stats`.
    ones = int(one.sum() + other.sum())
    inside = np.arange(max(0, ones - other.size), min(one.size, ones) + 1)
    log = _log_choose(one.size, inside) + _log_choose(other.size, ones - inside)
    likely = np.exp(log - log.max())
    observed = likely[int(one.sum()) - inside[0]]
    return min(float(likely[likely <= observed * (1 + 1e-9)].sum() / likely.sum()), 1.0)


def _log_choose(n: int, k: IntArray) -> FloatArray:
    return np.asarray(-betaln(k + 1, n - k + 1) - np.log(n + 1))
