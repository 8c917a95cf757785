"""Whether the model could replace an annotator, over all annotators, without right answers."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from ..core.results import BoolArray, Estimate, FloatArray, IntArray, t_quantile
from ..core.shared_variance import ANNOTATOR, Sharing, Spread, effective_number
from ..core.votes import Votes
from .alt_test import model_choices, require_single_votes
from .general_difference import (
    FEW_OTHERS,
    interval_of,
    score_end,
    t_tail,
    why_not,
)
from .paired import tango_score

FEWEST_OF_A_LABEL = 20  # answers of the rarest label for balanced agreement to be judged
LEAST_OF_A_PERSON = 0.5  # of a person's gain over random order, on a graded scale
ONE_LABEL = 0.99  # a judge that gives one label more often than this has decided nothing


@dataclass(frozen=True)
class AgreementScale:
    """Agreement of the model and of a person with the other people, on one scale.

    Attributes
    ----------
    model, people : float or None
        Agreement of the model, and of one person with another.
    advantage : Estimate
        `people` minus `model`, with its interval for items, people, personas and questions in
        general.
    se, df : float or None
        Standard error and degrees of freedom.
    p : float or None
        One-sided p value of "people agree better by `epsilon` or more".
    """

    model: float | None
    people: float | None
    advantage: Estimate
    se: float | None = None
    df: float | None = None
    p: float | None = None


@dataclass(frozen=True, eq=False)
class AnswerScale:
    """How options of one scale agree.

    Attributes
    ----------
    agreement : ndarray of float, shape (n_options, n_options)
        1 on the diagonal, and from 0 to 1 elsewhere.
    label : ndarray of float, shape (n_options, n_labels)
        1 where an option belongs to a label; balanced agreement weights labels equally.
    """

    agreement: FloatArray
    label: FloatArray

    @property
    def has_grades(self) -> bool:
        """Whether different options agree in part."""
        return bool((self.agreement != np.eye(len(self.agreement))).any())

    @classmethod
    def of_choices(cls, n_options: int) -> "AnswerScale":
        """Options that agree with themselves alone."""
        return cls(np.eye(n_options), np.eye(n_options))

    @classmethod
    def of_values(cls, values: npt.ArrayLike, answers: npt.ArrayLike) -> "AnswerScale":
        r"""Options in order, with quadratic weights over their range.

        Parameters
        ----------
        values : array_like of float, shape (n_options,)
            Their values, ascending.
        answers : array_like of int, shape (n_options,)
            Answers of people with each. Neighbours count as one label until it has
            `FEWEST_OF_A_LABEL` answers, or a fifth of all if there are more than five options;
            if that leaves a single one, every option is a label.

        Notes
        -----
        :math:`W_{cd}=1-(v_c-v_d)^2/(v_{max}-v_{min})^2`.

        Examples
        --------
        >>> scale = AnswerScale.of_values([1, 2, 3], [5, 30, 40])
        >>> scale.agreement[0].tolist(), scale.label.tolist()
        ([1.0, 0.75, 0.0], [[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
        """
        value, counts = np.asarray(values, dtype=np.float64), np.asarray(answers, dtype=np.int64)
        wanted = max(FEWEST_OF_A_LABEL, counts.sum() / 5 if counts.size > 5 else 0)
        labels, count = np.zeros(counts.size, dtype=np.int64), 0
        for place, number in enumerate(counts[:-1].tolist(), start=1):
            count += number
            is_full = count >= wanted and counts[place:].sum() >= wanted
            labels[place] = labels[place - 1] + is_full
            count = 0 if is_full else count
        if not labels.any():
            labels = np.arange(counts.size)
        gap = np.subtract.outer(value, value) / (value.max() - value.min())
        return cls(1 - gap**2, np.eye(labels.max() + 1)[labels])


@dataclass(frozen=True)
class PooledReplacement:
    """Test of the model against an annotator, over all annotators together.

    Attributes
    ----------
    raw, balanced : AgreementScale
        Agreement over answers, and its mean over the labels that people gave.
    gain : Estimate
        Agreement of the model minus that of its own labels in random order, with its interval.
    gain_low : float or None
        One-sided lower bound of it, at the level of the test; on a graded scale, of what it exceeds
        half of `people_gain` by.
    rarest : int
        Answers with the rarest label.
    same_label : float or None
        Share of the model's answers with its most common label.
    replaceable : bool or None
        Whether people win by less than `epsilon` on both scales, and the model beats its own labels
        in random order; None if that is undefined. Never with fewer than 20 answers of a label, or
        if more than 99 % of the model's answers are one label.
    epsilon : float
        Advantage of the model.
    n : int
        Items used.
    n_people : int
        Their annotators.
    people_effective : float or None
        Their effective number given their shares of the answers, :math:`(\\sum w)^2/\\sum w^2`.
    people_gain : float or None
        The gain of a person's answers over random order.
    """

    raw: AgreementScale
    balanced: AgreementScale
    gain: Estimate
    gain_low: float | None
    rarest: int
    same_label: float | None
    replaceable: bool | None
    epsilon: float
    n: int
    n_people: int = 0
    people_effective: float | None = None
    people_gain: float | None = None

    @property
    def worse(self) -> AgreementScale:
        """The scale on which the model is further from replacing a person."""
        if self.raw.p is None or self.balanced.p is None:
            return self.raw if self.balanced.advantage.value is None else self.balanced
        return self.balanced if self.balanced.p > self.raw.p else self.raw

    @property
    def advantage(self) -> Estimate:
        """Agreement of people minus that of the model, on the worse scale."""
        return self.worse.advantage

    @property
    def p(self) -> float | None:
        """The larger p value: that of the worse scale."""
        return self.worse.p


def pooled_replacement_test(
    votes: Votes,
    model: npt.ArrayLike,
    *,
    epsilon: float,
    sharing: Sharing | None = None,
    alpha: float = 0.05,
    level: float = 0.95,
    scale: AnswerScale | None = None,
) -> PooledReplacement:
    r"""Test whether the model agrees with people as well as another person does.

    This is not the alternative annotator test, which tests each annotator and needs 30 items
    of each. This test is about the average annotator and also works with few items per annotator.

    Parameters
    ----------
    votes : Votes
        Choices of people, at most one per annotator and item.
    model : array_like of int, shape (n_items,)
        The model's choice, -1 missing.
    epsilon : float
        Advantage of the model, as in :func:`analysis.stats.comparison.alt_test.alt_test`.
    sharing : Sharing, optional
        What the items share; by default their annotators only.
    alpha : float, default 0.05
        Level of the one-sided test.
    level : float, default 0.95
        Nominal coverage of the two-sided interval.
    scale : AnswerScale, optional
        How far two options agree, and which ones count as one label where labels are weighted
        equally; by default each is its own label and agrees with itself alone.

    Returns
    -------
    PooledReplacement

    Raises
    ------
    ValueError
        If `model` does not fit `votes` or a number is out of range.

    Notes
    -----
    The unit is the item. With :math:`p_{ic}` the share of the :math:`k_i\ge2` people at item i who
    chose c, :math:`n_{ic}` their number and :math:`J_i` the model's choice, the model minus a
    person gains :math:`u_{ic}=p_{ic}[J_i=c]-n_{ic}(n_{ic}-1)/(k_i(k_i-1))` on label c: both are
    compared with the same other people, over all people of the item. Raw: the mean of
    :math:`a_i=\sum_cu_{ic}`. Balanced: the mean over labels of
    :math:`g_c=\sum_iu_{ic}/\sum_ip_{ic}`, with the item values :math:`\bar
    g+\frac1C\sum_c(u_{ic}-g_cp_{ic})/\bar p_c` of its linear form; a constant model has the
    balanced agreement 1/C. Gain over random order: the mean of :math:`\sum_c([J_i=c]-\bar
    q_c)(p_{ic}-\bar p_c)`, with :math:`\bar q_c` the share of c among the model's choices; the mean
    over all orders of these is subtracted exactly. Variances and t distributions are those of
    :func:`analysis.stats.comparison.general_difference.general_difference`, score method included;
    for balanced agreement the number of items is :math:`C^2/\sum_c1/\sum_ip_{ic}`. Two departures
    for few people, with :math:`n_e` their effective number and k answers an item: the variance is
    multiplied by :math:`n_e/(n_e-k)` and the degrees of freedom are at most :math:`n_e-1`. Tests
    and intervals of balanced agreement are about :math:`\bar g` without its bias as a mean of
    ratios, less :math:`\frac1C\sum_c` of the covariance of the means of
    :math:`(u_{ic}-g_cp_{ic})/\bar p_c` and :math:`p_{ic}/\bar p_c`.

    With the agreement :math:`W_{cd}` of a `scale`,
    :math:`u_{ic}=p_{ic}W_{J_ic}-n_{ic}((Wn_i)_c-1)/(k_i(k_i-1))`, summed over the options of one
    label. Values then differ by less than 1, so the score method is only for fewer than 10 items,
    or the equivalent, that differ from the most frequent value. Labels in the middle of such a
    scale lose little even if they say nothing about the item, so the model's gain must exceed half
    of a person's, :math:`\frac{n_i'Wn_i-k_i}{k_i(k_i-1)}-2p_i'W\bar p+\bar p'W\bar p`.

    Examples
    --------
    >>> votes = Votes.from_matrix(np.tile([[0, 0, 1], [1, 1, 0], [0, 1, 1]], (20, 1)))
    >>> result = pooled_replacement_test(votes, [0, 1, 1] * 20, epsilon=0.1)
    >>> result.n, round(result.raw.advantage.value, 3), round(result.balanced.advantage.value, 3)
    (60, -0.333, -0.325)
    >>> result.raw.advantage.interval_reason, result.replaceable  # three people are few
    ('too_few_annotators', None)
    """
    if not 0 <= epsilon < 1:
        raise ValueError(f"`epsilon` must lie in [0, 1), got {epsilon}.")
    if not 0 < alpha < 1:
        raise ValueError(f"`alpha` must lie in (0, 1), got {alpha}.")
    choice = model_choices(votes, model)
    require_single_votes(votes)
    counts = votes.counts()
    usable = (counts.sum(axis=1) >= 2) & (choice >= 0)
    if sharing is None:
        sharing = Sharing.of_items(votes.n_items, {}, votes)
    within = sharing.take(usable)
    (test,) = pooled_replacement_tests(
        counts[usable][None],
        choice[usable][None],
        within,
        epsilon=epsilon,
        alpha=alpha,
        level=level,
        scale=scale,
    )
    load = np.bincount(votes.annotator[usable[votes.item]], minlength=votes.n_annotators)
    decided = np.bincount(choice[choice >= 0], minlength=1)
    return replace(
        test,
        same_label=float(decided.max() / decided.sum()) if decided.sum() else None,
        n_people=int((load > 0).sum()),
        people_effective=effective_number(load),
    )


def pooled_replacement_tests(
    counts: IntArray,
    models: IntArray,
    sharing: Sharing,
    *,
    epsilon: float,
    alpha: float = 0.05,
    level: float = 0.95,
    scale: AnswerScale | None = None,
) -> list[PooledReplacement]:
    """`pooled_replacement_test` of many studies with one design, as in simulations.

    Parameters
    ----------
    counts : ndarray of int, shape (n_studies, n_items, n_options)
        Answers of people, at least two for each item.
    models : ndarray of int, shape (n_studies, n_items)
        The model's choices, none of them missing.
    sharing : Sharing
        What the items share.
    epsilon, alpha, level, scale
        As for `pooled_replacement_test`.

    Returns
    -------
    list of PooledReplacement
        One per study, in order, without the numbers of people.

    Examples
    --------
    >>> counts = np.tile([[2, 1], [1, 2]], (2, 30, 1))
    >>> always = np.zeros((2, 60), dtype=np.int64)
    >>> found = pooled_replacement_tests(counts, always, Sharing.of_items(60, {}), epsilon=0.1)
    >>> [(round(one.raw.model, 2), one.balanced.model, one.replaceable) for one in found]
    [(0.5, 0.5, False), (0.5, 0.5, False)]
    """
    n = counts.shape[1]
    if n == 0:
        none = AgreementScale(None, None, Estimate(None, "no_pairs"))
        empty = PooledReplacement(none, none, none.advantage, None, 0, None, None, epsilon, 0)
        return [empty] * len(counts)
    scale = AnswerScale.of_choices(counts.shape[-1]) if scale is None else scale
    label_counts = counts.sum(axis=1) @ scale.label
    rarest = np.where(_labels_of(label_counts), label_counts, label_counts.max(initial=0) + 1).min(
        axis=1
    )
    same = (models[..., None] == np.arange(counts.shape[-1])).mean(axis=1).max(axis=1)
    reason = why_not(sharing)
    *sides, gains, of_people = _two_scales(counts, models, None if reason else sharing, scale)
    beyond = gains - LEAST_OF_A_PERSON * of_people if scale.has_grades else gains
    gain_spread = None if reason else _spread(gains, sharing)
    beyond_spread = _spread(beyond, sharing) if gain_spread and scale.has_grades else gain_spread
    scales = zip(*(side.tested(sharing, epsilon, level) for side in sides), strict=True)

    results = []
    for study, (raw, balanced) in enumerate(scales):
        if rarest[study] == 0:
            balanced = AgreementScale(None, None, Estimate(None, "too_few_of_a_label"))
        value, low = float(gains[study].mean()), None
        gain = Estimate(value, interval_reason=reason)
        if gain_spread is not None and beyond_spread is not None:
            gain = _gain(value, _at(gain_spread, study), sharing, level)
            variance, df = _at(beyond_spread, study)
            low = float(beyond[study].mean()) - t_quantile(df, 1 - alpha) * variance**0.5
        passed = None
        if rarest[study] < FEWEST_OF_A_LABEL or same[study] > ONE_LABEL:
            passed = False
        elif low is not None and raw.p is not None and balanced.p is not None:
            passed = low > 0 and max(raw.p, balanced.p) <= alpha
        counted = int(rarest[study]), float(same[study]), passed, epsilon, n
        people_gain = float(of_people[study].mean())
        test = PooledReplacement(raw, balanced, gain, low, *counted, people_gain=people_gain)
        results.append(test)
    return results


def _labels_of(label_counts: IntArray) -> BoolArray:
    """Options that count as labels: the two responses, and a tie if somebody chose it."""
    return np.asarray((label_counts > 0) | (np.arange(label_counts.shape[-1]) < 2))


def _two_scales(
    counts: IntArray, models: IntArray, sharing: Sharing | None, scale: AnswerScale
) -> tuple["_Side", "_Side", FloatArray, FloatArray]:
    """Both scales of many studies, and each item's gains over random order: model's, people's."""
    n_studies, n, n_options = counts.shape
    k = counts.sum(axis=2, keepdims=True)
    answers = counts / k
    chosen = (models[..., None] == np.arange(n_options)) @ scale.agreement
    usual = answers.mean(axis=1, keepdims=True)
    alone = chosen - chosen.mean(axis=1, keepdims=True)
    gain = (alone * (answers - usual)).sum(axis=2)
    pairs = counts * (counts @ scale.agreement - 1) / (k * (k - 1))
    people_gain = pairs.sum(axis=2) - ((2 * answers - usual) @ scale.agreement * usual).sum(axis=2)

    alike = pairs @ scale.label
    hit, share = answers * chosen @ scale.label, answers @ scale.label
    is_label = _labels_of(counts.sum(axis=1) @ scale.label)
    n_labels = is_label.sum(axis=1)
    mean = share.mean(axis=1)
    part = np.where(mean > 0, mean, 1.0)  # no gain on a label that nobody gave

    model, people = hit.mean(axis=1), alike.mean(axis=1)
    gaps = (model - people) / part
    ratio = (hit - alike - gaps[:, None] * share) / part[:, None]
    linear = ratio.sum(axis=2) + gaps.sum(axis=1, keepdims=True)
    if sharing is not None:
        weight = share / part[:, None]
        for label in range(share.shape[2]):
            linear += _covariance(ratio[..., label], weight[..., label], sharing)[:, None]
    inverse = np.where(is_label, 1 / np.where(mean > 0, mean * n, 1e-9), 0.0).sum(axis=1)

    raw = _Side(
        model.sum(axis=1),
        people.sum(axis=1),
        (hit - alike).sum(axis=2),
        np.full(n_studies, n),
        scale.has_grades,
    )
    balanced = _Side(
        (model / part).sum(axis=1) / n_labels,
        (people / part).sum(axis=1) / n_labels,
        linear / n_labels[:, None],
        n_labels**2 / inverse,
        scale.has_grades,
    )
    return raw, balanced, gain, people_gain


def _covariance(one: FloatArray, other: FloatArray, sharing: Sharing) -> FloatArray:
    """Covariance of two means, shape (studies,): how far a ratio of them is too low on average."""
    return (sharing.spread(one + other).variance - sharing.spread(one - other).variance) / 4


def _spread(values: FloatArray, sharing: Sharing) -> Spread:
    """Variance of the mean, and degrees of freedom, corrected for few people.

    People are on both sides of an agreement, so a few who happen to be similar would look both
    close to the model and precise.
    """
    spread = sharing.spread(values)
    people = sharing.kinds.get(ANNOTATOR)
    if people is None:
        return spread
    n, mean_memberships = effective_number(people.sizes) or 1.0, float(people.memberships.mean())
    return Spread(
        spread.variance * n / (n - mean_memberships), np.minimum(spread.degrees_of_freedom, n - 1)
    )


@dataclass(frozen=True, eq=False)
class _Side:
    """One scale of many studies: agreements (studies,), and model minus people (studies, items).

    `size` is the number of items, or for balanced agreement the number that is worth as much.
    """

    model: FloatArray
    people: FloatArray
    values: FloatArray
    size: FloatArray
    has_grades: bool

    def tested(self, sharing: Sharing, epsilon: float, level: float) -> Iterator[AgreementScale]:
        """The scale of each study, with its test if that is possible."""
        reason = why_not(sharing)
        spread = None if reason else _spread(self.values, sharing)
        for study, values in enumerate(self.values):
            model, people = float(self.model[study]), float(self.people[study])
            if spread is None:
                gap = Estimate(people - model, interval_reason=reason)
                yield AgreementScale(model, people, gap)
                continue
            variance, df = _at(spread, study)
            lost = _Lost(values, variance, df, float(self.size[study]), self.has_grades)
            low, high, method = lost.ends(level)
            interval = interval_of(-high, -low, level, method, sharing)
            gap = Estimate(people - model, interval=interval)
            yield AgreementScale(model, people, gap, variance**0.5, df, lost.tail(-epsilon))


def _at(spread: Spread, study: int) -> tuple[float, float]:
    return float(spread.variance[study]), float(spread.degrees_of_freedom[study])


@dataclass(frozen=True, eq=False)
class _Lost:
    """Model minus people in one study, one value per item, with the variance of their mean."""

    values: FloatArray
    variance: float
    df: float
    size: float
    has_grades: bool

    @cached_property
    def mean(self) -> float:
        return float(self.values.mean())

    @cached_property
    def counts(self) -> tuple[float, float, float] | None:
        """Effective wins, losses and items for a score test; None where t is good enough."""
        n = self.values.size
        independent = float(((self.values - self.mean) ** 2).sum()) / n**2
        share = min(1.0, independent / self.variance) if self.variance > 0 else 1.0
        moved = min(1.0, max(independent * self.size + self.mean**2, abs(self.mean)))
        size = self.size * share
        won, lost = (moved + self.mean) / 2 * size, (moved - self.mean) / 2 * size
        others = size - max(won, lost, size - won - lost)
        if self.has_grades:
            _, alike = np.unique(self.values.round(9), return_counts=True)
            others = float(n - alike.max()) * share
        is_flat = self.variance <= 0 or others < FEW_OTHERS
        return (won, lost, size) if is_flat else None

    def tail(self, bound: float) -> float:
        """One-sided p value of a mean of `bound` or less."""
        if self.counts:
            return t_tail(self.df, tango_score(*self.counts, bound))
        return t_tail(self.df, (self.mean - bound) / self.variance**0.5)

    def ends(self, level: float) -> tuple[float, float, str]:
        at = t_quantile(self.df, (1 + level) / 2)
        if self.counts:
            return score_end(*self.counts, at), score_end(*self.counts, -at), "general score"
        half = at * self.variance**0.5
        return max(self.mean - half, -1.0), min(self.mean + half, 1.0), "general t"


def _gain(value: float, spread: tuple[float, float], sharing: Sharing, level: float) -> Estimate:
    """The gain over random order with its interval."""
    se, df = spread[0] ** 0.5, spread[1]
    half = t_quantile(df, (1 + level) / 2) * se
    interval = interval_of(value - half, value + half, level, "general t", sharing)
    return Estimate(value, interval=interval)
