"""Adjustment for several tests: Holm for any error, Benjamini-Yekutieli for the share of errors."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from scipy.stats import false_discovery_control


def holm(p_values: Sequence[float | None]) -> list[float | None]:
    r"""Adjust p values so that the chance of any false rejection stays below the level (Holm).

    Parameters
    ----------
    p_values : sequence of float or None, length n
        Raw p values in [0, 1], in any order. None marks a test that could not be made; it is
        not counted among the tests and stays None.

    Returns
    -------
    list of float or None, length n
        Adjusted p values in the order given. Reject if ``adjusted <= level``.

    Raises
    ------
    ValueError
        If a p value lies outside [0, 1].

    Notes
    -----
    With the values sorted, :math:`\tilde p_{(i)} = \max_{j\le i}\min(1, (n-j+1)\,p_{(j)})`.
    Equal p values get equal adjusted values. No assumption about dependence is made.

    References
    ----------
    .. [1] Holm, "A simple sequentially rejective multiple test procedure", Scandinavian Journal
       of Statistics 6 (1979), 65-70.

    Examples
    --------
    >>> [None if p is None else round(p, 3) for p in holm([0.01, None, 0.04, 0.03])]
    [0.03, None, 0.06, 0.06]
    """
    tested, values = _tested(p_values)
    order = np.argsort(values, kind="stable")
    factors = np.arange(values.size, 0, -1)
    stepped = np.maximum.accumulate(np.minimum(1.0, factors * values[order]))
    return _restore(len(p_values), tested[order], stepped)


def benjamini_yekutieli(p_values: Sequence[float | None]) -> list[float | None]:
    r"""Adjust p values so that the expected share of false rejections stays below the level.

    Valid under any dependence between the tests, which is why the alternative annotator test
    uses it: its tests share items and annotators.

    Parameters
    ----------
    p_values : sequence of float or None, length n
        Raw p values in [0, 1]. None marks a test that could not be made and stays None.

    Returns
    -------
    list of float or None, length n
        Adjusted p values in the order given. Reject if ``adjusted <= q``.

    Raises
    ------
    ValueError
        If a p value lies outside [0, 1].

    Notes
    -----
    :math:`\tilde p_{(i)} = \min_{j\ge i}\min(1, \frac{n\,c_n}{j}p_{(j)})` with
    :math:`c_n = \sum_{k=1}^n 1/k` (3.99 for 30 tests).

    References
    ----------
    .. [1] Benjamini and Yekutieli, "The control of the false discovery rate in multiple testing
       under dependency", Annals of Statistics 29 (2001), 1165-1188.

    Examples
    --------
    >>> [round(p, 6) for p in benjamini_yekutieli([0.01, 0.04])]
    [0.03, 0.06]
    """
    tested, values = _tested(p_values)
    return _restore(len(p_values), tested, false_discovery_control(values, method="by"))


def _tested(
    p_values: Sequence[float | None],
) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.float64]]:
    """Positions and values of the tests that were made."""
    tested = [index for index, p in enumerate(p_values) if p is not None]
    values = np.array([p for p in p_values if p is not None], dtype=np.float64)
    if not np.all((values >= 0) & (values <= 1)):
        raise ValueError("`p_values` must lie in [0, 1].")
    return np.array(tested, dtype=np.intp), values


def _restore(
    n: int, positions: npt.NDArray[np.intp], values: npt.NDArray[np.float64]
) -> list[float | None]:
    """Adjusted values at the positions of the raw ones."""
    adjusted: list[float | None] = [None] * n
    for position, value in zip(positions, values, strict=True):
        adjusted[int(position)] = float(value)
    return adjusted
