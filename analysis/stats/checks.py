"""Checks of arguments and codes that several modules share."""

import numpy as np
import numpy.typing as npt

from .results import IntArray


def check_level(level: float) -> None:
    if not 0 < level < 1:
        raise ValueError(f"`level` must lie between 0 and 1, got {level}.")


def relabel(codes: npt.ArrayLike) -> tuple[IntArray, int]:
    """Codes 0..G-1 in place of any codes, and G."""
    values, inverse = np.unique(np.asarray(codes), return_inverse=True)
    return inverse.astype(np.int64), int(values.size)
