"""High certainty as a predictor of being right, by source, and annotators' use of the scale."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import special

from analysis.stats.core.bootstrap import ratio
from analysis.stats.core.multiway import ClusterLabels, degrees_of_freedom, prepare
from analysis.stats.core.results import (
    Estimate,
    FloatArray,
    Interval,
    Proportion,
    Reason,
    check_level,
    known_rows,
    t_quantile,
)
from analysis.stats.core.votes import Votes


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


def certainty_icc(votes: Votes, *, centred: bool = False, level: float = 0.95) -> Estimate:
    r"""Share of the variance of certainty that is between items: ICC(1,1).

    Parameters
    ----------
    votes : Votes
        Choices with certainties of people, or of runs of a judge; missing ones are left out.
    centred : bool, default False
        Subtract each annotator's mean certainty first, to remove differences in level; see
        `centred_certainty`.
    level : float, default 0.95

    Returns
    -------
    Estimate
        At most 1; negative if answers to one item differ more than answers to different
        items. Undefined below two items with two certainties (``"too_few_items"``) and if all
        are equal (``"no_variation"``). The interval is exact for normal certainties and equally
        many per item, and has a note if their number differs.

    Notes
    -----
    One-way analysis of variance: :math:`\frac{MSB-MSW}{MSB+(k_0-1)MSW}` with
    :math:`k_0=\frac{1}{n-1}\left(N-\frac{\sum m_i^2}{N}\right)`, the number of certainties per item
    if that is constant. The interval turns the F quantiles of :math:`MSB/MSW` into limits.
    The one-way model is meant for different annotators on different items, so blocks of
    annotators need no other model.

    References
    ----------
    .. [1] P. E. Shrout and J. L. Fleiss, "Intraclass Correlations: Uses in Assessing Rater
       Reliability", Psychological Bulletin 86(2), 1979.

    Examples
    --------
    >>> votes = Votes.from_matrix([[0, 0], [0, 1], [1, 1]], [[90, 80], [20, 30], [60, 55]])
    >>> round(certainty_icc(votes).value, 4)
    0.9593
    """
    check_level(level)
    values = centred_certainty(votes) if centred else votes.certainty
    given = ~np.isnan(values)
    item, value = votes.item[given], values[given]
    m = np.bincount(item, minlength=votes.n_items)
    paired = m >= 2
    n_items = int(paired.sum())
    if n_items < 2:
        return Estimate(None, "too_few_items")
    item, value, m = item[paired[item]], value[paired[item]], m[paired]
    codes = np.cumsum(paired) - 1
    means = np.bincount(codes[item], value) / m
    n = value.size
    between = float(m @ (means - value.mean()) ** 2) / (n_items - 1)
    within = float(((value - means[codes[item]]) ** 2).sum()) / (n - n_items)
    if between + within < 1e-12:
        return Estimate(None, "no_variation")
    k = (n - float(m @ m) / n) / (n_items - 1)
    icc = (between - within) / (between + (k - 1) * within)
    if min(between, within) < 1e-12:
        return Estimate(icc, interval_reason="no_variation")
    low_f, high_f = (
        between / within / float(special.fdtri(n_items - 1, n - n_items, q))
        for q in ((1 + level) / 2, (1 - level) / 2)
    )
    interval = Interval(
        (low_f - 1) / (low_f + k - 1),
        (high_f - 1) / (high_f + k - 1),
        level,
        "analysis of variance F",
        n_items,
        int(np.unique(votes.annotator[given]).size),
        note="approximate: items have different numbers of certainties" if np.ptp(m) else None,
    )
    return Estimate(icc, interval=interval)


def centred_certainty(votes: Votes) -> FloatArray:
    """Certainty minus the mean certainty of the same annotator, shape (n,); NaN where missing.

    The result shows on which items a person is more certain than usual, whatever part of the scale
    they use.

    Parameters
    ----------
    votes : Votes
        Choices with certainties.

    Returns
    -------
    ndarray of float, shape (n,)
        In points of certainty, one per vote; NaN without a certainty.

    Examples
    --------
    >>> centred_certainty(Votes.from_matrix([[0, 0], [1, 1]], [[90, 40], [70, 60]])).tolist()
    [10.0, -10.0, -10.0, 10.0]
    """
    given = ~np.isnan(votes.certainty)
    sums = np.bincount(votes.annotator[given], votes.certainty[given], minlength=votes.n_annotators)
    n = np.bincount(votes.annotator[given], minlength=votes.n_annotators)
    means = ratio(sums.astype(np.float64), n.astype(np.float64))
    return np.asarray(votes.certainty - means[votes.annotator])
