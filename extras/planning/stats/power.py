"""How often studies of a design end in each verdict, by simulation."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
from scipy import special, stats

from analysis.stats.comparison.general_difference import FEW_OTHERS, why_not
from analysis.stats.core.results import BoolArray, FloatArray, IntArray, seed_of
from analysis.stats.core.shared_variance import Sharing
from extras.planning.stats.simulated_studies import Layout, StudyModel

STATES = ("better", "worse", "equivalent", "cannot_tell")
BETTER, WORSE, EQUIVALENT, CANNOT_TELL = range(4)
ALPHA = 0.05
HALVINGS = 40  # of an interval that is searched for its end
FEWEST_ITEMS = 30  # with fewer shared items, the headline makes no comparison


@dataclass(frozen=True, eq=False)
class SimulatedVerdicts:
    """Verdicts of simulated studies, one entry per study.

    Attributes
    ----------
    state : ndarray of int, shape (n_studies,)
        Position in `STATES`, for the run with the most right answers.
    not_worse : ndarray of bool, shape (n_studies,)
        Whether that run is shown not to be worse by the margin or more.
    half_width : ndarray of float, shape (n_studies,)
        Half the width of the 95 % interval of that run's difference; NaN without an interval.
    se : ndarray of float, shape (n_studies,)
        Standard error of the difference; NaN without one.
    """

    state: IntArray
    not_worse: BoolArray
    half_width: FloatArray
    se: FloatArray

    @classmethod
    def joined(cls, parts: "list[SimulatedVerdicts]") -> "SimulatedVerdicts":
        return cls(
            np.concatenate([part.state for part in parts]),
            np.concatenate([part.not_worse for part in parts]),
            np.concatenate([part.half_width for part in parts]),
            np.concatenate([part.se for part in parts]),
        )


def verdicts(
    differences: npt.ArrayLike,
    right: npt.ArrayLike,
    sharing: Sharing,
    *,
    margin: float = 0.05,
) -> SimulatedVerdicts:
    """The headlines that reports would have for many studies.

    Parameters
    ----------
    differences : array_like of float, shape (n_studies, n_judges, n_items)
        Judge right minus majority right, for items that both decided.
    right : array_like of float, shape (n_studies, n_judges)
        Right answers of each judge among all its items. The headline names the judge with the most.
    sharing : Sharing
        What the items share, including the people who voted.
    margin : float, default 0.05

    Returns
    -------
    SimulatedVerdicts

    Notes
    -----
    The same numbers as `general_differences` with `adjusted_states`, computed for all studies
    together.

    Examples
    --------
    >>> sharing = Sharing.of_items(40, {"persona": np.arange(40) // 4})
    >>> found = verdicts(np.tile([1.0, 0, 1, 0, 1, -1, 1, 0], 5)[None, None], [[30]], sharing)
    >>> [STATES[state] for state in found.state], bool(found.not_worse[0])
    (['better'], True)
    """
    d = np.asarray(differences, dtype=np.float64)
    studies, judges, n = d.shape
    best = np.asarray(right).argmax(axis=1)
    unknown = np.full(studies, np.nan)
    if n < FEWEST_ITEMS or why_not(sharing):
        none = np.zeros(studies, dtype=np.bool_)
        return SimulatedVerdicts(np.full(studies, CANNOT_TELL), none, unknown, unknown)
    columns = _tests(d.reshape(-1, n), sharing, margin, judges)
    p, q, half, se, bound = (column.reshape(studies, judges) for column in columns)
    rows = np.arange(studies)
    value = d.mean(axis=2)[rows, best]
    apart, inside = _holm(p)[rows, best] <= ALPHA, _holm(q)[rows, best] <= ALPHA
    state = np.select(
        [apart & (value > 0), apart, inside], [BETTER, WORSE, EQUIVALENT], CANNOT_TELL
    )
    return SimulatedVerdicts(state, bound[rows, best] > -margin, half[rows, best], se[rows, best])


def _tests(
    d: FloatArray, sharing: Sharing, margin: float, judges: int
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray, FloatArray]:
    """p of no difference, p of equivalence, half width, standard error, lower bound."""
    n = d.shape[1]
    spread = sharing.spread(d)
    variance, df = spread.variance, spread.degrees_of_freedom
    value = d.mean(axis=1)
    independent = ((d - value[:, None]) ** 2).sum(axis=1) / n**2
    only_first, only_second = np.maximum(d, 0).sum(axis=1), np.maximum(-d, 0).sum(axis=1)
    commonest = np.maximum(np.maximum(only_first, only_second), n - only_first - only_second)
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.where(variance > 0, np.minimum(1.0, independent / variance), 1.0)
        se = np.sqrt(variance)
        p = 2 * special.stdtr(df, -np.abs(value) / se)
        q = special.stdtr(df, -(margin - np.abs(value)) / se)
    half = special.stdtrit(df, 0.975) * se
    bound = value - special.stdtrit(df, 1 - ALPHA / judges) * se
    few = np.flatnonzero((variance <= 0) | ((n - commonest) * share < FEW_OTHERS))
    if few.size:
        counts = (only_first * share)[few], (only_second * share)[few], (n * share)[few]
        own = df[few]
        below, above = _tango(*counts, -margin), _tango(*counts, margin)
        p[few] = 2 * special.stdtr(own, -np.abs(_tango(*counts, 0.0)))
        q[few] = np.maximum(special.stdtr(own, -below), special.stdtr(own, above))
        wide = special.stdtrit(own, 0.975)
        half[few] = (_end(*counts, -wide) - _end(*counts, wide)) / 2
        bound[few] = _end(*counts, special.stdtrit(own, 1 - ALPHA / judges))
    return np.minimum(p, 1.0), np.minimum(q, 1.0), half, se, bound


def _tango(b: FloatArray, c: FloatArray, n: FloatArray, at: float | FloatArray) -> FloatArray:
    """`tango_score` of many studies."""
    linear = -b - c + (2 * n - b + c) * at
    constant = -c * at * (1 - at)
    root = np.sqrt(np.maximum(linear * linear - 8 * n * constant, 0.0))
    with np.errstate(divide="ignore", invalid="ignore"):
        only_second = np.where(
            linear <= 0, (root - linear) / (4 * n), -2 * constant / (root + linear)
        )
        variance = n * (2 * only_second + at * (1 - at))
        distance = b - c - n * at
        score = distance / np.sqrt(variance)
        at_edge = np.where(distance == 0, 0.0, np.copysign(np.inf, distance))
    return np.where(variance <= 0, at_edge, score)


def _end(b: FloatArray, c: FloatArray, n: FloatArray, target: FloatArray) -> FloatArray:
    """The difference at which the score is `target`; the score falls as the difference rises."""
    observed = (b - c) / n
    low = np.where(target > 0, -1.0, observed)
    high = np.where(target > 0, observed, 1.0)
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        is_above = _tango(b, c, n, middle) > target
        low, high = np.where(is_above, middle, low), np.where(is_above, high, middle)
    return (low + high) / 2


def _holm(p: FloatArray) -> FloatArray:
    """`holm` of each row."""
    order = np.argsort(p, axis=1, kind="stable")
    factors = np.arange(p.shape[1], 0, -1)
    sorted_p = np.take_along_axis(p, order, axis=1)
    stepped = np.maximum.accumulate(np.minimum(1.0, factors * sorted_p), axis=1)
    adjusted = np.empty_like(p)
    np.put_along_axis(adjusted, order, stepped, axis=1)
    return adjusted


# Single precision halves memory and time; verdicts are computed in double precision.
SmallFloats = npt.NDArray[np.float32]
FEWEST_DRAWS = 2000
# Numbers that one batch of the simulation holds in memory.
HELD = 4_000_000
POWER = 0.8
# Differences to simulate, as multiples of the expected detectable one.
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
    """Outcomes of studies in which judges are more accurate than the majority by `difference`.

    Attributes
    ----------
    difference : float
        True accuracy of every judge minus that of the majority.
    chances : mapping of str to Chance
        Chances of ``"better"``, ``"worse"``, ``"equivalent"`` and ``"cannot_tell"``, which add up
        to 1, and of ``"not_worse"``: worse by less than the margin, at the one-sided level of 5 %.
    half_width : float or None
        Median half width of the 95 % interval of the difference; None if studies of this design
        have none.
    """

    difference: float
    chances: Mapping[str, Chance]
    half_width: float | None


@dataclass(frozen=True)
class Detectable:
    """The smallest true difference that is detected as better with probability `POWER`.

    `low` and `high` are the ends of its Monte Carlo interval. `value` is None if no judge can be
    that much better, or if studies of this design never reach a conclusion.
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
        For each requested difference that is possible for a judge.
    detectable : Detectable
    majority : float
        True accuracy of the majority.
    too_few : tuple of str
        Kinds of clusters with too few members for any verdict.
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
    """Simulate studies and count the verdicts of their reports.

    Parameters
    ----------
    model : StudyModel
        Model of people's and judges' accuracy; its `answers` must match the layout.
    layout : Layout
        Who answers what.
    differences : tuple of float
        True differences between every judge and the majority.
    judges : int, default 1
        Runs that compete for the best result.
    margin : float, default 0.05
        Equivalence margin.
    n_draws : int, default 2000
    rng : numpy.random.Generator
    step : callable
        Called with the share completed.

    Returns
    -------
    Power

    Raises
    ------
    ValueError
        If `n_draws` is below 2,000, or `model` and `layout` have different numbers of answers.

    Notes
    -----
    Every draw has new items, annotators, personas and questions; who answers what stays fixed. All
    differences use the same draws. The verdict is that of `general_difference` and
    `adjusted_states`, for the run with the most right answers. Items with a tied majority (even
    numbers of answers) are left out, as in a report.

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
    by_gap: dict[float, list[SimulatedVerdicts]] = {gap: [] for gap, _ in wanted}
    first, done = True, 0
    for part in _parts(model, layout, judges, n_draws, rng):
        if first:
            tried, first = _near_detectable(model, part, margin), False
            by_gap |= {gap: [] for gap, _ in tried}
        for gap, ease in dict(wanted + tried).items():
            by_gap[gap].append(part.verdicts(ease, margin))
        done += part.n
        step(done / n_draws)
    joined = {gap: SimulatedVerdicts.joined(parts) for gap, parts in by_gap.items()}
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
    """A batch of simulated studies: fixed people, and judges by their accuracy."""

    layout: Layout
    majority: FloatArray  # (studies, items), NaN where tied
    hard: SmallFloats  # (studies, judges, items)
    luck: SmallFloats  # the same

    @cached_property
    def _decided(self) -> list[Sharing]:
        """What the items with a decided majority share, by study."""
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
) -> SmallFloats:
    """Ease of each item relative to the average, shape (..., items)."""
    difficulty = model.effects.item * _normal(rng, (*shape, layout.n_items))
    for sd, codes in (
        (model.effects.persona, layout.persona),
        (model.effects.question, layout.question),
    ):
        if sd:
            difficulty += sd * _normal(rng, (*shape, int(codes.max()) + 1))[..., codes]
    return difficulty


def _normal(rng: np.random.Generator, shape: tuple[int, ...]) -> SmallFloats:
    return rng.standard_normal(shape, dtype=np.float32)


def _near_detectable(
    model: StudyModel, part: _PowerPart, margin: float
) -> list[tuple[float, float]]:
    """Differences around the expected detectable one, with the judges' intercepts."""
    equal = model.judge_ease(0.0)
    se = np.array([]) if equal is None else part.verdicts(equal, margin).se
    if np.isnan(se).all():
        return []
    expected = float(np.nanmedian(se)) * float(special.ndtri(0.975) + special.ndtri(POWER))
    gaps = (round(factor * expected, 4) for factor in TRIED)
    return [(gap, ease) for gap in gaps if (ease := model.judge_ease(gap)) is not None]


def _outcome(difference: float, verdicts: SimulatedVerdicts) -> DesignOutcome:
    n = verdicts.state.size
    chances = {
        name: Chance.of(int((verdicts.state == place).sum()), n)
        for place, name in enumerate(STATES)
    }
    chances["not_worse"] = Chance.of(int(verdicts.not_worse.sum()), n)
    half = None if np.isnan(verdicts.half_width).all() else float(np.nanmedian(verdicts.half_width))
    return DesignOutcome(difference, chances, half)


def _detectable(by_gap: Mapping[float, SimulatedVerdicts]) -> Detectable:
    """Interpolate between the simulated differences, in order."""
    chances = [
        Chance.of(int((one.state == BETTER).sum()), one.state.size) for one in by_gap.values()
    ]
    gaps = np.array([0.0, *by_gap])
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
