"""Agreement of two sides' rankings of systems."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice

import numpy as np
import numpy.typing as npt
from scipy import stats

from ..core.bootstrap import MAX_UNDEFINED, resampled_estimate, resampled_weights
from ..core.multiway import prepare
from ..core.results import (
    BoolArray,
    Estimate,
    FloatArray,
    IntArray,
    Reason,
    check_level,
    seed_of,
)
from .strengths import fit_strengths, results
from .win_rates import Contests

_AT_ONCE = 1_000_000  # weights of items
_ROUNDING = 9  # decimals in which two strengths are the same


@dataclass(frozen=True, eq=False)
class RankingAgreement:
    """Rankings of the systems by two sides, on the items that both decided.

    Attributes
    ----------
    n : int
        Contests that both sides decided.
    kendall, spearman : Estimate
        Rank correlations: Kendall's tau b, and Spearman's rho; undefined with fewer than three
        systems (``"too_few_systems"``) or if a side ranks all equally (``"no_variation"``).
    first_top, second_top : tuple of int
        The strongest system of each side; several if tied.
    same_top, same_order : float or None
        Share of resamples in which both sides have the same top system, and the same order.
    reason : str or None
        Why all of them are undefined: ``"not_connected"`` if a side has no strengths.
    resampled_reason : str or None
        Why `same_top` and `same_order` are None.
    n_draws : int
    seed : int or None
    """

    n: int
    kendall: Estimate
    spearman: Estimate
    first_top: tuple[int, ...]
    second_top: tuple[int, ...]
    same_top: float | None
    same_order: float | None
    reason: Reason | None
    resampled_reason: Reason | None
    n_draws: int
    seed: int | None


def ranking_agreement(
    contests: Contests,
    first: npt.ArrayLike,
    second: npt.ArrayLike,
    clusters: Mapping[str, npt.ArrayLike],
    *,
    n_draws: int = 1000,
    rng: np.random.Generator,
    level: float = 0.95,
) -> RankingAgreement:
    """Compare the rankings of systems by two sides.

    Parameters
    ----------
    contests : Contests
    first, second : array_like of int, shape (n_items,)
        Choices of both sides: 0, 1, 2 (a tie) or -1 (missing).
    clusters : mapping of str to array_like of int, each of shape (n_items,)
        What items share, for example ``item``, ``persona``, ``question``. Clusterings that are not
        nested in another are resampled independently.
    n_draws : int, default 1000
        Resamples, at least 2.
    rng : numpy.random.Generator
        Source of randomness; its seed is stored.
    level : float, default 0.95

    Returns
    -------
    RankingAgreement
        Without interval and shares (``"not_connected"``) if more than 5 % of the resamples leave a
        side without strengths.

    Notes
    -----
    Systems are ranked by the strengths of `system_strengths`. Both sides are uncertain: even sides
    that agree completely rank some resamples differently if systems are about equally strong. With
    several clusterings the weight of an item is the product of their weights [1]_, which is
    conservative.

    References
    ----------
    .. [1] A. B. Owen, "The Pigeonhole Bootstrap", Annals of Applied Statistics 1(2), 2007.

    Examples
    --------
    >>> contests = Contests.of([0, 1, 0] * 20, [1, 2, 2] * 20)
    >>> people = [0, 0, 0] * 15 + [1, 1, 1] * 5
    >>> judge = [0, 0, 0] * 14 + [1, 1, 1] * 6
    >>> found = ranking_agreement(
    ...     contests, people, judge, {"item": np.arange(60)}, rng=np.random.default_rng(7)
    ... )
    >>> found.kendall.value, found.first_top, found.second_top, found.same_top > 0.8
    (1.0, (0,), (0,), True)
    """
    check_level(level)
    if n_draws < 2:
        raise ValueError(f"`n_draws` must be at least 2, got {n_draws}.")
    rows = contests.rows(first, second)
    chosen = [np.full(contests.first.size, -1, dtype=np.int64) for _ in range(2)]
    for side, choice in zip(chosen, (first, second), strict=True):
        side[rows] = np.asarray(choice, dtype=np.int64)[rows]
    seed = seed_of(rng)

    def undefined(reason: Reason) -> RankingAgreement:
        nothing = Estimate(None, reason)
        return RankingAgreement(
            rows.size, nothing, nothing, (), (), None, None, reason, reason, n_draws, seed
        )

    if not rows.size or contests.n_systems < 2:
        return undefined("too_few_items")
    everything = np.ones((1, contests.first.size))
    observed = [_ranks(contests, side, everything) for side in chosen]
    if any(np.isnan(ranks).any() for ranks in observed):
        return undefined("not_connected")
    tops = [_top(ranks)[0] for ranks in observed]
    first_top, second_top = (tuple(int(at) for at in np.flatnonzero(top)) for top in tops)

    drawn = [np.empty((n_draws, contests.n_systems)) for _ in range(2)]
    codes = {name: np.asarray(values)[rows] for name, values in clusters.items()}
    weights, how = _weights(codes, rows, contests.first.size, n_draws, rng)
    at_once = max(1, _AT_ONCE // contests.first.size)
    for start in range(0, n_draws, at_once):
        block = np.stack(list(islice(weights, at_once)))
        for side, ranks in zip(chosen, drawn, strict=True):
            ranks[start : start + at_once] = _ranks(contests, side, block)
    known = ~(np.isnan(drawn[0]) | np.isnan(drawn[1])).any(axis=1)
    resampled_reason: Reason | None = None
    same_top = same_order = None
    if known.mean() < 1 - MAX_UNDEFINED:
        resampled_reason = "not_connected"
    else:
        one, two = (ranks[known] for ranks in drawn)
        same_top = float((_top(one) == _top(two)).all(axis=1).mean())
        same_order = float((one == two).all(axis=1).mean())

    def correlation(of: Callable[[FloatArray, FloatArray], FloatArray]) -> Estimate:
        value = float(of(*observed)[0])
        if contests.n_systems < 3:
            return Estimate(None, "too_few_systems")
        if np.isnan(value):
            return Estimate(None, "no_variation")
        return resampled_estimate(
            value,
            of(*drawn),
            level=level,
            method=f"bootstrap of {how}",
            n_items=rows.size,
            rng=rng,
            undefined="not_connected",
        )

    kendall, spearman = correlation(_kendall), correlation(_spearman)
    return RankingAgreement(
        rows.size,
        kendall,
        spearman,
        first_top,
        second_top,
        same_top,
        same_order,
        None,
        resampled_reason,
        n_draws,
        seed,
    )


def _ranks(contests: Contests, choice: IntArray, weights: FloatArray) -> FloatArray:
    """Mean ranks from weakest to strongest, shape (n_tables, n_systems); NaN without strengths."""
    fits = fit_strengths(*results(contests, choice, weights))
    ranks = stats.rankdata(np.round(fits.strength, _ROUNDING), axis=1)
    return np.where(fits.is_defined[:, None], ranks, np.nan)


def _top(ranks: FloatArray) -> BoolArray:
    return np.asarray(ranks == ranks.max(axis=1, keepdims=True))


def _weights(
    codes: Mapping[str, IntArray],
    rows: IntArray,
    n: int,
    n_draws: int,
    rng: np.random.Generator,
) -> tuple[Iterator[FloatArray], str]:
    """Weights of all items in each resample, and the resampled clusterings."""
    prepared = prepare(codes, rows.size)
    used = prepared.used if prepared is not None else ()
    sources = [
        (resampled_weights(prepared.n_clusters[name], n_draws, rng), prepared.one_way[name])
        for name in used
        if prepared is not None
    ]

    def draw() -> Iterator[FloatArray]:
        for _ in range(n_draws):
            weights = np.zeros(n)
            weights[rows] = 1.0
            for source, code in sources:
                weights[rows] *= next(source)[code]
            yield weights

    return draw(), " × ".join(used) or "nothing"


def _kendall(first: FloatArray, second: FloatArray) -> FloatArray:
    one, two = np.triu_indices(first.shape[1], 1)
    signs = [np.sign(ranks[:, one] - ranks[:, two]) for ranks in (first, second)]
    return _ratio(*signs)


def _spearman(first: FloatArray, second: FloatArray) -> FloatArray:
    return _ratio(*(ranks - ranks.mean(axis=1, keepdims=True) for ranks in (first, second)))


def _ratio(first: FloatArray, second: FloatArray) -> FloatArray:
    """Correlation of centred rows; NaN where a side does not vary."""
    size = np.sqrt((first**2).sum(axis=1) * (second**2).sum(axis=1))
    shared = (first * second).sum(axis=1)
    ratio = np.divide(shared, size, out=np.full(size.size, np.nan), where=size > 0)
    return np.asarray(ratio, dtype=np.float64)
