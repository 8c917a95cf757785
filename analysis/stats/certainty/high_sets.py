"""Accuracy where each side is certain, and the information in high certainty by side."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..core.bootstrap import distinct_rows, resampled_estimate
from ..core.proportions import wilson_proportion
from ..core.results import (
    Estimate,
    FloatArray,
    Proportion,
    check_level,
    relabel,
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
    n_both : int
        Items where both sides are certain; `cells` has the others.
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
    >>> sets.n_both, sets.difference.value
    (1, 0.0)
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
