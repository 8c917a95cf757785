"""The labels that a certificate needs."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from scipy import special

from analysis.stats.certainty.calibration import usable_answers
from extras.certificates.stats.certified_thresholds import GRID, fewest_at_start, starting_threshold

POWER = 0.8
# More labels than this are not practical.
MOST = 100_000
_STEP = 1.1


def labels_needed(
    certainty: npt.ArrayLike,
    correct: npt.ArrayLike,
    *,
    max_error: float,
    delta: float,
    rng: np.random.Generator,
    power: float = POWER,
    draws: int = 2_000,
    grid: Sequence[int] = GRID,
    at_least: int = 1,
) -> int | None:
    """Estimate the smallest number of items with which a threshold would be certified.

    Parameters
    ----------
    certainty, correct : array_like, shape (n,)
        As for :func:`certify_threshold`; the source of expected coverage and errors.
    max_error, delta : float
        Parameters of the test, in (0, 1); `delta` is already divided among judges.
    rng : numpy.random.Generator
        Source of the simulated samples.
    power : float, default 0.8
        Share of samples in which the first test has to pass.
    draws : int, default 2000
        Samples for each number of items.
    grid : sequence of int, optional
        Thresholds in descending order.
    at_least : int, default 1
        Smallest number to try, for example more than the available items.

    Returns
    -------
    int or None
        None if no number up to 100,000 is enough: at every threshold where the sequence could
        start, the observed share of errors is too large.

    Raises
    ------
    ValueError
        If the arrays do not fit.

    Notes
    -----
    With :math:`n` items the sequence starts as :func:`fewest_at_start` says. The samples there are
    binomial: :math:`n_\\tau` of the coverage, errors of the observed share, from at least the 30
    most certain answers, so that a few answers without an error do not count as perfect.

    Examples
    --------
    >>> certainty, correct = [90] * 40 + [60] * 40, [1] * 38 + [0, 0] + [1, 0] * 20
    >>> rng = np.random.default_rng(0)
    >>> labels_needed(certainty, correct, max_error=0.2, delta=0.1, rng=rng) in range(60, 90)
    True
    """
    values, right, _ = usable_answers(certainty, correct)
    if not values.size:
        return None

    enough = float(np.sort(values)[-min(30, values.size)])

    def passes(n: int) -> bool:
        start = starting_threshold(values, n, min_n=fewest_at_start(n), grid=grid)
        if start is None:
            return False
        accepted = values >= start
        seen = right[values >= min(start, enough)]
        error = float((seen == 0).mean())
        if error >= max_error:
            return False
        n_accepted = rng.binomial(n, float(accepted.mean()), size=draws)
        errors = rng.binomial(n_accepted, error)
        p = special.bdtr(errors, n_accepted, max_error)
        return bool(np.mean(np.where(n_accepted > 0, p, 1.0) <= delta) >= power)

    fails, n = max(0, at_least - 1), max(1, at_least)
    while n <= MOST and not passes(n):
        fails, n = n, max(n + 1, int(n * _STEP))
    if n > MOST:
        return None
    while n - fails > 1:
        middle = (n + fails) // 2
        if passes(middle):
            n = middle
        else:
            fails = middle
    return n
