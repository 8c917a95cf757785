"""Tests by betting that new items differ from earlier ones, which stay valid at every look."""

from collections import Counter
from collections.abc import Hashable, Sequence

import numpy as np
import numpy.typing as npt

from analysis.stats.core.results import FloatArray

# Powers of the p-value on which the money is bet, from bold to cautious.
_POWERS = np.array([0.15, 0.3, 0.5, 0.7, 0.85])
_SMALLEST = 1e-12


def of_numbers(
    before: npt.ArrayLike, looks: Sequence[npt.ArrayLike], *, rng: np.random.Generator
) -> FloatArray:
    r"""Evidence that new numbers are smaller, larger or more extreme than earlier ones.

    Parameters
    ----------
    before : array_like of float, shape (n,)
        Numbers of the earlier items.
    looks : sequence of array_like of float
        Numbers of the new items of each look, in order; NaN is missing.
    rng : numpy.random.Generator
        Breaks ties. The same state gives the same evidence.

    Returns
    -------
    ndarray of float, shape (looks,)
        The e-value after each look. If earlier and new items are exchangeable, it ever reaches
        :math:`1/\alpha` with a probability of at most :math:`\alpha`.

    Notes
    -----
    The share of all items so far that are smaller than a new one, with ties broken at random, is a
    conformal p-value: independent and uniform. Money is bet on small values of :math:`p`,
    :math:`1 - p` and :math:`1 - |2p - 1|` with the densities :math:`\epsilon p^{\epsilon - 1}`,
    from any look on, as in :func:`rise`.

    References
    ----------
    V. Vovk, A. Gammerman and G. Shafer (2022). Algorithmic Learning in a Random World, 2nd ed.,
    chapter 8 (conformal test martingales).

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> same, longer = range(0, 100, 5), range(80, 160, 4)
    >>> [bool(e > 20) for e in of_numbers(range(100), [same, longer], rng=rng)]
    [False, True]
    """
    bag = sorted(_known(before))
    steps = []
    for look in looks:
        p = []
        for value in _known(look):
            low, high = np.searchsorted(bag, value, "left"), np.searchsorted(bag, value, "right")
            p.append((low + rng.random() * (high - low + 1)) / (len(bag) + 1))
            bag.insert(int(high), value)
        ranks = np.array(p, dtype=np.float64)
        steps.append(np.array([ranks, 1 - ranks, 1 - np.abs(2 * ranks - 1)]))
    return _evidence(steps)


def of_categories(
    before: Sequence[Hashable], looks: Sequence[Sequence[Hashable]], *, rng: np.random.Generator
) -> FloatArray:
    """Evidence that new items have categories that were rarer among earlier ones.

    Parameters
    ----------
    before : sequence of hashable
        Categories of the earlier items.
    looks : sequence of sequences of hashable
        Categories of the new items of each look.
    rng : numpy.random.Generator
        Breaks ties.

    Returns
    -------
    ndarray of float, shape (looks,)
        As for :func:`of_numbers`; a p-value is the share of items whose category is rarer.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> [bool(e > 20) for e in of_categories("ab" * 50, ["ab" * 10, "c" * 10], rng=rng)]
    [False, True]
    """
    counts = Counter(before)
    steps = []
    for look in looks:
        p = []
        for category in look:
            counts[category] += 1
            own = counts[category]
            rarer = sum(n for n in counts.values() if n < own)
            as_rare = sum(n for n in counts.values() if n == own)
            p.append((rarer + rng.random() * as_rare) / counts.total())
        steps.append(np.array([p], dtype=np.float64))
    return _evidence(steps)


def _known(values: npt.ArrayLike) -> list[float]:
    array = np.asarray(values, dtype=np.float64)
    return [float(value) for value in array[~np.isnan(array)]]


def _evidence(steps: Sequence[FloatArray]) -> FloatArray:
    """The e-value after each look; a step has p-values by bet and item."""
    begun: FloatArray | float = -np.inf
    e, after, number = 1.0, [], 0
    for p in steps:
        if p.size:
            number += 1
            logs = np.log(_POWERS) + (_POWERS - 1) * np.log(np.maximum(p, _SMALLEST))[..., None]
            begun = np.logaddexp(begun, -np.log(number * (number + 1))) + logs.sum(axis=1)
            total = np.logaddexp.reduce(begun, axis=None) - np.log(np.size(begun))
            e = float(np.exp(min(np.logaddexp(total, -np.log(number + 1)), 700.0)))
        after.append(e)
    return np.array(after, dtype=np.float64)
