"""What certainty is worth for items, people, personas and questions in general.

As in `analysis.stats.comparison.general_difference`, clusters that items share are a sample.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import special

from analysis.stats.certainty.calibration import (
    brier_score,
    discrimination,
    to_confidence,
    usable_answers,
)
from analysis.stats.certainty.risk_coverage import risk_coverage
from analysis.stats.comparison.general_difference import interval_of, why_not
from analysis.stats.comparison.sample_sizes import fewest_items
from analysis.stats.core.results import (
    BoolArray,
    Estimate,
    FloatArray,
    IntArray,
    Reason,
    check_level,
    mid_ranks,
    t_quantile,
)
from analysis.stats.core.shared_variance import Sharing

MIN_FOR_INTERVAL = 10
# Shares of the answers that are tried, the most certain first.
TENTHS = 10


@dataclass(frozen=True)
class GeneralQuality:
    """Brier score, AUROC and area under the risk-coverage curve, each with its interval.

    Attributes
    ----------
    brier, auroc, aurc : Estimate
        The numbers of `brier_score`, `discrimination` and `risk_coverage`.
    n : int
        Answers used.
    """

    brier: Estimate
    auroc: Estimate
    aurc: Estimate
    n: int


def general_quality(
    certainty: npt.ArrayLike, correct: npt.ArrayLike, sharing: Sharing, *, level: float = 0.95
) -> GeneralQuality:
    r"""Brier score, AUROC and AURC of certainty, with the clusters that items share as a sample.

    Parameters
    ----------
    certainty : array_like of float, shape (n_items,)
        0 to 100; NaN is missing.
    correct : array_like of int, shape (n_items,)
        1 right, 0 wrong, -1 missing.
    sharing : Sharing
        What the items share.
    level : float, default 0.95

    Returns
    -------
    GeneralQuality
        Undefined as `brier_score`, `discrimination` and `risk_coverage` are. No interval with
        fewer than 10 items or too few clusters, and where nothing varies (``"no_variation"``).

    Notes
    -----
    Each number moves with item i by its influence: the squared distance less its mean; for a right
    answer the share of wrong ones below it, less the area, over the share of right answers, and the
    reverse for a wrong one; and :math:`e_ih(u_i)` with the share :math:`u_i` of answers at least as
    certain, :math:`h(u)=-\ln u`, plus what the item does to the shares of the others, by the delta
    method. The mean influence has the variance of `Sharing.spread`; the interval is of the number,
    for AUROC of its logit, with the t quantile.

    References
    ----------
    .. [1] E. R. DeLong, D. M. DeLong and D. L. Clarke-Pearson, "Comparing the Areas under Two or
       More Correlated Receiver Operating Characteristic Curves", Biometrics 44(3), 1988.

    Examples
    --------
    >>> sharing = Sharing.of_items(80, {"persona": np.arange(80) // 4})
    >>> found = general_quality([90, 80, 80, 60] * 20, [1, 1, 0, 0] * 20, sharing)
    >>> found.auroc.value, round(found.aurc.value, 3), found.brier.interval.method
    (0.875, 0.222, 'general t')
    """
    check_level(level)
    values, right, _ = usable_answers(certainty, correct)
    known = ~np.isnan(np.asarray(certainty, dtype=np.float64)) & (np.asarray(correct) >= 0)
    if known.size != sharing.n:
        raise ValueError(f"`certainty` has {known.size} rows, `sharing` has {sharing.n}.")
    within = sharing if known.all() else sharing.take(known)
    area, curve = discrimination(certainty, correct), risk_coverage(certainty, correct)
    brier = brier_score(certainty, correct)
    squares = (to_confidence(values) - right) ** 2
    return GeneralQuality(
        brier=_estimate(brier.value, brier.reason, squares, within, level),
        auroc=_estimate(
            area.auroc, area.reason, _of_auroc(values, right), within, level, is_logit=True
        ),
        aurc=_estimate(curve.aurc, curve.reason, _of_aurc(values, right), within, level),
        n=values.size,
    )


def _estimate(
    value: float | None,
    reason: Reason | None,
    influence: FloatArray,
    within: Sharing,
    level: float,
    *,
    is_logit: bool = False,
) -> Estimate:
    if value is None:
        return Estimate(None, reason)
    if within.n < MIN_FOR_INTERVAL:
        return Estimate(value, interval_reason="too_few_items")
    if short := why_not(within):
        return Estimate(value, interval_reason=short)
    spread = within.spread(influence)
    se = math.sqrt(float(spread.variance[0]))
    if se <= 0 or (is_logit and not 0 < value < 1):
        return Estimate(value, interval_reason="no_variation")
    half = t_quantile(float(spread.degrees_of_freedom[0]), (1 + level) / 2) * se
    low, high = max(0.0, value - half), min(1.0, value + half)
    if is_logit:
        half /= value * (1 - value)
        low, high = (float(special.expit(special.logit(value) + end)) for end in (-half, half))
    return Estimate(value, interval=interval_of(low, high, level, "general t", within))


def _of_auroc(values: FloatArray, right: IntArray) -> FloatArray:
    """How much each answer moves the area under the ROC curve; 0 without right and wrong ones."""
    is_right = right == 1
    n_right, n_wrong = int(is_right.sum()), int((~is_right).sum())
    moved = np.zeros(values.size)
    if min(n_right, n_wrong) == 0:
        return moved
    ranks = mid_ranks(values)
    for rows, n_own, n_other in ((is_right, n_right, n_wrong), (~is_right, n_wrong, n_right)):
        below = (ranks[rows] - mid_ranks(values[rows])) / n_other
        won = below if rows is is_right else 1 - below
        moved[rows] = (won - won.mean()) * values.size / n_own
    return moved


def _of_aurc(values: FloatArray, right: IntArray) -> FloatArray:
    """How much each answer moves the area under the curve of risk and coverage."""
    n = values.size
    if n == 0:
        return np.zeros(0)
    _, group = np.unique(-values, return_inverse=True)
    at = np.bincount(group).astype(np.float64)
    errors = np.bincount(group, weights=1 - right) / n
    width, upper = at / n, np.cumsum(at) / n
    lower = np.maximum(upper - width, 0.0)
    lower[0] = 0.0
    slope = (special.xlogy(upper, upper) - special.xlogy(lower, lower)) / width
    with np.errstate(divide="ignore"):
        by_upper = (slope - np.log(upper) - 1) / width
        by_lower = np.where(lower > 0, (np.log(lower) + 1 - slope) / width, 0.0)
    by_upper, by_lower = by_upper * errors, by_lower * errors
    # An answer is in the share of its own group and of every less certain one.
    at_or_below = np.cumsum(by_upper[::-1])[::-1]
    below = np.cumsum(by_lower[::-1])[::-1] - by_lower
    moved = (1 - right) * (1 - slope[group]) + (at_or_below + below)[group]
    return np.asarray(moved - moved.mean(), dtype=np.float64)


@dataclass(frozen=True)
class CoverageStep:
    """The most certain answers down to one certainty, and the errors among them.

    Attributes
    ----------
    threshold : float
        Lowest certainty accepted.
    n, errors : int
        Answers accepted, and wrong ones among them.
    p : float or None
        Of the test that the share of errors is `max_error` or more; None where it was not tested.
    """

    threshold: float
    n: int
    errors: int
    p: float | None = None


@dataclass(frozen=True)
class TrustedCoverage:
    """How many of the most certain answers can be accepted at a share of errors.

    Attributes
    ----------
    max_error : float
        The largest share of errors to allow.
    tested : tuple of CoverageStep
        The steps in order up to the first whose p exceeds the level, that one included.
    observed : CoverageStep or None
        The last of all steps with an observed share of errors of at most `max_error`. Chosen after
        the data: a description.
    p : float or None
        The p of the first step: whether anything can be accepted.
    n : int
        Answers used.
    reason : str or None
        Why there is no `p`: too few answers or clusters.
    """

    max_error: float
    tested: tuple[CoverageStep, ...]
    observed: CoverageStep | None
    p: float | None
    n: int
    reason: Reason | None = None

    def at(self, level: float) -> CoverageStep | None:
        """The last step before the first whose p exceeds `level`; None if the first does."""
        passed = None
        for step in self.tested:
            if step.p is None or step.p > level:
                break
            passed = step
        return passed


def coverage_steps(certainty: npt.ArrayLike, correct: npt.ArrayLike) -> tuple[CoverageStep, ...]:
    """The most certain tenth of the answers, two tenths, and so on to all.

    Equal certainties come in together, so a step may be larger than its tenths, and there are
    fewer of them where certainties have few values.

    Parameters
    ----------
    certainty : array_like of float, shape (n,)
        0 to 100; NaN is missing.
    correct : array_like of int, shape (n,)
        1 right, 0 wrong, -1 missing.

    Returns
    -------
    tuple of CoverageStep
        Descending thresholds, without p; empty if nothing could be used.

    Examples
    --------
    >>> [(s.threshold, s.n, s.errors) for s in coverage_steps([90, 80, 80, 60], [1, 1, 0, 0])]
    [(90.0, 1, 0), (80.0, 3, 1), (60.0, 4, 2)]
    """
    values, right, _ = usable_answers(certainty, correct)
    if values.size == 0:
        return ()
    distinct, group = np.unique(-values, return_inverse=True)
    n = np.cumsum(np.bincount(group))
    errors = np.cumsum(np.bincount(group, weights=1 - right)).round().astype(int)
    wanted = np.arange(1, TENTHS + 1) * values.size
    places = np.unique(np.searchsorted(n * TENTHS, wanted))
    return tuple(CoverageStep(-float(distinct[g]), int(n[g]), int(errors[g])) for g in places)


def trusted_coverage(
    certainty: npt.ArrayLike,
    correct: npt.ArrayLike,
    sharing: Sharing,
    max_error: float,
    *,
    tests: int = 1,
    level: float = 0.05,
) -> TrustedCoverage:
    r"""Find how many of the most certain answers have a bounded share of errors.

    Parameters
    ----------
    certainty : array_like of float, shape (n_items,)
        0 to 100; NaN is missing.
    correct : array_like of int, shape (n_items,)
        1 right, 0 wrong, -1 missing.
    sharing : Sharing
        What the items share.
    max_error : float
        Largest share of errors to allow, in (0, 1).
    tests : int, default 1
        Sequences among which one chooses: every p is multiplied by it.
    level : float, default 0.05
        Where the sequence ends.

    Returns
    -------
    TrustedCoverage
        Without a test (``"too_few_items"``) if even without an error all answers would be too few.

    Notes
    -----
    `coverage_steps` are tested in their order, from the first with twice the answers that
    `fewest_items` asks for. The p of n answers with k errors is
    :math:`P(\mathrm{Bin}(n/d,\alpha)\le k/d)`, by the incomplete beta function, read by the t
    distribution with the degrees of freedom of `Sharing.spread`. The design effect is
    :math:`d=1+\sum_c\rho_cm_c/n` with :math:`\rho_c` the correlation of the errors that share a
    cluster of kind c, by `Sharing.components` of all answers, and :math:`m_c` the ordered pairs of
    accepted answers that share one. A sequence ends at the first p above the level, so all that
    passed before it hold together. In contrast to `certify_threshold` it uses all items, and its
    level is that of simulations, not of a proof.

    References
    ----------
    .. [1] Angelopoulos, Bates, Candès, Jordan and Lei, "Learn then test", Annals of Applied
       Statistics 19(2), 2025.
    .. [2] E. L. Korn and B. I. Graubard, "Confidence Intervals for Proportions with Small Expected
       Number of Positive Counts Estimated from Survey Data", Survey Methodology 24(2), 1998.

    Examples
    --------
    >>> sharing = Sharing.of_items(200, {"persona": np.arange(200) // 4})
    >>> right = [1] * 120 + [0, 1] * 40
    >>> found = trusted_coverage(np.linspace(100, 1, 200), right, sharing, 0.1)
    >>> found.at(0.05).n, found.at(0.05).errors, found.observed.n
    (120, 0, 140)
    """
    check_level(level)
    values, right, _ = usable_answers(certainty, correct)
    steps = coverage_steps(certainty, correct)
    good = [step for step in steps if step.errors <= max_error * step.n]
    observed, fewest = good[-1] if good else None, fewest_items(max_error, level / tests)

    def result(tested: list[CoverageStep], reason: Reason | None = None) -> TrustedCoverage:
        p = tested[0].p if tested else None
        return TrustedCoverage(max_error, tuple(tested), observed, p, values.size, reason)

    if values.size < fewest:
        return result([], "too_few_items" if values.size else "empty_group")
    known = ~np.isnan(np.asarray(certainty, dtype=np.float64)) & (np.asarray(correct) >= 0)
    within = sharing if known.all() else sharing.take(known)
    if reason := why_not(within):
        return result([], reason)
    wrong = 1.0 - right
    parts = within.components(wrong)[0]
    alike = dict(zip(within.used, parts[1:] / parts[0], strict=True)) if parts[0] > 0 else {}
    df = float(within.spread(wrong).degrees_of_freedom[0])
    tested: list[CoverageStep] = []
    for step in steps:
        if step.n < min(2 * fewest, values.size):
            continue
        design = _design_effect(values >= step.threshold, within, alike)
        left, errors = (step.n - step.errors) / design, step.errors / design
        p = 1.0 if left <= 0 else float(special.betainc(left, errors + 1, 1 - max_error))
        p = min(1.0, tests * float(special.stdtr(df, special.ndtri(p))))
        tested.append(CoverageStep(step.threshold, step.n, step.errors, p))
        if p > level:
            break
    return result(tested)


def _design_effect(accepted: BoolArray, within: Sharing, alike: Mapping[str, float]) -> float:
    """How much less the accepted answers say than as many that share nothing."""
    design = 1.0
    for name, correlation in alike.items():
        kind = within.kinds[name]
        sizes = np.bincount(kind.cluster[accepted[kind.row]]).astype(np.float64)
        design += correlation * float(sizes @ (sizes - 1)) / int(accepted.sum())
    return design
