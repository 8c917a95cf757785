"""Certified thresholds: certainties above which the share of errors is bounded."""

import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

import numpy as np
import numpy.typing as npt
from scipy import special

from analysis.stats.certainty.calibration import usable_answers
from analysis.stats.core.proportions import EMPTY, wilson_proportion
from analysis.stats.core.results import (
    BoolArray,
    FloatArray,
    IntArray,
    Proportion,
    Reason,
    check_share,
    known_rows,
    relabel,
)

# Thresholds in test order, fixed before any data.
GRID = tuple(range(99, 49, -1))
Weighting = Literal["item", "cluster"]


@dataclass(frozen=True)
class TestedThreshold:
    """One step of the sequence: errors among the answers accepted by a threshold.

    Attributes
    ----------
    threshold : float
        Certainty, accepted from here on.
    n, errors : int
        Answers accepted, and wrong ones among them.
    p : float
        Probability of so few errors if the true share were the largest allowed; 1 without answers.
    """

    threshold: float
    n: int
    errors: int
    p: float


@dataclass(frozen=True)
class CertifiedThreshold:
    """Lowest threshold that passed every test down to it, or the reason why there is none.

    Attributes
    ----------
    threshold : float or None
        Accept answers at least as certain as this; if None, accept none.
    coverage : float or None
        Share of the used answers that it accepts.
    accepted : Proportion
        Right answers among those, in the certifying data.
    max_error, delta : float
        The certificate: the true share of errors among accepted answers exceeds `max_error`
        with probability at most `delta`, for all judges together.
    n_judges : int
        Judges among whom a reader may choose; each was tested at ``delta / n_judges``.
    tested : tuple of TestedThreshold
        The sequence up to and including the first failure.
    n, n_missing : int
        Answers used and left out.
    reason : str or None
        Why `threshold` is None: ``"empty_group"`` without answers, ``"dependent_items"`` if
        two of them share a cluster, ``"too_few_items"`` if no threshold accepts enough,
        ``"not_certified"`` if the first test failed.
    """

    threshold: float | None
    coverage: float | None
    accepted: Proportion
    max_error: float
    delta: float
    n_judges: int
    tested: tuple[TestedThreshold, ...]
    n: int
    n_missing: int
    reason: Reason | None = None


