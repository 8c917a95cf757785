"""Who came back for a later wave, and how answers of the same people changed."""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import stats

from analysis.stats.comparison.general_difference import why_not
from analysis.stats.core.clusters import MIN_BLOCKS
from analysis.stats.core.results import (
    Estimate,
    Interval,
    Reason,
    check_level,
    t_quantile,
)
from analysis.stats.core.shared_variance import Sharing

FEWEST_IN_GROUP = 5


def mean_change(changes: npt.ArrayLike, sharing: Sharing, *, level: float = 0.95) -> Estimate:
    r"""The mean of changes within people, for other people and questions like these.

    Parameters
    ----------
    changes : array_like of float, shape (n,)
        The later value minus the earlier one, one for each person and question.
    sharing : Sharing
        What the rows share: people and questions.
    level : float, default 0.95

    Returns
    -------
    Estimate
        The interval is :math:`\bar d\pm t_f\sqrt V` with the variance and degrees of freedom of
        `Sharing.spread`. No interval with too few people or questions, or if nothing changed.

    Examples
    --------
    >>> who = np.arange(200) // 10
    >>> rows = Sharing.of_items(200, {"person": who, "question": np.arange(200) % 10})
    >>> found = mean_change(np.where(np.arange(200) % 4, 0.0, 1.0), rows)
    >>> round(found.value, 2), found.interval is None
    (0.25, False)
    """
    check_level(level)
    values = np.asarray(changes, dtype=np.float64)
    if not values.size:
        return Estimate(None, "empty_group")
    mean = float(values.mean())
    if reason := why_not(sharing):
        return Estimate(mean, interval_reason=reason)
    if not np.ptp(values):
        return Estimate(mean, interval_reason="no_variation")
    spread = sharing.spread(values)
    half = t_quantile(float(spread.degrees_of_freedom[0]), (1 + level) / 2)
    half *= float(spread.variance[0]) ** 0.5
    interval = Interval(mean - half, mean + half, level, "multiway t", values.size)
    return Estimate(mean, None, interval)


def mean_of_people(changes: npt.ArrayLike, *, level: float = 0.95) -> Estimate:
    """The mean of one change for each person, with the interval of Student's t.

    Used if the waves asked different questions: then it also contains how much easier these were.

    Examples
    --------
    >>> found = mean_of_people([0.1, 0.2, 0.0, 0.3, 0.1, 0.2, 0.0, 0.3])
    >>> round(found.value, 2), round(found.interval.low, 3)
    (0.15, 0.053)
    """
    check_level(level)
    values = np.asarray(changes, dtype=np.float64)
    if not values.size:
        return Estimate(None, "empty_group")
    mean = float(values.mean())
    if values.size < MIN_BLOCKS:
        return Estimate(mean, interval_reason="too_few_clusters")
    if not np.ptp(values):
        return Estimate(mean, interval_reason="no_variation")
    half = t_quantile(values.size - 1, (1 + level) / 2)
    half *= float(values.std(ddof=1)) / values.size**0.5
    interval = Interval(mean - half, mean + half, level, "t over people", values.size)
    return Estimate(mean, None, interval)


@dataclass(frozen=True)
class ReturnDifference:
    """How those who came back differ from those who did not, in one number about them.

    Attributes
    ----------
    back, away : float or None
        Means of both; None for nobody.
    n_back, n_away : int
        People with a value.
    difference : Estimate
        The first minus the second, with the interval of Welch's t.
    p : float or None
        Of Welch's test; None if there are fewer than two on a side or nothing varies.
    """

    back: float | None
    away: float | None
    n_back: int
    n_away: int
    difference: Estimate
    p: float | None


def return_difference(
    values: npt.ArrayLike, came_back: npt.ArrayLike, *, level: float = 0.95
) -> ReturnDifference:
    """Compare a number about people by whether they came back; NaN is left out.

    Examples
    --------
    >>> found = return_difference([1, 2, 3, 4, 5, 6], [1, 1, 1, 0, 0, 0])
    >>> found.difference.value, round(found.p, 3)
    (-3.0, 0.021)
    """
    check_level(level)
    rounded = np.round(np.asarray(values, dtype=np.float64), 12)  # equal shares are equal numbers
    here = np.asarray(came_back, dtype=np.bool_)
    back, away = (rounded[mask & ~np.isnan(rounded)] for mask in (here, ~here))
    means = [float(side.mean()) if side.size else None for side in (back, away)]
    p: float | None = None
    if means[0] is None or means[1] is None:
        difference = Estimate(None, "empty_group")
    elif min(back.size, away.size) < 2 or not (np.ptp(back) or np.ptp(away)):
        few = min(back.size, away.size) < 2
        why: Reason = "too_few_clusters" if few else "no_variation"
        difference = Estimate(means[0] - means[1], interval_reason=why)
    else:
        with warnings.catch_warnings():
            # SciPy warns if one side is constant, whose variance is then rightly 0.
            warnings.simplefilter("ignore", RuntimeWarning)
            test = stats.ttest_ind(back, away, equal_var=False)
        low, high = map(float, test.confidence_interval(level))
        interval = Interval(low, high, level, "welch t", back.size + away.size)
        difference, p = Estimate(means[0] - means[1], None, interval), float(test.pvalue)
    return ReturnDifference(means[0], means[1], back.size, away.size, difference, p)


@dataclass(frozen=True)
class ReturnTable:
    """People by their answer to a question, and how many of each came back.

    `p` is that of Fisher's exact test of any difference between the answers; None if there is
    only one answer, or if all or none came back.
    """

    answers: tuple[str, ...]
    people: tuple[int, ...]
    back: tuple[int, ...]
    p: float | None


OTHERS = ""  # the answers that fewer than five people gave


def return_table(answers: Sequence[str], came_back: npt.ArrayLike, *, seed: int) -> ReturnTable:
    """Count who came back by answer; answers of fewer than five people are one, named `OTHERS`.

    Large tables get their p from 9,999 tables drawn with the same margins, by `seed`.

    Examples
    --------
    >>> found = return_table(["a"] * 6 + ["b"] * 6, [1] * 6 + [0] * 6, seed=1)
    >>> found.back, round(found.p, 4)
    ((6, 0), 0.0022)
    """
    here = np.asarray(came_back, dtype=np.bool_)
    counts: Mapping[str, int] = {answer: list(answers).count(answer) for answer in set(answers)}
    merged = [answer if counts[answer] >= FEWEST_IN_GROUP else OTHERS for answer in answers]
    names = tuple(sorted(set(merged), key=lambda name: (name == OTHERS, name)))
    codes = np.array([names.index(name) for name in merged], dtype=np.int64)
    people = np.bincount(codes, minlength=len(names))
    back = np.bincount(codes[here], minlength=len(names))
    p = None
    if len(names) > 1 and 0 < here.sum() < here.size:
        table = np.array([back, people - back])
        if len(names) == 2:
            p = float(stats.fisher_exact(table).pvalue)
        else:
            rng = np.random.default_rng(seed)
            method = stats.MonteCarloMethod(n_resamples=9999, rng=rng)
            p = float(stats.chi2_contingency(table, correction=False, method=method).pvalue)
    return ReturnTable(names, tuple(people.tolist()), tuple(back.tolist()), p)
