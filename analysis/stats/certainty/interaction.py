"""Interaction of certainty and source: whether high certainty says more for the model."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import stats

from analysis.stats.core.checks import check_level, known_rows, t_quantile
from analysis.stats.core.multiway import Clusters, degrees_of_freedom, prepare
from analysis.stats.core.results import Estimate, Interval, Proportion, Reason


@dataclass(frozen=True)
class CertaintyBySource:
    """Log odds of a right answer by high certainty, by source, and both.

    Attributes
    ----------
    interaction : Estimate
        Log odds ratio of high against low certainty of the model minus that of people: above 0,
        the model's high certainty says more. Population-averaged.
    people, model : Estimate
        The two log odds ratios.
    p : float or None
        Two-sided p value of no interaction.
    cells : dict of str to Proportion
        ``people_low``, ``people_high``, ``model_low``, ``model_high``, without intervals.
    n, n_missing : int
        Answers used; answers without a certainty or without right or wrong.
    """

    interaction: Estimate
    people: Estimate
    model: Estimate
    p: float | None
    cells: dict[str, Proportion]
    n: int
    n_missing: int


def certainty_by_source(
    correct: npt.ArrayLike,
    certainty: npt.ArrayLike,
    is_model: npt.ArrayLike,
    clusters: Clusters,
    *,
    threshold: float = 80,
    level: float = 0.95,
) -> CertaintyBySource:
    r"""Logistic regression of being right on source, high certainty, and their interaction.

    Parameters
    ----------
    correct : array_like of int, shape (n,)
        1 right, 0 wrong, -1 missing; single answers of people and of the model, one after the
        other.
    certainty : array_like of float, shape (n,)
        0 to 100; NaN is missing.
    is_model : array_like of bool, shape (n,)
        Whose answer it is.
    clusters : mapping of str to array_like of int, each of shape (n,)
        What answers have in common, as for `multiway_variance`: the item, which people and model
        share, the annotator (the model, or each run, is one more), the persona, the question.
    threshold : float, default 80
        Certainty at or above it is high.
    level : float, default 0.95

    Returns
    -------
    CertaintyBySource
        A log odds ratio is undefined if one of its cells is empty (``"empty_group"``) or all
        right or all wrong (``"no_variation"``).

    Raises
    ------
    ValueError
        If the lengths differ or a value is out of range.

    Notes
    -----
    The model with the interaction has one coefficient per cell, so its estimates are differences
    of the log odds of the four cells: those of generalised estimating equations with working
    independence. The variance is the cluster-robust one, with the clusterings of
    `multiway_variance`, and t quantiles. A mixed model would give effects within items and people,
    which are further from 0. This is a sensitivity analysis for `compare_high_sets`, which compares
    accuracies.

    References
    ----------
    .. [1] K.-Y. Liang and S. L. Zeger, "Longitudinal Data Analysis Using Generalized Linear
       Models", Biometrika 73(1), 1986.

    Examples
    --------
    >>> correct = [1] * 6 + [0] * 4 + [1] * 8 + [0] * 2 + [1] * 6 + [0] * 4 + [1] * 9 + [0]
    >>> certainty, is_model = ([50] * 10 + [90] * 10) * 2, [False] * 20 + [True] * 20
    >>> result = certainty_by_source(correct, certainty, is_model, {"item": list(range(20)) * 2})
    >>> round(result.people.value, 3), round(result.model.value, 3)
    (0.981, 1.792)
    """
    check_level(level)
    right, known = known_rows(correct)
    values, model = np.asarray(certainty, dtype=np.float64), np.asarray(is_model, dtype=np.bool_)
    if not right.shape == values.shape == model.shape:
        raise ValueError(
            "`correct`, `certainty` and `is_model` must have one length, got "
            f"{right.size}, {values.size}, {model.size}."
        )
    known &= ~np.isnan(values)
    within = {name: np.asarray(codes)[known] for name, codes in clusters.items()}
    prepared = prepare(within, int(known.sum()))
    y, cell = right[known], 2 * model[known] + (values[known] >= threshold)
    n = np.bincount(cell, minlength=4)
    k = np.bincount(cell, y, minlength=4).astype(np.int64)

    def contrast(signs: tuple[int, int, int, int]) -> tuple[Estimate, float | None]:
        used = np.asarray(signs) != 0
        if (n[used] == 0).any():
            return Estimate(None, "empty_group"), None
        if ((k == 0) | (k == n))[used].any():
            return Estimate(None, "no_variation"), None
        share = np.divide(k, n, out=np.full(4, 0.5), where=used)
        value = float(np.asarray(signs) @ np.log(share / (1 - share)))
        per_answer = np.asarray(signs) / np.where(used, n * share * (1 - share), 1)
        scores = per_answer[cell] * (y - share[cell])
        variance = None if prepared is None else prepared.variance(scores)
        if variance is None or variance.variance <= 1e-24:
            reason: Reason = "too_few_items" if variance is None else "no_variation"
            return Estimate(value, interval_reason=reason), None
        df, se = degrees_of_freedom(variance), variance.variance**0.5
        half = t_quantile(df, (1 + level) / 2) * se
        interval = Interval(
            value - half,
            value + half,
            level,
            f"multiway t({df}) of log odds",
            variance.n_clusters.get("item", int(y.size)),
            variance.n_clusters.get("annotator"),
        )
        return Estimate(value, interval=interval), float(2 * stats.t.sf(abs(value) / se, df))

    interaction, p = contrast((1, -1, -1, 1))
    names = ("people_low", "people_high", "model_low", "model_high")
    cells = {
        name: Proportion(int(a), int(b), int(a) / int(b))
        if b
        else Proportion(0, 0, None, "empty_group")
        for name, a, b in zip(names, k, n, strict=True)
    }
    return CertaintyBySource(
        interaction=interaction,
        people=contrast((-1, 1, 0, 0))[0],
        model=contrast((0, 0, -1, 1))[0],
        p=p,
        cells=cells,
        n=int(y.size),
        n_missing=int(np.sum(~known)),
    )
