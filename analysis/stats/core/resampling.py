"""The paper's agreement of two annotators on random sheets of items."""

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from .bootstrap import distinct_rows, percentile_interval
from .results import FloatArray, IntArray, Interval, Reason, check_level, seed_of
from .votes import Votes

ResamplingUnit = Literal["item_pair", "pairs", "all_pairs"]


@dataclass(frozen=True, eq=False)
class AgreementDraws:
    """Agreement of two annotators over repeated draws of a few items.

    Attributes
    ----------
    mean, sd : float or None
        Mean and standard deviation (``ddof=1``) of `draws`, in [0, 1]. `sd` is the spread of
        one sheet of `size` items, not the standard error of the agreement over all items.
    reason : str or None
        Why they are None.
    interval : Interval or None
        Percentiles of the draws: where the agreement on one such sheet falls. None if all
        draws are the same.
    expected_mean, expected_sd : float or None
        Exact mean and standard deviation of a draw, without simulation.
    standard_error : float or None
        Standard error of the mean agreement over all items; None below two items.
    draws : ndarray of float, shape (n_draws,)
        Agreement of each draw, in the order they were made; empty if undefined.
    unit : str
        What was drawn: ``"item_pair"``, ``"pairs"`` or ``"all_pairs"``.
    size, n_draws : int
        Units per draw, and draws.
    n_items, n_pairs : int
        Items with at least two annotations, and their pairs of annotations.
    seed : int or None
        Of the generator.
    """

    mean: float | None
    sd: float | None
    reason: Reason | None
    interval: Interval | None
    expected_mean: float | None
    expected_sd: float | None
    standard_error: float | None
    draws: FloatArray
    unit: ResamplingUnit
    size: int
    n_draws: int
    n_items: int
    n_pairs: int
    seed: int | None


def bootstrap_agreement(
    votes: Votes,
    *,
    unit: ResamplingUnit = "item_pair",
    size: int = 30,
    n_draws: int = 1000,
    rng: np.random.Generator,
    level: float = 0.95,
) -> AgreementDraws:
    r"""Agreement of two annotators on random sheets of a few items.

    Parameters
    ----------
    votes : Votes
        Choices of the annotators. Items with fewer than two are left out.
    unit : {"item_pair", "pairs", "all_pairs"}, default "item_pair"
        What one draw of `size` takes, always without replacement. ``"item_pair"``: items, and
        in each one random pair of its annotations. ``"pairs"``: pairs out of all pairs of
        annotations of all items. ``"all_pairs"``: items, and the mean over their pairs.
    size : int, default 30
        Units per draw.
    n_draws : int, default 1000
        Draws, at least 2.
    rng : numpy.random.Generator
        Source of randomness; its seed is stored.
    level : float, default 0.95
        Of the percentile interval of the draws.

    Returns
    -------
    AgreementDraws
        Undefined, with reason ``"no_pairs"`` or ``"too_few_items"``, if there are no pairs
        or fewer units than `size`.

    Raises
    ------
    ValueError
        If `unit` is unknown, or `size`, `n_draws` or `level` is out of range.

    Notes
    -----
    The paper reports mean .597 and standard deviation .087 from 1,000 draws of 30 without
    replacement, and does not say of what. With :math:`a_i` the share of agreeing pairs of item
    i, N items and n drawn, one random pair per item has mean :math:`\bar a` and variance
    :math:`\frac1n\left[(1-\frac nN)S_a^2 + \overline{a_i(1-a_i)}\right]`, where :math:`S_a^2`
    has ``ddof=1``: .0876 for the paper's size. All pairs of each item would give .0566, which
    the paper's number excludes, so ``"item_pair"`` is the default. ``"pairs"`` (.0881) cannot
    be distinguished from it by the published numbers.

    This is subsampling rather than Efron's bootstrap; the name is the paper's. A draw costs
    O(size), whatever the number of items.

    References
    ----------
    .. [1] Dong, Hu and Collier, "Can LLM be a Personalized Judge?", 2024.

    Examples
    --------
    >>> votes = Votes.from_matrix([[0, 0, 0]] * 60 + [[0, 0, 1]] * 40)
    >>> result = bootstrap_agreement(votes, rng=np.random.default_rng(7))
    >>> round(result.expected_mean, 4), round(result.expected_sd, 4)
    (0.7333, 0.074)
    >>> abs(result.mean - result.expected_mean) < 0.01
    True
    """
    if unit not in get_args(ResamplingUnit):
        raise ValueError(
            f"`unit` must be one of {', '.join(get_args(ResamplingUnit))}, got {unit!r}."
        )
    if size < 1 or n_draws < 2:
        raise ValueError(f"`size` must be at least 1 and `n_draws` 2, got {size} and {n_draws}.")
    check_level(level)

    # Everything but the draws depends on the few distinct count rows alone.
    rows, occurs = distinct_rows(votes.counts())
    size_of = rows.sum(axis=1)
    rows, occurs, size_of = rows[size_of >= 2], occurs[size_of >= 2], size_of[size_of >= 2]
    pairs = size_of * (size_of - 1) / 2
    agreeing = (rows * (rows - 1) / 2).sum(axis=1)
    n_items, n_pairs = int(occurs.sum()), int(occurs @ pairs)
    reason = _reason(unit, size, n_items, n_pairs)
    if reason:
        return AgreementDraws(
            *(None, None, reason, None, None, None, None, np.empty(0)),
            unit=unit,
            size=size,
            n_draws=n_draws,
            n_items=n_items,
            n_pairs=n_pairs,
            seed=seed_of(rng),
        )

    share, total = agreeing / pairs, int(occurs @ agreeing)
    if unit == "item_pair":
        draws = _draw_item_pairs(votes, size, n_draws, rng)
    elif unit == "pairs":
        draws = rng.hypergeometric(total, n_pairs - total, size, n_draws) / size
    else:
        draws = rng.multivariate_hypergeometric(occurs, size, n_draws) @ share / size
    between = float(occurs @ (share - occurs @ share / n_items) ** 2) / max(n_items - 1, 1)
    mean, sd = _expected(unit, share, occurs, between, total / n_pairs, n_pairs, size)
    return AgreementDraws(
        mean=float(draws.mean()),
        sd=float(draws.std(ddof=1)),
        reason=None,
        interval=percentile_interval(
            draws,
            level=level,
            method=f"percentiles of draws of {size} ({unit})",
            n_items=n_items,
            n_annotators=int(np.count_nonzero(np.bincount(votes.annotator))),
            rng=rng,
            value=float(draws.mean()),
            note="spread of one sheet, not of the agreement over all items",
        ),
        expected_mean=mean,
        expected_sd=sd,
        standard_error=(between / n_items) ** 0.5 if n_items > 1 else None,
        draws=draws,
        unit=unit,
        size=size,
        n_draws=n_draws,
        n_items=n_items,
        n_pairs=n_pairs,
        seed=seed_of(rng),
    )