def certify_threshold(
    certainty: npt.ArrayLike,
    correct: npt.ArrayLike,
    *,
    max_error: float,
    clusters: Sequence[npt.ArrayLike] = (),
    delta: float = 0.1,
    n_judges: int = 1,
    start: float | None,
    grid: Sequence[int] = GRID,
) -> CertifiedThreshold:
    r"""Find the lowest threshold with a guaranteed share of errors among accepted answers.

    Parameters
    ----------
    certainty : array_like of float, shape (n,)
        Stated certainty, 0 to 100; NaN is missing.
    correct : array_like of int, shape (n,)
        1 right, 0 wrong, -1 missing.
    max_error : float
        Largest share of errors to allow among accepted answers, in (0, 1).
    clusters : sequence of array_like of int, each of shape (n,)
        What answers may share, for example their personas and their questions. If two usable
        answers share one, nothing is certified; see :func:`one_per_cluster`.
    delta : float, default 0.1
        Probability with which the certificate may be wrong, in (0, 1).
    n_judges : int, default 1
        Judges, or error levels, among whom the result is chosen; `delta` is divided among them.
    start : float or None
        Start of the sequence, fixed without looking at `correct`; see
        :func:`starting_threshold`. None if no threshold accepts enough answers.
    grid : sequence of int, optional
        Thresholds in strictly descending order, fixed before the data; 99 down to 50.

    Returns
    -------
    CertifiedThreshold

    Raises
    ------
    ValueError
        If the arrays do not fit or a number is out of range.

    Notes
    -----
    Fixed-sequence testing: from `start` downwards, threshold :math:`\tau` passes while
    :math:`P(\mathrm{Bin}(n_\tau,\alpha)\le k_\tau)\le\delta/J`. The first failure ends the
    sequence, so the chance that any threshold passes wrongly is at most that of the first whose
    share of errors is too large. It holds if the answers are independent draws from the
    population in which the threshold will be used.

    References
    ----------
    .. [1] Angelopoulos, Bates, Candès, Jordan and Lei, "Learn then test", Annals of Applied
       Statistics 19(2), 2025.
    .. [2] Jung, Brahman and Choi, "Trust or escalate", ICLR 2025.

    Examples
    --------
    >>> certainty, correct = [90] * 40 + [60] * 40, [1] * 40 + [0, 1] * 20
    >>> found = certify_threshold(certainty, correct, max_error=0.2, start=90)
    >>> found.threshold, found.coverage, found.tested[-1].threshold
    (61.0, 0.5, 60.0)
    >>> certify_threshold(certainty, correct, max_error=0.05, start=90).reason
    'not_certified'
    """
    check_share("max_error", max_error)
    check_share("delta", delta)
    if n_judges < 1:
        raise ValueError(f"`n_judges` must be at least 1, got {n_judges}.")
    if any(after >= before for before, after in pairwise(grid)):
        raise ValueError("`grid` must be strictly descending.")
    values, right, n_missing = usable_answers(certainty, correct)
    n = int(values.size)

    def result(
        tested: Sequence[TestedThreshold], passed: float | None, reason: Reason | None
    ) -> CertifiedThreshold:
        accepted = values >= passed if passed is not None else None
        return CertifiedThreshold(
            threshold=passed,
            coverage=None if accepted is None else float(accepted.mean()),
            accepted=EMPTY if accepted is None else wilson_proportion(right[accepted]),
            max_error=max_error,
            delta=delta,
            n_judges=n_judges,
            tested=tuple(tested),
            n=n,
            n_missing=n_missing,
            reason=reason,
        )

    if n == 0:
        return result((), None, "empty_group")
    if _shares_a_cluster(certainty, correct, clusters):
        return result((), None, "dependent_items")
    if start is None:
        return result((), None, "too_few_items")

    tested: list[TestedThreshold] = []
    passed: float | None = None
    for threshold in (float(point) for point in grid if point <= start):
        accepted = right[values >= threshold]
        errors = int((accepted == 0).sum())
        p = float(special.bdtr(errors, accepted.size, max_error)) if accepted.size else 1.0
        tested.append(TestedThreshold(threshold, int(accepted.size), errors, p))
        if p > delta / n_judges:
            break
        passed = threshold
    return result(tested, passed, None if passed is not None else "not_certified")


def starting_threshold(
    certainty: npt.ArrayLike, n: int, *, min_n: int = 30, grid: Sequence[int] = GRID
) -> float | None:
    """Return the strictest threshold that is expected to accept enough of `n` answers.

    Parameters
    ----------
    certainty : array_like of float
        Certainties of answers like those to be tested, right or wrong; NaN is missing.
    n : int
        Answers to be tested.
    min_n : int, default 30
        Answers that the first threshold must accept.
    grid : sequence of int, optional
        Thresholds in descending order.

    Returns
    -------
    float or None
        None if even the lowest threshold accepts too few.

    Examples
    --------
    >>> starting_threshold([95] * 10 + [80] * 30 + [60] * 60, 100)
    80.0
    """
    values: FloatArray = np.asarray(certainty, dtype=np.float64)
    values = values[~np.isnan(values)]
    for threshold in grid:
        # Counted before divided, so that exactly `min_n` is enough.
        if values.size and int((values >= threshold).sum()) * n >= min_n * values.size:
            return float(threshold)
    return None


def fewest_at_start(n: int) -> int:
    """Number of `n` answers that a sequence which uses all of them should accept at its start.

    Parameters
    ----------
    n : int
        Answers to be tested.

    Returns
    -------
    int
        30, or a fifth of the answers if more. With a constant 30, more answers would not make the
        first test easier to pass.

    Examples
    --------
    >>> fewest_at_start(100), fewest_at_start(1000)
    (30, 200)
    """
    return max(30, math.ceil(n / 5))


