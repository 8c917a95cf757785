"""Results of statistics: a value, or the reason why there is none.

Nothing in this package returns NaN or infinity, and an undefined value is never 0 or 1.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

import numpy as np
import numpy.typing as npt

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
        What a reader must know before using it, for example
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
