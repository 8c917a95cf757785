"""The model compared with an annotator, over all annotators together."""

from dataclasses import dataclass, replace
from functools import cache, cached_property

import numpy as np
import numpy.typing as npt
from scipy import stats

from ..core.checks import n_distinct, t_quantile
from ..core.clusters import MIN_BLOCKS, annotator_blocks
from ..core.proportions import two_way_variance
from ..core.results import BoolArray, Estimate, FloatArray, IntArray, Interval, Reason
from ..core.shared_variance import Sharing, Spread, effective_number
from ..core.votes import Votes
from .alt_test import human_advantage, model_choices, require_single_votes
from .differences import block_difference
from .general_difference import FEW_OTHERS, interval_of, score_end, t_tail, why_not
from .paired import PairedCounts, tango_interval, tango_score

FEWEST_OF_A_LABEL = 20  # answers of the rarest label for balanced agreement to be judged
ONE_LABEL = 0.99  # a judge that gives one label more often than this has decided nothing


@dataclass(frozen=True)
class AgreementScale:
    """Agreement of the model and of a person with the other people, on one scale.

    Attributes
    ----------
    model, people : float or None
        Agreement of the model, and of one person with another.
    advantage : Estimate
        `people` less `model`, with its interval for items, people, personas and questions in
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


@dataclass(frozen=True)
class PooledReplacement:
    """Test of the model against an annotator, over all annotators together.

    Attributes
    ----------
    raw, balanced : AgreementScale
        Agreement over answers, and its mean over the labels that people gave.
    gain : Estimate
        Agreement of the model less that of its own labels in random order, with its interval.
    gain_low : float or None
        One-sided lower bound of it, at the level of the test.
    rarest : int
        Answers with the rarest label.
    same_label : float or None
        Share of the model's answers that are its commonest label.
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
        The same by their shares of the answers, :math:`(\\sum w)^2/\\sum w^2`.
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

    @property
    def worse(self) -> AgreementScale:
        """The scale on which the model is further from replacing a person."""
        if self.raw.p is None or self.balanced.p is None:
            return self.raw if self.balanced.advantage.value is None else self.balanced
        return self.balanced if self.balanced.p > self.raw.p else self.raw

    @property
    def advantage(self) -> Estimate:
        """Agreement of people less that of the model, on the worse scale."""
        return self.worse.advantage

    @property
    def p(self) -> float | None:
        """The larger p value: that of the worse scale."""
        return self.worse.p


@dataclass(frozen=True)
class ReferenceJudge:
    """A judge that anybody can build: what it agrees with people, on both scales."""

    name: str
    raw: float
    balanced: float


@dataclass(frozen=True)
class LeaveOneOut:
    """Agreement of the model and of one annotator with the majority of the other annotators.

    Attributes
    ----------
    annotator : int
        Code of the annotator.
    pairs : PairedCounts
        First side the model, second side the annotator; "right" is agreeing with the majority.
    n_ties : int
        Items skipped because the others share the maximum.
    difference : Estimate
        Agreement of the model minus that of the annotator, with Tango's interval.
    """

    annotator: int
    pairs: PairedCounts
    n_ties: int
    difference: Estimate


@dataclass(frozen=True)
class LeaveOneOutSummary:
    """Leave-one-out comparison over all annotators.

    Attributes
    ----------
    difference : Estimate
        Mean over all answers of model minus annotator, with its clustered t interval.
    model_agreement, human_agreement : float or None
        Shares behind the difference.
    annotators : tuple of LeaveOneOut
        Annotators with at least one usable item, in the order of their codes.
    n, n_ties : int
        Answers used; answers skipped for a tie among the others.
    """

    difference: Estimate
    model_agreement: float | None
    human_agreement: float | None
    annotators: tuple[LeaveOneOut, ...]
    n: int
    n_ties: int


