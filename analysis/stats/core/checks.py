"""Checks, codes and quantiles that several modules use."""

import numpy as np
import numpy.typing as npt
from scipy import special

from analysis.stats.core.results import BoolArray, IntArray


def check_level(level: float) -> None:
    if not 0 < level < 1:
        raise ValueError(f"`level` must lie between 0 and 1, got {level}.")


def normal_quantile(level: float) -> float:
    """Normal quantile of a two-sided interval."""
    check_level(level)
    # `scipy.stats.norm.ppf` calls this too, after fifty times as much checking.
    return float(special.ndtri((1 + level) / 2))


def t_quantile(df: float, share: float) -> float:
    """Quantile of Student's t."""
    # As above: `scipy.stats.t.ppf` calls this.
    return float(special.stdtrit(df, share))


def relabel(codes: npt.ArrayLike) -> tuple[IntArray, int]:
    """Replace codes by 0..G-1 in the same order; return them and G."""
    found = np.asarray(codes)
    if _is_dense(found):
        # Codes that fill their range need no sorting.
        occurs = np.bincount(found) > 0
        return (np.cumsum(occurs) - 1)[found], int(occurs.sum())
    if found.ndim == 1 and found.size and found.dtype.kind in "iu" and found.min() >= 0:
        return _by_digits(found.astype(np.int64, copy=False))
    values, inverse = np.unique(found, return_inverse=True)
    return inverse.astype(np.int64), int(values.size)


def _by_digits(codes: IntArray) -> tuple[IntArray, int]:
    """`relabel` by sorting 16 bits after 16 bits, which numpy does without comparisons."""
    if (codes[1:] >= codes[:-1]).all():
        rank = _ranks(codes)
        return rank, int(rank[-1]) + 1
    order = np.argsort((codes & 0xFFFF).astype(np.uint16), kind="stable")
    shift = 16
    while int(codes.max()) >> shift:
        digit = ((codes >> shift) & 0xFFFF).astype(np.uint16)
        order = order[np.argsort(digit[order], kind="stable")]
        shift += 16
    rank = _ranks(codes[order])
    inverse = np.empty(codes.size, dtype=np.int64)
    inverse[order] = rank
    return inverse, int(rank[-1]) + 1


def _ranks(ascending: IntArray) -> IntArray:
    rank = np.zeros(ascending.size, dtype=np.int64)
    np.cumsum(ascending[1:] != ascending[:-1], out=rank[1:])
    return rank


def kinds_of(unit: IntArray, cell: IntArray, n_units: int) -> tuple[IntArray, int]:
    """Give units with the same cells, one of them perhaps several times, the same code.

    Returns the code of each unit, -1 without cells, and the number of codes. `unit` and `cell` are
    one pair each of a unit and a cell of it, both codes from 0.
    """
    sizes = np.bincount(unit, minlength=n_units)
    ranked = cell[np.lexsort((cell, unit))]
    starts, n_cells = np.cumsum(sizes) - sizes, int(cell.max(initial=-1)) + 1
    kind, n_kinds = np.full(n_units, -1), 0
    for size in np.flatnonzero(np.bincount(sizes[sizes > 0])).tolist():
        units = np.flatnonzero(sizes == size)
        code = np.zeros(units.size, dtype=np.int64)
        for place in range(size):
            # A code is below the number of units, so that the product stays small.
            code, n_codes = relabel(code * n_cells + ranked[starts[units] + place])
        kind[units] = n_kinds + code
        n_kinds += n_codes
    return kind, n_kinds


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