def one_per_cluster(
    keys: Sequence[str],
    clusters: Sequence[npt.ArrayLike],
    *,
    by: Weighting = "item",
    seed: int | None = None,
) -> BoolArray:
    r"""Draw items with equal chances so that no two share a cluster of any kind.

    Parameters
    ----------
    keys : sequence of str, length n
        Keys of the items. Their hash decides, not the order of the rows or any answer.
    clusters : sequence of one or two array_like of int, each of shape (n,)
        For example the persona and the question of each item.
    by : {"item", "cluster"}, default "item"
        What is drawn with equal chances: items, or clusters of the first kind, whose items share
        the chance. The drawn items then estimate the share of errors over all items, or its mean
        over clusters.
    seed : int, optional
        Part of the hash, so that another seed draws other items.

    Returns
    -------
    ndarray of bool, shape (n,)
        The drawn items.

    Raises
    ------
    ValueError
        If the arrays do not fit.

    Notes
    -----
    By item, a cluster of the first kind offers one of its :math:`n_c` items with probability
    :math:`n_c/\max n`; by cluster, each offers one. Of the offered items that share a cluster of
    the second kind one is taken, with the chance :math:`E[1/(1+B)]`, where :math:`B` counts the
    others that are offered there. A last thinning makes that chance equal for all. If every
    possible item were drawn instead, small clusters would count more than their items.

    Examples
    --------
    >>> chosen = one_per_cluster(["a", "b", "c", "d"], [[0, 0, 1, 1], [0, 1, 2, 3]])
    >>> int(chosen.sum())
    2
    """
    codes = [np.asarray(of_kind) for of_kind in clusters]
    if len(codes) not in (1, 2) or any(of_kind.shape != (len(keys),) for of_kind in codes):
        raise ValueError(
            f"Give one or two clusterings, each with one code for each of the {len(keys)} items."
        )
    if not keys:
        return np.zeros(0, dtype=np.bool_)
    before = "" if seed is None else f"{seed}|"
    digests = b"".join(hashlib.sha256(f"{before}{key}".encode()).digest() for key in keys)
    order, taken, opens, kept = np.frombuffer(digests, ">u8").reshape(-1, 4).T / 2.0**64
    first, n_first = relabel(codes[0])
    sizes = np.bincount(first, minlength=n_first)[first]
    offered = _first_of_each(order, first, n_first)
    weights = np.ones(len(keys))
    if by == "item":
        weights = sizes / sizes.max()
        offered &= opens < weights
    if len(codes) == 1:
        return offered
    chosen = offered.copy()
    second, n_second = relabel(codes[1])
    chosen[offered] = _first_of_each(taken[offered], second[offered], n_second)
    chance = _chance_among_offered(weights / sizes, first, second, n_second)
    return np.asarray(chosen & (kept * chance < chance.min()), dtype=np.bool_)


def _first_of_each(order: FloatArray, codes: IntArray, n_codes: int) -> BoolArray:
    best = np.full(n_codes, np.inf)
    np.minimum.at(best, codes, order)
    return np.asarray(order == best[codes], dtype=np.bool_)


def _chance_among_offered(
    offered: FloatArray, first: IntArray, second: IntArray, n_second: int
) -> FloatArray:
    """E[1 / (1 + B)] of each item, an integral of the generating function of B."""
    pairs, pair = np.unique(np.stack([first, second]), axis=1, return_inverse=True)
    pair = pair.ravel()
    # Items of one cluster are never offered together, so their chances add up.
    together = np.bincount(pair, weights=offered)
    nodes, weights = np.polynomial.legendre.leggauss(32)
    chance = np.zeros(pairs.shape[1])
    for node, weight in zip((nodes + 1) / 2, weights / 2, strict=True):
        missing = np.log1p(-together * (1 - node))
        of_second = np.bincount(pairs[1], weights=missing, minlength=n_second)
        chance += weight * np.exp(of_second[pairs[1]] - missing)
    return np.asarray(chance[pair], dtype=np.float64)


def _shares_a_cluster(
    certainty: npt.ArrayLike, correct: npt.ArrayLike, clusters: Sequence[npt.ArrayLike]
) -> bool:
    used = known_rows(correct)[1] & ~np.isnan(np.asarray(certainty, dtype=np.float64))
    for of_kind in clusters:
        codes = np.asarray(of_kind)
        if codes.shape != used.shape:
            raise ValueError(f"A clustering has {codes.size} rows, `correct` has {used.size}.")
        if np.unique(codes[used]).size < int(used.sum()):
            return True
    return False
