"""Accuracy where each side is certain, and the information in high certainty by side."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import special

from ..core.bootstrap import distinct_rows, resampled_estimate
from ..core.multiway import ClusterLabels, degrees_of_freedom, prepare
from ..core.proportions import wilson_proportion
from ..core.results import (
    Estimate,
    FloatArray,
    Interval,
    Proportion,
    Reason,
    check_level,
    known_rows,
    relabel,
    t_quantile,
)
from .calibration import usable_answers


@dataclass(frozen=True)
class HighSets:
    """Accuracy of each side on the items where it is itself certain.

    Attributes
    ----------
    difference : Estimate
        Accuracy of the model on its high set minus that of people on theirs, with an interval
        from resampling items (or blocks) and forming both sets again each time.
    model_on_own, human_on_own : Proportion
        The two accuracies.
    n_both, n_human_only, n_model_only, n_neither : int
        Items by the sides that are certain.
    cells : dict of str to tuple of Proportion
        For ``both``, ``human_only``, ``model_only`` and ``neither``: accuracy of people and of
        the model on those items.
    n, n_missing : int
        Items with answer, certainty and truth from both sides; items without.
    """

    difference: Estimate
    model_on_own: Proportion
    human_on_own: Proportion
    n_both: int
    n_human_only: int
    n_model_only: int
    n_neither: int
    cells: dict[str, tuple[Proportion, Proportion]]
    n: int
    n_missing: int


def compare_high_sets(
    human_certainty: npt.ArrayLike,
    human_correct: npt.ArrayLike,
    model_certainty: npt.ArrayLike,
    model_correct: npt.ArrayLike,
    *,
    threshold: float = 80,
    blocks: npt.ArrayLike | None = None,
    rng: np.random.Generator,
    n_draws: int = 1000,
    level: float = 0.95,
) -> HighSets:
    r"""Accuracy of the model where it is certain minus accuracy of people where they are certain.

    The two sets are chosen by the certainties that are compared, and they overlap. Neither a
    paired nor an unpaired test fits, so items are resampled and both sets formed again.

    Parameters
    ----------
    human_certainty, model_certainty : array_like of float, shape (n_items,)
        0 to 100; NaN is missing. An item without both is left out.
    human_correct, model_correct : array_like of int, shape (n_items,)
        1 right, 0 wrong, -1 missing (tie, no truth, no answer); also left out.
    threshold : float, default 80
        Certainty at or above it is high.
    blocks : array_like of int, shape (n_items,), optional
        Blocks of annotators to resample instead of items, for inference about people in general.
    rng : numpy.random.Generator
        Source of randomness.
    n_draws : int, default 1000
        Resamples.
    level : float, default 0.95
        Nominal coverage of the percentile interval.

    Returns
    -------
    HighSets
        No interval if more than 5 % of the resamples leave a high set empty
        (``"empty_group"``) or nothing differs between them (``"no_variation"``).

    Raises
    ------
    ValueError
        If the arrays do not fit together or a number is out of range.

    Examples
    --------
    >>> sets = compare_high_sets(
    ...     [90, 70, 85, 60], [1, 0, 1, 1], [85, 90, 60, 50], [1, 1, 0, 1],
    ...     rng=np.random.default_rng(0),
    ... )
    >>> sets.n_both, sets.n_human_only, sets.n_model_only, sets.difference.value
    (1, 1, 1, 0.0)
    """
    check_level(level)
    if n_draws < 2:
        raise ValueError(f"`n_draws` must be at least 2, got {n_draws}.")
    inputs = [
        np.asarray(values, dtype=np.float64)
        for values in (human_certainty, human_correct, model_certainty, model_correct)
    ]
    if len({values.shape for values in inputs}) != 1:
        raise ValueError("Certainties and correctness of both sides must have one length.")
    usable_answers(inputs[0], inputs[1])  # refuses values out of range
    usable_answers(inputs[2], inputs[3])
    known = ~np.isnan(inputs[0]) & ~np.isnan(inputs[2]) & (inputs[1] >= 0) & (inputs[3] >= 0)
    h_certainty, h_right, m_certainty, m_right = (values[known] for values in inputs)
    h_high, m_high = h_certainty >= threshold, m_certainty >= threshold

    model_on_own = wilson_proportion(m_right[m_high])
    human_on_own = wilson_proportion(h_right[h_high])
    members = {
        "both": h_high & m_high,
        "human_only": h_high & ~m_high,
        "model_only": m_high & ~h_high,
        "neither": ~h_high & ~m_high,
    }
    difference = Estimate(None, "empty_group")
    if model_on_own.value is not None and human_on_own.value is not None:
        # Right and all answers of each high set, per item or block: sufficient for resampling.
        parts = np.stack([m_high * m_right, m_high, h_high * h_right, h_high], axis=1)
        unit, n_units = relabel(
            np.arange(parts.shape[0]) if blocks is None else np.asarray(blocks)[known]
        )
        sums = np.zeros((n_units, 4))
        np.add.at(sums, unit, parts.astype(np.float64))
        difference = resampled_estimate(
            model_on_own.value - human_on_own.value,
            _resampled_difference(sums, n_draws, rng),
            level=level,
            method="item bootstrap" if blocks is None else "block bootstrap",
            n_items=int(known.sum()),
            rng=rng,
            undefined="empty_group",
        )
    return HighSets(
        difference=difference,
        model_on_own=model_on_own,
        human_on_own=human_on_own,
        n_both=int(members["both"].sum()),
        n_human_only=int(members["human_only"].sum()),
        n_model_only=int(members["model_only"].sum()),
        n_neither=int(members["neither"].sum()),
        cells={
            name: (wilson_proportion(h_right[rows]), wilson_proportion(m_right[rows]))
            for name, rows in members.items()
        },
        n=int(known.sum()),
        n_missing=int(np.sum(~known)),
    )


def _resampled_difference(sums: FloatArray, n_draws: int, rng: np.random.Generator) -> FloatArray:
    """Difference of the two accuracies in each resample of units; NaN if a set is empty.

    Units with equal sums are interchangeable, so distinct rows are drawn.
    """
    rows, n = distinct_rows(sums)
    drawn = rng.multinomial(n.sum(), n / n.sum(), size=n_draws) @ rows
    m_right, m_n, h_right, h_n = drawn.T
    defined = (m_n > 0) & (h_n > 0)
    difference = np.full(n_draws, np.nan)
    difference[defined] = m_right[defined] / m_n[defined] - h_right[defined] / h_n[defined]
    return difference


@dataclass(frozen=True)
class CertaintyBySource:
    """Log odds of a right answer by high certainty, by source, and both.

    Attributes
    ----------
    interaction : Estimate
        Log odds ratio of high against low certainty of the model minus that of people: above 0,
        the model's high certainty is more informative. Population-averaged.
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
    clusters: ClusterLabels,
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
        What answers share, as for `multiway_variance`: the item (common to people and model), the
        annotator (the model, or each run, is a further one), the persona, the question.
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
        return Estimate(value, interval=interval), float(2 * special.stdtr(df, -abs(value) / se))

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