def pooled_replacement_test(
    votes: Votes,
    model: npt.ArrayLike,
    *,
    epsilon: float,
    sharing: Sharing | None = None,
    alpha: float = 0.05,
    level: float = 0.95,
) -> PooledReplacement:
    r"""Test whether the model agrees with people as well as another person does.

    This is not the alternative annotator test, which tests each annotator and needs 30 items
    of each. This test is about the average annotator and works if each has few items.

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
    chose c, :math:`n_{ic}` their number and :math:`J_i` the model's choice, the model less a person
    gains :math:`u_{ic}=p_{ic}[J_i=c]-n_{ic}(n_{ic}-1)/(k_i(k_i-1))` on label c: both are compared
    with the same other people, over all people of the item. Raw: the mean of
    :math:`a_i=\sum_cu_{ic}`. Balanced: the mean over labels of
    :math:`g_c=\sum_iu_{ic}/\sum_ip_{ic}`, with the item values
    :math:`\bar g+\frac1C\sum_c(u_{ic}-g_cp_{ic})/\bar p_c` of its linear form; a constant model
    has the balanced agreement 1/C. Gain over random order: the mean of
    :math:`\sum_c([J_i=c]-\bar q_c)(p_{ic}-\bar p_c)`, with :math:`\bar q_c` the share of c among
    the model's choices; the mean over all orders of these is subtracted exactly.
    Variances and t distributions are those of
    :func:`analysis.stats.comparison.general_difference.general_difference`, score method
    included; for balanced agreement the number of items is :math:`C^2/\sum_c1/\sum_ip_{ic}`.

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
    (found,) = pooled_replacement_tests(
        counts[usable][None],
        choice[usable][None],
        within,
        epsilon=epsilon,
        alpha=alpha,
        level=level,
    )
    load = np.bincount(votes.annotator[usable[votes.item]], minlength=votes.n_annotators)
    decided = np.bincount(choice[choice >= 0], minlength=1)
    return replace(
        found,
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
    epsilon, alpha, level
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
        empty = PooledReplacement(
            none, none, Estimate(None, "no_pairs"), None, 0, None, None, epsilon, 0
        )
        return [empty] * len(counts)
    sides, values, sizes = _two_scales(counts, models)
    given = counts.sum(axis=1)
    rarest = np.where(_labels_of(given), given, given.max(initial=0) + 1).min(axis=1)
    reason = why_not(sharing)
    spreads = None if reason else [sharing.spread(each) for each in values]
    results = []
    for study in range(len(counts)):
        found = []
        for scale in range(2):
            lost = None
            if spreads is not None:
                lost = _Lost(values[scale, study], *_at(spreads[scale], study), sizes[scale, study])
            model, people = sides[scale, :, study].tolist()
            found.append(_scale(model, people, lost, epsilon, level, sharing, reason))
        if rarest[study] == 0:
            found[1] = AgreementScale(None, None, Estimate(None, "too_few_of_a_label"))
        raw, balanced = found
        gain, low = Estimate(float(values[2, study].mean()), interval_reason=reason), None
        if spreads is not None:
            gain, low = _gain(gain.value or 0.0, *_at(spreads[2], study), sharing, alpha, level)
        same = float(np.bincount(models[study]).max()) / n
        passed = None
        if rarest[study] < FEWEST_OF_A_LABEL or same > ONE_LABEL:
            passed = False
        elif raw.p is not None and balanced.p is not None and low is not None:
            passed = max(raw.p, balanced.p) <= alpha and low > 0
        least = int(rarest[study])
        results.append(PooledReplacement(raw, balanced, gain, low, least, same, passed, epsilon, n))
    return results


def reference_judges(votes: Votes) -> tuple[ReferenceJudge, ...]:
    """What judges that anybody can build agree with people: the least that a judge must beat.

    Parameters
    ----------
    votes : Votes
        Choices of people; items with one choice are not used.

    Returns
    -------
    tuple of ReferenceJudge
        Always the commonest label, a coin (or a die), and another person at random; empty if no
        item has two choices. The agreement of the coin is the expected one.

    Examples
    --------
    >>> found = reference_judges(Votes.from_matrix([[0, 0, 1], [0, 0, 0], [1, 1, 0], [0, 0, 1]]))
    >>> [(judge.name, round(judge.raw, 2), round(judge.balanced, 2)) for judge in found]
    [('commonest label', 0.67, 0.5), ('coin', 0.5, 0.5), ('another person', 0.5, 0.44)]
    """
    counts = votes.counts()
    counts = counts[counts.sum(axis=1) >= 2]
    if not len(counts):
        return ()
    k = counts.sum(axis=1, keepdims=True)
    mean, alike = (counts / k).mean(axis=0), (counts * (counts - 1) / (k * (k - 1))).mean(axis=0)
    occurs = mean > 0
    labels = max(2, int(occurs.sum()))
    return (
        ReferenceJudge("commonest label", float(mean.max()), 1 / labels),
        ReferenceJudge("coin", 1 / labels, 1 / labels),
        ReferenceJudge(
            "another person",
            float(alike.sum()),
            float((alike[occurs] / mean[occurs]).sum() / labels),
        ),
    )


def _labels_of(given: IntArray) -> BoolArray:
    """Which options count as labels: the two responses, and a tie where somebody chose it."""
    return np.asarray((given > 0) | (np.arange(given.shape[-1]) < 2))


def _two_scales(counts: IntArray, models: IntArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Agreement of both sides, the values of the items, and the number of items they are worth.

    Shapes: sides (raw and balanced, model and people, studies), values (raw, balanced and gain,
    studies, items), sizes (raw and balanced, studies).
    """
    n_studies, n, n_options = counts.shape
    k = counts.sum(axis=2, keepdims=True)
    share = counts / k
    chosen = (models[..., None] == np.arange(n_options)).astype(np.float64)
    hit, alike = share * chosen, counts * (counts - 1) / (k * (k - 1))
    is_label = _labels_of(counts.sum(axis=1))
    n_labels = is_label.sum(axis=1)
    mean = share.mean(axis=1)
    part = np.where(mean > 0, mean, 1.0)  # nothing is gained on a label that nobody gave

    gaps = (hit - alike).mean(axis=1) / part
    linear = ((hit - alike - gaps[:, None] * share) / part[:, None]).sum(axis=2)
    linear += gaps.sum(axis=1, keepdims=True)
    alone = chosen - chosen.mean(axis=1, keepdims=True)
    values = [
        (hit - alike).sum(axis=2),
        linear / n_labels[:, None],
        (alone * (share - mean[:, None])).sum(axis=2),
    ]
    means = [one.mean(axis=1) for one in (hit, alike)]
    sides = [
        [one.sum(axis=1) for one in means],
        [(one / part).sum(axis=1) / n_labels for one in means],
    ]
    inverse = np.where(is_label, 1 / np.where(mean > 0, mean * n, 1e-9), 0.0).sum(axis=1)
    sizes = [np.full(n_studies, float(n)), n_labels**2 / inverse]
    return np.array(sides), np.array(values), np.array(sizes)


