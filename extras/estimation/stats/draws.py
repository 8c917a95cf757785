"""Draws of items that a judge is likely to get wrong, with known probabilities."""

import numpy as np
import numpy.typing as npt

from analysis.stats.core.results import BoolArray, FloatArray

FLOOR = 0.1  # share of an equal draw's probability


def error_spread(right: npt.ArrayLike) -> FloatArray:
    r"""Standard deviation of being right, :math:`\sqrt{c(1-c)}`, with probability c.

    Parameters
    ----------
    right : array_like of float, shape (n_items,)
        Probability that a judge is right, 0 to 1.

    Returns
    -------
    ndarray of float, shape (n_items,)
        The largest, 1/2, for items without a probability (NaN).

    Examples
    --------
    >>> error_spread([0.5, 0.9, 1.0, np.nan]).round(3).tolist()
    [0.5, 0.3, 0.0, 0.5]
    """
    c = np.clip(np.asarray(right, dtype=np.float64), 0, 1)
    return np.where(np.isnan(c), 0.5, np.sqrt(c * (1 - c)))


def draw_probabilities(spread: npt.ArrayLike, size: int) -> FloatArray:
    """Probabilities of items in proportion to their `spread`, which add up to `size`.

    Every item has at least a tenth of the probability that it has in an equal draw.

    Parameters
    ----------
    spread : array_like of float, shape (n_items,)
        0 or more.
    size : int
        Items to draw, from 1 to all of them.

    Returns
    -------
    ndarray of float, shape (n_items,)
        At most 1; any excess goes to the other items.

    Examples
    --------
    >>> draw_probabilities([0.5, 0.25, 0.25, 0.0], 2).round(3).tolist()
    [0.975, 0.488, 0.488, 0.05]
    """
    values = np.asarray(spread, dtype=np.float64)
    n = values.size
    if not 1 <= size <= n:
        raise ValueError(f"`size` must be in 1..{n}, got {size}.")
    if (values < 0).any() or np.isnan(values).any():
        raise ValueError("`spread` must be 0 or more.")
    if values.sum() <= 0:
        values = np.ones(n)
    least = FLOOR * size / n
    chances = np.full(n, least)
    fixed = np.zeros(n, dtype=np.bool_)
    # An item at the floor or at 1 is fixed; the others share what is left, until none is beyond.
    for _ in range(2 * n + 1):
        left = size - chances[fixed].sum()
        free = ~fixed
        if not free.any():
            break
        scale = left / max(values[free].sum(), 1e-300)
        tried = values * scale
        over, under = free & (tried > 1), free & (tried < least)
        if not (over.any() or under.any()):
            chances[free] = tried[free]
            break
        # The larger of the two excesses decides which bound is met first.
        beyond = (tried[over] - 1).sum() - (least - tried[under]).sum()
        chosen = over if beyond >= 0 else under
        chances[chosen] = 1.0 if beyond >= 0 else least
        fixed |= chosen
    return np.asarray(np.clip(chances, least, 1.0), dtype=np.float64)


def draw_items(probabilities: npt.ArrayLike, *, rng: np.random.Generator) -> BoolArray:
    """Draw items so that each has exactly its probability; their number is the probabilities' sum.

    Parameters
    ----------
    probabilities : array_like of float, shape (n_items,)
        As from `draw_probabilities`.
    rng : numpy.random.Generator

    Returns
    -------
    ndarray of bool, shape (n_items,)
        Which items are drawn.

    Notes
    -----
    Systematic sampling from a random order.

    Examples
    --------
    >>> drawn = draw_items([0.5] * 6 + [1.0], rng=np.random.default_rng(1))
    >>> int(drawn.sum()), bool(drawn[-1])
    (4, True)
    """
    chances = np.asarray(probabilities, dtype=np.float64)
    order = rng.permutation(chances.size)
    reached = np.cumsum(chances[order])
    total = round(float(reached[-1]))
    ticks = rng.random() + np.arange(total)
    # The sum may be off by rounding.
    at = np.minimum(np.searchsorted(reached, ticks, side="right"), chances.size - 1)
    drawn = np.zeros(chances.size, dtype=np.bool_)
    drawn[order[at]] = True
    return drawn