def sample_without_replacement(
    population: int, size: int, n_draws: int, rng: np.random.Generator
) -> IntArray:
    """Draw `size` of `population` numbers without replacement, `n_draws` times.

    Parameters
    ----------
    population, size, n_draws : int
        ``1 <= size <= population``.
    rng : numpy.random.Generator

    Returns
    -------
    ndarray of int, shape (n_draws, size)
        Distinct numbers below `population` in each row.

    Notes
    -----
    Every set of `size` numbers has the same probability. Rows are drawn with replacement and
    those that hold a repetition are drawn again, at a cost that does not depend on
    `population`. If repetitions are frequent, the smallest of random keys are taken instead.

    Examples
    --------
    >>> rows = sample_without_replacement(10, 10, 2, np.random.default_rng(0))
    >>> [sorted(row) == list(range(10)) for row in rows.tolist()]
    [True, True]
    """
    if size * (size - 1) / (2 * population) > 3:
        return _smallest_keys(population, size, n_draws, rng)
    rows = rng.integers(0, population, (n_draws, size))
    stale = np.arange(n_draws)
    while stale.size:
        ordered = np.sort(rows[stale], axis=1)
        stale = stale[(ordered[:, 1:] == ordered[:, :-1]).any(axis=1)]
        rows[stale] = rng.integers(0, population, (stale.size, size))
    return rows


def _smallest_keys(population: int, size: int, n_draws: int, rng: np.random.Generator) -> IntArray:
    rows = np.empty((n_draws, size), dtype=np.int64)
    step = max(1, 2_000_000 // population)
    for start in range(0, n_draws, step):
        keys = rng.random((min(step, n_draws - start), population))
        # In order, because processors partition in different ways.
        chosen = np.argpartition(keys, size - 1, axis=1)[:, :size]
        rows[start : start + step] = np.sort(chosen, axis=1)
    return rows


def _draw_item_pairs(votes: Votes, size: int, n_draws: int, rng: np.random.Generator) -> FloatArray:
    """Share of agreeing pairs per draw: distinct items, one random pair in each."""
    # Sorting a million rows costs fifty times the draws, and most studies are sorted.
    in_order = bool((votes.item[1:] >= votes.item[:-1]).all())
    choice = votes.choice if in_order else votes.choice[np.argsort(votes.item, kind="stable")]
    per_item = np.bincount(votes.item, minlength=votes.n_items)
    end = np.cumsum(per_item)
    rated = np.flatnonzero(per_item >= 2)

    item = rated[sample_without_replacement(rated.size, size, n_draws, rng)]
    k = per_item[item]
    first = end[item] - k
    one = rng.integers(0, k)
    other = (one + 1 + rng.integers(0, k - 1)) % k
    agrees = choice[first + one] == choice[first + other]
    return np.asarray(agrees.mean(axis=1), dtype=np.float64)


def _expected(
    unit: ResamplingUnit,
    share: FloatArray,
    occurs: IntArray,
    between: float,
    p: float,
    n_pairs: int,
    size: int,
) -> tuple[float, float]:
    """Exact mean and standard deviation of one draw."""
    if unit == "pairs":
        left = (n_pairs - size) / (n_pairs - 1) if n_pairs > 1 else 0.0
        return p, (p * (1 - p) / size * left) ** 0.5
    n = int(occurs.sum())
    within = float(occurs @ (share * (1 - share))) / n if unit == "item_pair" else 0.0
    return float(occurs @ share) / n, (((1 - size / n) * between + within) / size) ** 0.5


def _reason(unit: ResamplingUnit, size: int, n_items: int, n_pairs: int) -> Reason | None:
    if n_pairs == 0:
        return "no_pairs"
    available = n_pairs if unit == "pairs" else n_items
    return "too_few_items" if available < size else None
