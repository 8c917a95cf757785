"""Bidirectional preference entropy: how undecided a judge is over both orders of the responses."""

import numpy as np
import numpy.typing as npt
from scipy import special

from analysis.stats.core.results import FloatArray


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
    # Rounding must not make an even choice a little less than undecided.
    return np.asarray(np.where(np.isnan(value), np.nan, np.clip(value, 0, 100)), dtype=np.float64)
