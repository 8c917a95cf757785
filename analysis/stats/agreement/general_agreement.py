"""Agreement of people about items, people, personas and questions in general."""

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from analysis.stats.comparison.general_difference import general_difference
from analysis.stats.core.count_rows import count_rows
from analysis.stats.core.results import Estimate
from analysis.stats.core.shared_variance import Sharing


def general_agreement(counts: npt.ArrayLike, sharing: Sharing, *, level: float = 0.95) -> Estimate:
    """`percent_agreement`, with the people, personas and questions that items share as a sample.

    Parameters
    ----------
    counts : array_like of int, shape (n_items, n_options)
        As for `percent_agreement`.
    sharing : Sharing
        What the items share, with the people who voted.
    level : float, default 0.95

    Returns
    -------
    Estimate
        Interval of `general_difference`, cut off at 0 and 1; none if there are too few people
        (``"too_few_annotators"``), personas or questions (``"too_few_clusters"``).

    Examples
    --------
    >>> sharing = Sharing.of_items(40, {"persona": np.arange(40) // 4})
    >>> found = general_agreement([[3, 0], [2, 1]] * 20, sharing)
    >>> round(found.value, 2), round(found.interval.low, 2), round(found.interval.high, 2)
    (0.67, 0.56, 0.77)
    """
    rows = count_rows(counts)
    sizes = rows.sum(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        same = (rows * (rows - 1)).sum(axis=1) / (sizes * (sizes - 1))
    found = general_difference(np.where(sizes > 1, same, np.nan), sharing, level=level)
    if found.value is None:
        return Estimate(None, "no_pairs")
    interval = found.interval
    if interval is not None:
        interval = replace(interval, low=max(interval.low, 0.0), high=min(interval.high, 1.0))
    return Estimate(found.value, interval=interval, interval_reason=found.interval_reason)