def _at(spread: Spread, study: int) -> tuple[float, float]:
    return float(spread.variance[study]), float(spread.degrees_of_freedom[study])


def _scale(
    model: float,
    people: float,
    lost: "_Lost | None",
    epsilon: float,
    level: float,
    sharing: Sharing,
    reason: Reason | None,
) -> AgreementScale:
    if lost is None:
        return AgreementScale(model, people, Estimate(people - model, interval_reason=reason))
    low, high, method = lost.ends(level)
    interval = interval_of(-high, -low, level, method, sharing)
    advantage = Estimate(people - model, interval=interval)
    return AgreementScale(
        model, people, advantage, lost.variance**0.5, lost.df, lost.tail(-epsilon)
    )


@dataclass(frozen=True, eq=False)
class _Lost:
    """Model less people, one value for each item, with the variance of their mean.

    `size` is the number of items, or for balanced agreement the number that is worth as much.
    """

    values: FloatArray
    variance: float
    df: float
    size: float

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
        is_flat = self.variance <= 0 or size - max(won, lost, size - won - lost) < FEW_OTHERS
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


def _gain(
    value: float, variance: float, df: float, sharing: Sharing, alpha: float, level: float
) -> tuple[Estimate, float]:
    """The gain over random order with its interval, and its one-sided lower bound."""
    se = variance**0.5
    half = t_quantile(df, (1 + level) / 2) * se
    interval = interval_of(value - half, value + half, level, "general t", sharing)
    return Estimate(value, interval=interval), value - t_quantile(df, 1 - alpha) * se


