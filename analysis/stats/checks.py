"""Checks of arguments and codes that several modules share."""

import numpy as np
import numpy.typing as npt

from .results import BoolArray, IntArray


def check_level(level: float) -> None:
    if not 0 < level < 1:
        raise ValueError(f"`level` must lie between 0 and 1, got {level}.")


def relabel(codes: npt.ArrayLike) -> tuple[IntArray, int]:
    """Codes 0..G-1 in place of any codes, and G."""
    values, inverse = np.unique(np.asarray(codes), return_inverse=True)
    return inverse.astype(np.int64), int(values.size)


def known_rows(correct: npt.ArrayLike) -> tuple[IntArray, BoolArray]:
    """Right, wrong or missing (1, 0, -1) as codes, and which rows are not missing."""
    right = np.asarray(correct)
    if not np.isin(right, (-1, 0, 1)).all():
        raise ValueError("`correct` may hold only 1 (right), 0 (wrong) and -1 (missing).")
    return right.astype(np.int64), np.asarray(right >= 0)
