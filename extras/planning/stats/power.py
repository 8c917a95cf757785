"""How often studies of a design end in each verdict, by simulation."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
from scipy import special, stats

from analysis.stats.core.results import FloatArray, seed_of
from analysis.stats.core.shared_variance import Sharing
from extras.planning.stats.simulated_studies import Layout, StudyModel
from extras.planning.stats.verdicts import BETTER, STATES, SimulatedVerdicts, verdicts

# Half as much to hold and to draw; the verdicts are computed with twice the digits.
Floats = npt.NDArray[np.float32]
FEWEST_DRAWS = 2000
# Numbers that one part of the simulation holds at a time.
HELD = 4_000_000
POWER = 0.8
# Differences tried around the expected detectable one, as factors of it.
TRIED = (0.7, 0.85, 1.0, 1.15, 1.35)


@dataclass(frozen=True)
class Chance:
    """Share of simulated studies, with its Monte Carlo interval (Clopper-Pearson, 95 %)."""

    value: float
    low: float
    high: float

    @classmethod
    def of(cls, hits: int, n: int) -> "Chance":
        """
        Examples
        --------
        >>> found = Chance.of(400, 2000)
        >>> found.value, round(found.low, 3), round(found.high, 3)
        (0.2, 0.183, 0.218)
        """
        low = float(stats.beta.ppf(0.025, hits, n - hits + 1)) if hits else 0.0
        high = float(stats.beta.ppf(0.975, hits + 1, n - hits)) if hits < n else 1.0
        return cls(hits / n, low, high)


@dataclass(frozen=True)
class DesignOutcome:
    """What studies show if judges are right more often than the majority by `difference`.

    Attributes
    ----------
    difference : float
        True accuracy of every judge less that of the majority.
    chances : mapping of str to Chance
        Of ``"better"``, ``"worse"``, ``"equivalent"``, ``"cannot_tell"``, which add up to 1, and
        of ``"not_worse"``: worse by less than the margin, at the one-sided level of 5 %.
    half_width : float or None
        Median half width of the 95 % interval of the difference; None if a study of this design
        has none.
    """

    difference: float
    chances: Mapping[str, Chance]
    half_width: float | None


@dataclass(frozen=True)
class Detectable:
    """The smallest true difference that is called better with the probability `POWER`.

    `low` and `high` are the ends of its Monte Carlo interval. `value` is None if no judge can be
    that much better, or if studies of this design never conclude.
    """

    value: float | None
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class Power:
    """Simulated studies of one design.

    Attributes
    ----------
    outcomes : tuple of DesignOutcome
        For each difference asked for that a judge can have.
    detectable : Detectable
    majority : float
        True accuracy of the majority.
    too_few : tuple of str
        Kinds of clusters that are too few for any verdict.
    n_draws : int
        Simulated studies for each difference.
    seed : int or None
    """

    outcomes: tuple[DesignOutcome, ...]
    detectable: Detectable
    majority: float
    too_few: tuple[str, ...]
    n_draws: int
    seed: int | None


def simulate_power(
    model: StudyModel,
    layout: Layout,
    differences: tuple[float, ...],
    *,
    judges: int = 1,
    margin: float = 0.05,
    n_draws: int = FEWEST_DRAWS,
    rng: np.random.Generator,
    step: Callable[[float], None] = lambda share: None,
) -> Power:
    """Simulate studies, and count the verdicts that their reports would have.

    Parameters
    ----------
    model : StudyModel
        How people and judges come to be right; its `answers` are those of the layout.
    layout : Layout
        Who answers what.
    differences : tuple of float
        True differences between every judge and the majority.
    judges : int, default 1
        Runs that compete for being the best.
    margin : float, default 0.05
        Of equivalence.
    n_draws : int, default 2000
    rng : numpy.random.Generator
    step : callable
        Called with the share that is done.

    Returns
    -------
    Power

    Raises
    ------
    ValueError
        If `n_draws` is below 2,000, or `model` and `layout` have different numbers of answers.

    Notes
    -----
    Every draw has items, annotators, personas and questions of its own; who answers what stays.
    All differences use the same draws. The verdict is that of `general_difference` and
    `adjusted_states`, for the run with the most right answers. Where the majority is tied (even
    numbers of answers), an item is left out, as in a report.

    Examples
    --------
    >>> from .simulated_studies import random_layout
    >>> each = np.arange(100)
    >>> layout = random_layout(each, each, n_items=100, answers=3, per_annotator=20,
    ...                        rng=np.random.default_rng(1))
    >>> found = simulate_power(StudyModel(0.6), layout, (0.0, 0.2), rng=np.random.default_rng(2))
    >>> [round(one.chances["better"].value, 1) for one in found.outcomes]
    [0.0, 0.7]
    """
    if n_draws < FEWEST_DRAWS:
        raise ValueError(f"`n_draws` must be at least {FEWEST_DRAWS}, got {n_draws}.")
    if model.answers != layout.answers:
        raise ValueError("`model` and `layout` must have the same number of answers.")
    wanted = [(gap, ease) for gap in differences if (ease := model.judge_ease(gap)) is not None]
    tried: list[tuple[float, float]] = []
    found: dict[float, list[SimulatedVerdicts]] = {gap: [] for gap, _ in wanted}
    first, done = True, 0
    for part in _parts(model, layout, judges, n_draws, rng):
        if first:
            tried, first = _near_detectable(model, part, margin), False
            found |= {gap: [] for gap, _ in tried}
        for gap, ease in dict(wanted + tried).items():
            found[gap].append(part.verdicts(ease, margin))
        done += part.n
        step(done / n_draws)
    joined = {gap: SimulatedVerdicts.joined(parts) for gap, parts in found.items()}
    return Power(
        outcomes=tuple(_outcome(gap, joined[gap]) for gap, _ in wanted),
        detectable=_detectable({gap: joined[gap] for gap in sorted(joined) if gap > 0}),
        majority=model.majority,
        too_few=layout.sharing.short,
        n_draws=n_draws,
        seed=seed_of(rng),
    )


@dataclass(frozen=True, eq=False)
class _PowerPart:
    """Some simulated studies: people are fixed, judges depend on how good they are."""

    layout: Layout
    majority: FloatArray  # (studies, items), NaN where tied
    hard: Floats  # (studies, judges, items)
    luck: Floats  # the same

    @cached_property
    def _decided(self) -> list[Sharing]:
        """What the items share that the majority of each study decides."""
        return [self.layout.sharing.take(known) for known in ~np.isnan(self.majority)]

    @property
    def n(self) -> int:
        return int(self.majority.shape[0])

    def verdicts(self, ease: float, margin: float) -> SimulatedVerdicts:
        right = (self.luck < special.expit(ease + self.hard)).astype(np.float64)
        gaps, best = right - self.majority[:, None], right.sum(axis=2)
        if not np.isnan(self.majority).any():
            return verdicts(gaps, best, self.layout.sharing, margin=margin)
        return SimulatedVerdicts.joined(
            [
                verdicts(gap[:, known][None], own[None], within, margin=margin)
                for gap, own, known, within in zip(
                    gaps, best, ~np.isnan(self.majority), self._decided, strict=True
                )
            ]
        )


def _parts(
    model: StudyModel, layout: Layout, judges: int, n_draws: int, rng: np.random.Generator
) -> Iterator[_PowerPart]:
    """Simulated studies, as many at a time as memory allows."""
    size = max(1, min(500, HELD // (layout.n_items * (layout.answers + 2 * judges))))
    for start in range(0, n_draws, size):
        yield _part(model, layout, judges, min(size, n_draws - start), rng)


def _part(
    model: StudyModel, layout: Layout, judges: int, n: int, rng: np.random.Generator
) -> _PowerPart:
    effects, rho = model.effects, np.float32(model.effects.overlap)
    hard = _difficulty(model, layout, (n,), rng)
    skill = effects.annotator * _normal(rng, (n, layout.n_annotators))
    chance = special.expit(np.float32(model.ease) + hard[:, :, None] + skill[:, layout.seats])
    votes = (rng.random(chance.shape, dtype=np.float32) < chance).sum(axis=2)
    half = layout.answers / 2
    majority = np.where(votes == half, np.nan, votes > half)
    own = _difficulty(model, layout, (n, judges), rng)
    return _PowerPart(
        layout,
        majority,
        (rho * hard[:, None] + np.sqrt(1 - rho**2) * own).astype(np.float32),
        rng.random(own.shape, dtype=np.float32),
    )


def _difficulty(
    model: StudyModel, layout: Layout, shape: tuple[int, ...], rng: np.random.Generator
) -> Floats:
    """How easy each item is compared with the average, shape (..., items)."""
    found = model.effects.item * _normal(rng, (*shape, layout.n_items))
    for sd, codes in (
        (model.effects.persona, layout.persona),
        (model.effects.question, layout.question),
    ):
        if sd:
            found += sd * _normal(rng, (*shape, int(codes.max()) + 1))[..., codes]
    return found


def _normal(rng: np.random.Generator, shape: tuple[int, ...]) -> Floats:
    return rng.standard_normal(shape, dtype=np.float32)


def _near_detectable(
    model: StudyModel, part: _PowerPart, margin: float
) -> list[tuple[float, float]]:
    """Differences around the one that is expected to be detectable, with intercepts of judges."""
    equal = model.judge_ease(0.0)
    se = np.array([]) if equal is None else part.verdicts(equal, margin).se
    if np.isnan(se).all():
        return []
    expected = float(np.nanmedian(se)) * float(special.ndtri(0.975) + special.ndtri(POWER))
    gaps = (round(factor * expected, 4) for factor in TRIED)
    return [(gap, ease) for gap in gaps if (ease := model.judge_ease(gap)) is not None]


def _outcome(difference: float, found: SimulatedVerdicts) -> DesignOutcome:
    n = found.state.size
    chances = {
        name: Chance.of(int((found.state == place).sum()), n) for place, name in enumerate(STATES)
    }
    chances["not_worse"] = Chance.of(int(found.not_worse.sum()), n)
    half = None if np.isnan(found.half_width).all() else float(np.nanmedian(found.half_width))
    return DesignOutcome(difference, chances, half)


def _detectable(found: Mapping[float, SimulatedVerdicts]) -> Detectable:
    """Interpolate between the differences that were simulated, in order."""
    chances = [
        Chance.of(int((one.state == BETTER).sum()), one.state.size) for one in found.values()
    ]
    gaps = np.array([0.0, *found])
    value, low, high = (
        _reached(gaps, np.array([0.0, *(getattr(one, name) for one in chances)]))
        for name in ("value", "high", "low")
    )
    return Detectable(value, low, high) if value is not None else Detectable(None)


def _reached(gaps: FloatArray, chances: FloatArray) -> float | None:
    """The first difference at which the chance is `POWER`."""
    rising = np.maximum.accumulate(chances)
    if rising[-1] < POWER:
        return None
    above = int(np.argmax(rising >= POWER))
    before, after = rising[above - 1], rising[above]
    part = (POWER - before) / (after - before)
    return float(gaps[above - 1] + part * (gaps[above] - gaps[above - 1]))
