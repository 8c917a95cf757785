"""Estimate effects of items, annotators, personas and questions from a study's data."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import optimize, special

from analysis.stats.core.results import FloatArray, IntArray, Reason, seed_of
from analysis.stats.core.shared_variance import ANNOTATOR, SharedKind, Sharing
from extras.planning.stats.simulated_studies import FURTHEST, Effects, StudyModel, quadrature

NAMES = ("item", "annotator", "persona", "question", "overlap")
# Fewest members needed to estimate the standard deviation of their effects.
FEWEST = 5
MOST_SD = 4.0
STEPS = 17  # of a table of covariances
ROUNDS = 12
# Fewer than for power, because every bootstrap sample needs thousands.
NODES, WEIGHTS = quadrature(24)


@dataclass(frozen=True)
class Component:
    """A standard deviation on the logit scale, or the overlap of difficulties.

    Attributes
    ----------
    value : float or None
    low, high : float or None
        Ends of the 95 % interval, by parametric bootstrap.
    reason : str or None
        Why there is no value: ``"too_few_clusters"`` or ``"not_identified"``.
    """

    value: float | None
    low: float | None = None
    high: float | None = None
    reason: Reason | None = None


@dataclass(frozen=True)
class VarianceComponents:
    """A pilot's estimates for the next study.

    Attributes
    ----------
    accuracy : float
        Accuracy of one annotator.
    judge : float or None
        Accuracy of the judge; None without one.
    components : mapping of str to Component
        ``item``, ``annotator``, ``persona``, ``question`` and ``overlap``.
    n_draws : int
        Draws of the parametric bootstrap.
    seed : int or None
    """

    accuracy: float
    judge: float | None
    components: Mapping[str, Component]
    n_draws: int
    seed: int | None

    def effects(self, otherwise: Effects) -> Effects:
        """The estimated effects, completed by `otherwise`."""
        known = {name: one.value for name, one in self.components.items() if one.value is not None}
        return Effects(**{name: known.get(name, getattr(otherwise, name)) for name in NAMES})


@dataclass(frozen=True, eq=False)
class PilotAnswers:
    """Scorable single answers of people, and the judge's result for each item.

    Attributes
    ----------
    correct, item, annotator : ndarray of int, shape (n_answers,)
        1 right, 0 wrong; codes.
    persona, question : ndarray of int, shape (n_items,)
    judge : ndarray of int, shape (n_items,), or None
        1 right, 0 wrong, -1 unknown.
    """

    correct: IntArray
    item: IntArray
    annotator: IntArray
    persona: IntArray
    question: IntArray
    judge: IntArray | None = None


def variance_components(
    pilot: PilotAnswers, *, n_draws: int = 200, rng: np.random.Generator
) -> VarianceComponents | None:
    r"""Estimate the variance components of a study's answers.

    Parameters
    ----------
    pilot : PilotAnswers
    n_draws : int, default 200
        Studies simulated for intervals.
    rng : numpy.random.Generator

    Returns
    -------
    VarianceComponents or None
        None without right and wrong answers.

    Notes
    -----
    The covariances of two answers that share an item, annotator, persona or question are those of
    `Sharing.components`. Each becomes the standard deviation on the logit scale for which
    `StudyModel` has that covariance (Gauss-Hermite quadrature, solved jointly by iteration). A
    persona or question that cannot be separated from its items is part of `item`. Intervals are the
    2.5 and 97.5 percentiles of estimates from studies simulated with the estimated effects and the
    pilot's seats.

    Examples
    --------
    >>> rng = np.random.default_rng(3)
    >>> item, annotator = np.divmod(np.arange(900), 3)
    >>> each, hard = np.arange(300), rng.normal(size=300)
    >>> right = (rng.random(900) < special.expit(0.5 + hard[item])).astype(int)
    >>> pilot = PilotAnswers(right, item, item // 10 * 3 + annotator, each, each)
    >>> found = variance_components(pilot, n_draws=40, rng=rng)
    >>> round(found.components["item"].value, 1), found.components["persona"].reason
    (1.0, 'not_identified')
    """
    if pilot.correct.size == 0 or pilot.correct.min() == pilot.correct.max():
        return None
    design = _Design(pilot)
    right = pilot.correct.astype(np.float64)[None]
    judged = None if pilot.judge is None else pilot.judge.astype(np.float64)[None]
    estimate = design.estimates(right, judged)
    accuracy = float(right.mean())
    judge = None
    if pilot.judge is not None and (pilot.judge >= 0).any():
        judge = float(pilot.judge[pilot.judge >= 0].mean())
    reasons = design.reasons(judge)
    values = {
        name: None if name in reasons else float(estimate[0, place])
        for place, name in enumerate(NAMES)
    }
    effects = Effects(**{name: value or 0.0 for name, value in values.items()})
    drawn = design.estimates(*design.simulate(accuracy, judge, effects, n_draws, rng))
    ends = np.percentile(drawn, [2.5, 97.5], axis=0)
    return VarianceComponents(
        accuracy=accuracy,
        judge=judge,
        components={
            name: Component(None, reason=reasons[name])
            if name in reasons
            else Component(values[name], float(ends[0, place]), float(ends[1, place]))
            for place, name in enumerate(NAMES)
        },
        n_draws=n_draws,
        seed=seed_of(rng),
    )


class _Design:
    """What answers share: everything that does not depend on who was right."""

    def __init__(self, pilot: PilotAnswers) -> None:
        self.pilot, n = pilot, pilot.correct.size
        codes = {
            "item": pilot.item,
            ANNOTATOR: pilot.annotator,
            "persona": pilot.persona[pilot.item],
            "question": pilot.question[pilot.item],
        }
        rows = np.arange(n)
        self.sharing = Sharing.of(
            n, {name: SharedKind.of(rows, one, n) for name, one in codes.items()}
        )
        self.items, self.place = np.unique(pilot.item, return_inverse=True)
        self.counts = np.bincount(self.place).astype(np.float64)

    def reasons(self, judge: float | None) -> dict[str, Reason]:
        reasons: dict[str, Reason] = {}
        for name in NAMES[:-1]:
            if name not in self.sharing.used:
                reasons[name] = "not_identified"
            elif self.sharing.n_clusters[name] < FEWEST:
                reasons[name] = "too_few_clusters"
        if judge is None or judge in (0, 1) or "item" in reasons:
            reasons["overlap"] = "not_identified"
        return reasons

    def estimates(self, right: FloatArray, judged: FloatArray | None) -> FloatArray:
        """Estimates of `NAMES` for each study, shape (studies, 5)."""
        shared = self.sharing.components(right)
        by_name = dict(zip(self.sharing.used, shared[:, 1:].T, strict=True))
        zero = np.zeros(right.shape[0])
        covariances = np.stack([by_name.get(name, zero) for name in NAMES[:-1]], axis=1)
        estimates = np.zeros((right.shape[0], len(NAMES)))
        means = np.clip(right.mean(axis=1), 0.02, 0.98)
        for study, (mean, covariance) in enumerate(zip(means, covariances, strict=True)):
            estimates[study, :4] = _standard_deviations(float(mean), covariance)
        if judged is not None:
            for study, (one, mine) in enumerate(zip(right, judged, strict=True)):
                estimates[study, 4] = self._overlap(one, mine[self.items], estimates[study])
        return estimates

    def _overlap(self, right: FloatArray, judged: FloatArray, sds: FloatArray) -> float:
        share = np.bincount(self.place, right) / self.counts
        known = judged >= 0
        if known.sum() < 2:
            return 0.0
        together = float(np.cov(share[known], judged[known])[0, 1])
        wide = float(np.sqrt(sds[0] ** 2 + sds[2] ** 2 + sds[3] ** 2))
        accuracy = float(np.clip(right.mean(), 0.02, 0.98))
        judge = float(np.clip(judged[known].mean(), 0.02, 0.98))
        at = _ease(accuracy, float(np.hypot(wide, sds[1])))
        people = special.expit(at + wide * NODES[:, None] + sds[1] * NODES) @ WEIGHTS
        ease = _ease(judge, wide)

        def covariance(rho: float) -> float:
            own = np.sqrt(1 - rho**2) * wide * NODES
            chance = special.expit(ease + rho * wide * NODES[:, None] + own) @ WEIGHTS
            return float(WEIGHTS @ (people * chance) - (WEIGHTS @ people) * (WEIGHTS @ chance))

        if wide < 0.05 or together <= covariance(0.0):
            return 0.0
        if together >= covariance(1.0):
            return 1.0
        return float(optimize.brentq(lambda rho: covariance(rho) - together, 0, 1, xtol=1e-4))

    def simulate(
        self,
        accuracy: float,
        judge: float | None,
        effects: Effects,
        n: int,
        rng: np.random.Generator,
    ) -> tuple[FloatArray, FloatArray | None]:
        """Answers of people and the judge in `n` studies with these seats."""
        pilot, size = self.pilot, self.pilot.persona.size
        model = StudyModel(min(max(accuracy, 0.02), 0.98), 1, effects)

        def difficulty() -> FloatArray:
            simulated = effects.item * rng.standard_normal((n, size))
            for sd, codes in ((effects.persona, pilot.persona), (effects.question, pilot.question)):
                simulated += sd * rng.standard_normal((n, int(codes.max()) + 1))[:, codes]
            return simulated

        hard = difficulty()
        people = int(pilot.annotator.max()) + 1
        skill = effects.annotator * rng.standard_normal((n, people))
        chance = special.expit(model.ease + hard[:, pilot.item] + skill[:, pilot.annotator])
        right = (rng.random(chance.shape) < chance).astype(np.float64)
        if judge is None or pilot.judge is None:
            return right, None
        rho = effects.overlap
        ease = _ease(float(np.clip(judge, 0.02, 0.98)), effects.of_items)
        mixed = special.expit(ease + rho * hard + np.sqrt(1 - rho**2) * difficulty())
        judged = (rng.random(mixed.shape) < mixed).astype(np.float64)
        return right, np.where(pilot.judge >= 0, judged, -1.0)


def _ease(accuracy: float, sd: float) -> float:
    return float(
        optimize.brentq(
            lambda at: WEIGHTS @ special.expit(at + sd * NODES) - accuracy,
            -2 * FURTHEST,
            2 * FURTHEST,
        )
    )


def _standard_deviations(mean: float, covariances: npt.NDArray[np.float64]) -> FloatArray:
    """Standard deviations for covariances of answers that share an item, annotator, and so on."""
    item, annotator, persona, question = covariances
    total = 1.0
    for _ in range(ROUNDS):
        shared, table = _table(mean, total)
        parts = np.interp([item + persona + question, annotator, persona, question], table, shared)
        wider = float(np.clip(parts[0] + parts[1], 1e-4, MOST_SD**2))
        if abs(wider - total) < 1e-4:
            break
        total = wider
    own = max(parts[0] - parts[2] - parts[3], 0.0)
    return np.sqrt([own, *parts[1:]])


def _table(mean: float, total: float) -> tuple[FloatArray, FloatArray]:
    """Covariance of two answers, given the share of the total variance in common."""
    ease = _ease(mean, total**0.5)
    shared = total * np.linspace(0, 1, STEPS) ** 2
    own = np.sqrt(total - shared)
    together = np.sqrt(shared)[:, None, None] * NODES[:, None] + own[:, None, None] * NODES
    chance = special.expit(ease + together) @ WEIGHTS
    return shared, np.maximum.accumulate(chance**2 @ WEIGHTS - mean**2)