def leave_one_out(votes: Votes, model: npt.ArrayLike, *, level: float = 0.95) -> LeaveOneOutSummary:
    """Compare model and annotator by agreement with the majority of the other annotators.

    Parameters
    ----------
    votes : Votes
        Choices of people, at most one per annotator and item.
    model : array_like of int, shape (n_items,)
        The model's choice, -1 missing.
    level : float, default 0.95
        Nominal coverage of the intervals.

    Returns
    -------
    LeaveOneOutSummary
        Each annotator's own interval is conditional on the other annotators; the interval of the
        mean is about people in general.

    Raises
    ------
    ValueError
        If `model` does not fit `votes` or an annotator has two choices on an item.

    Examples
    --------
    >>> votes = Votes.from_matrix([[0, 0, 0], [1, 1, 0]])
    >>> result = leave_one_out(votes, [0, 1])
    >>> result.n, result.n_ties, result.model_agreement, result.human_agreement
    (4, 2, 1.0, 0.75)
    """
    choice = model_choices(votes, model)
    _, usable = human_advantage(votes, choice)
    votes = votes.take(usable)
    others = votes.counts()[votes.item]
    others[np.arange(votes.n), votes.choice] -= 1
    most = others.max(axis=1, initial=0)
    tied = (others == most[:, None]).sum(axis=1) > 1
    majority = others.argmax(axis=1) if votes.n else np.empty(0, dtype=np.int64)
    model_agrees = choice[votes.item] == majority
    person_agrees = votes.choice == majority

    annotators = _each_annotator(votes, tied, model_agrees, person_agrees, level)
    clear = ~tied
    n, n_ties = int(clear.sum()), int(tied.sum())
    if n == 0:
        reason: Reason = "tie" if n_ties else "no_pairs"
        return LeaveOneOutSummary(Estimate(None, reason), None, None, annotators, 0, n_ties)
    gain = model_agrees[clear].astype(np.float64) - person_agrees[clear]
    mean, _, _ = _clustered_mean(gain, votes.take(clear), level)
    return LeaveOneOutSummary(
        difference=mean,
        model_agreement=float(model_agrees[clear].mean()),
        human_agreement=float(person_agrees[clear].mean()),
        annotators=annotators,
        n=n,
        n_ties=n_ties,
    )


def _each_annotator(
    votes: Votes,
    tied: BoolArray,
    model_agrees: BoolArray,
    person_agrees: BoolArray,
    level: float,
) -> tuple[LeaveOneOut, ...]:
    """The comparison for every annotator with a usable answer."""

    def per_annotator(rows: BoolArray) -> IntArray:
        return np.bincount(votes.annotator[rows], minlength=votes.n_annotators)

    b = per_annotator(~tied & model_agrees & ~person_agrees)
    c = per_annotator(~tied & person_agrees & ~model_agrees)
    n, n_ties = per_annotator(~tied), per_annotator(tied)

    @cache  # many annotators have the same counts
    def compared(b: int, c: int, n: int) -> tuple[PairedCounts, Estimate]:
        pairs = PairedCounts(b=b, c=c, n=n)
        if not n:
            return pairs, Estimate(None, "tie")
        return pairs, Estimate(pairs.difference, interval=tango_interval(pairs, level))

    entries = []
    for j in np.flatnonzero(n + n_ties).tolist():
        pairs, difference = compared(int(b[j]), int(c[j]), int(n[j]))
        entries.append(LeaveOneOut(j, pairs, int(n_ties[j]), difference))
    return tuple(entries)


def _clustered_mean(
    values: FloatArray, votes: Votes, level: float
) -> tuple[Estimate, float | None, int]:
    """Mean of a value per answer with its t interval, standard error and degrees of freedom.

    Clustered on blocks of annotators if there are enough of them, otherwise two-way.
    """
    blocks = annotator_blocks(votes)[votes.item]
    if n_distinct(blocks) >= MIN_BLOCKS:
        by_block = block_difference(values, blocks, level=level)
        estimate = Estimate(
            by_block.value,
            interval=by_block.interval,
            interval_reason=by_block.interval_reason,
        )
        return estimate, by_block.se, by_block.n_blocks - 1
    mean = float(values.mean())
    two_way = two_way_variance(values, votes.item, votes.annotator)
    if two_way is None:
        return Estimate(mean, interval_reason="too_few_annotators"), None, 0
    if two_way.variance <= 1e-24:
        return Estimate(mean, interval_reason="no_variation"), None, 0
    se, df = two_way.variance**0.5, min(two_way.n_items, two_way.n_annotators) - 1
    half = float(stats.t.ppf(0.5 + level / 2, df)) * se
    interval = Interval(
        mean - half, mean + half, level, "two-way t", two_way.n_items, two_way.n_annotators
    )
    return Estimate(mean, interval=interval), se, df
