"""Results of statistics (a value, or the reason for none), checks, quantiles and ranks.

Nothing in this package returns NaN or infinity, and an undefined value is never 0 or 1.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

import numpy as np
import numpy.typing as npt
from scipy import special

BoolArray = npt.NDArray[np.bool_]
IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]

Reason = Literal[
    "no_votes",
    "tie",
    "no_variation",
    "too_few_items",
    "too_few_annotators",
    "too_few_clusters",
    "no_pairs",
    "empty_group",
    "no_discordant",
    "not_certified",
    "dependent_items",
    "not_identified",
    "biased",
    "not_connected",
    "too_few_systems",
    "at_chance",
    "too_few_of_a_label",
]


class Trust(StrEnum):
    """A verdict on whether a judge may be relied on."""

    TRUSTED = "TRUSTED"
    NOT_TRUSTED = "NOT TRUSTED"
    INCONCLUSIVE = "INCONCLUSIVE"


@dataclass(frozen=True)
class Interval:
    """Two-sided interval and how it was made.

    Attributes
    ----------
    low, high : float
        Its ends, in the unit of the estimate.
    level : float
        Nominal coverage in (0, 1), for example 0.95.
    method : str
        Short name, for example ``"wilson"`` or ``"item bootstrap"``.
    n_items : int
        Number of items behind the interval.
    n_annotators : int or None
        Number of annotators behind it; None if there are none.
    seed : int or None
        Seed of the resamples; None for a closed form.
    n_draws : int or None
        Resamples made; None for a closed form.
    note : str or None
        A caveat for readers, for example
        ``"conditional on these annotators"``.
    """

    low: float
    high: float
    level: float
    method: str
    n_items: int
    n_annotators: int | None = None
    seed: int | None = None
    n_draws: int | None = None
    note: str | None = None


def clustered_interval(
    low: float,
    high: float,
    level: float,
    method: str,
    n: int,
    n_clusters: Mapping[str, int],
    used: Sequence[str],
    few: int,
) -> Interval:
    """An interval of `n` rows, with a note on kinds of clusters of which there is one, or few."""
    notes = [f"only one {name}" for name, size in n_clusters.items() if size == 1]
    notes += [f"fewer than {few} {name} clusters" for name in used if n_clusters[name] < few]
    items, annotators = n_clusters.get("item", n), n_clusters.get("annotator")
    note = "; ".join(notes) or None
    return Interval(low, high, level, method, items, annotators, note=note)


@dataclass(frozen=True)
class Estimate:
    """Number with its interval, or None with the reason.

    Attributes
    ----------
    value : float or None
        The estimate; None if it is undefined.
    reason : str or None
        Why `value` is None; None if it is defined.
    interval : Interval or None
        None if no interval can be given.
    interval_reason : str or None
        Why `interval` is None although `value` is defined.
    """

    value: float | None
    reason: Reason | None = None
    interval: Interval | None = None
    interval_reason: Reason | None = None


@dataclass(frozen=True)
class EstimateAndTest(Estimate):
    """Estimate with a test.

    Attributes
    ----------
    p : float or None
        Two-sided p value of the value 0; None without an interval.
    """

    p: float | None = None


@dataclass(frozen=True)
class Proportion:
    """Share with its counts.

    Attributes
    ----------
    correct, n : int
        Numerator and denominator, both counted.
    value : float or None
        ``correct / n``; None for an empty group.
    reason : str or None
        ``"empty_group"`` if `value` is None.
    interval : Interval or None
        None for an empty group, or if no interval can be given.
    interval_reason : str or None
        Why `interval` is None although `value` is defined.
    """

    correct: int
    n: int
    value: float | None
    reason: Reason | None = None
    interval: Interval | None = None
    interval_reason: Reason | None = None


def seed_of(rng: np.random.Generator) -> int | None:
    """Return the seed that `rng` was made from, to store it with a result.

    It is read from the generator, so a stored seed cannot differ from the one used.

    Parameters
    ----------
    rng : numpy.random.Generator
        For example from ``numpy.random.default_rng(seed)``.

    Returns
    -------
    int or None
        None if the generator was not made from one number.

    Examples
    --------
    >>> seed_of(np.random.default_rng(20240701))
    20240701
    """
    sequence = getattr(rng.bit_generator, "seed_seq", None)
    entropy = getattr(sequence, "entropy", None)
    return int(entropy) if isinstance(entropy, int | np.integer) else None


def check_level(level: float) -> None:
    check_share("level", level)


def check_share(name: str, value: float) -> None:
    if not 0 < value < 1:
        raise ValueError(f"`{name}` must lie between 0 and 1, got {value}.")


def normal_quantile(level: float) -> float:
    """Normal quantile of a two-sided interval."""
    check_level(level)
    # `scipy.stats.norm.ppf` calls this too, after fifty times as much checking.
    return float(special.ndtri((1 + level) / 2))


def t_quantile(df: float, share: float) -> float:
    """Quantile of Student's t."""
    # As above: `scipy.stats.t.ppf` calls this.
    return float(special.stdtrit(df, share))


def root_between(function: Callable[[float], float], low: float, high: float) -> float:
    """Root of a function that changes its sign once between two ends, to 1e-15.

    Halving is enough for one root, and `scipy.optimize` takes a tenth of the time of a whole check
    to load.
    """
    rises = function(low) < 0
    while high - low > 1e-15 * max(1.0, abs(low)):
        middle = (low + high) / 2
        if (function(middle) < 0) == rises:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def relabel(codes: npt.ArrayLike) -> tuple[IntArray, int]:
    """Replace codes by 0..G-1 in the same order; return them and G."""
    labels = np.asarray(codes)
    if _is_dense(labels):
        # Codes that fill their range need no sorting.
        occurs = np.bincount(labels) > 0
        return (np.cumsum(occurs) - 1)[labels], int(occurs.sum())
    values, inverse = np.unique(labels, return_inverse=True)
    return inverse.astype(np.int64), int(values.size)


def n_distinct(codes: npt.ArrayLike) -> int:
    """Number of different codes."""
    return relabel(codes)[1]


def known_rows(correct: npt.ArrayLike) -> tuple[IntArray, BoolArray]:
    """Check codes 1 (right), 0 (wrong), -1 (missing); return them and a mask of known rows."""
    right = np.asarray(correct)
    # Three comparisons take a tenth of the time of `np.isin`.
    if not ((right == 1) | (right == 0) | (right == -1)).all():
        raise ValueError("`correct` may hold only 1 (right), 0 (wrong) and -1 (missing).")
    return right.astype(np.int64), np.asarray(right >= 0)


def _is_dense(codes: npt.NDArray[np.generic]) -> bool:
    if codes.ndim != 1 or codes.size == 0 or codes.dtype.kind not in "iu":
        return False
    return bool(codes.min() >= 0 and codes.max() <= 4 * codes.size)


def mid_ranks(values: FloatArray) -> FloatArray:
    """Ranks from 1, and the mean rank for equal values: ``scipy.stats.rankdata``, without it."""
    if np.isnan(values).any():
        return np.full(values.shape, np.nan)
    _, place, occurs = np.unique(values, return_inverse=True, return_counts=True)
    return np.asarray((np.cumsum(occurs) - (occurs - 1) / 2)[place], dtype=np.float64)
