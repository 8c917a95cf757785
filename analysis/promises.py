"""What a statistic promises, and the checks that count whether it keeps the promise.

A check simulates one study after another with a truth that it knows, computes the statistic, and
tells a `Counts` what came out. A promise says what the counts must show. `FAMILIES` lists checks
that are added from elsewhere; every process learns of them when it starts, so no arrays are loaded.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from studies.additions import Additions

if TYPE_CHECKING:
    import numpy as np

    from analysis.stats import Interval

Counted = Literal["coverage", "false claims", "mean"]
PromiseSource = Literal["simulated", "published"]


@dataclass(frozen=True)
class Promise:
    """What a statistic claims, and the bounds that simulations must stay within.

    Attributes
    ----------
    kind : str
        ``"coverage"``, the share of intervals with the truth inside; ``"false claims"``, the share
        of studies with a claim that is false; ``"mean"``, the mean of an estimate.
    stated : float
        What the statistic states: its level, its error rate, or the true value.
    least, most : float or None
        The bounds; both None for a method that is shown as a comparison and promises nothing here.
    """

    kind: Counted
    stated: float
    least: float | None = None
    most: float | None = None

    @property
    def is_comparison(self) -> bool:
        return self.least is None and self.most is None


def covers(level: float = 0.95, *, least: float = 0.93) -> Promise:
    """Intervals that contain the truth in a share `level` of studies, or in `least` of them."""
    return Promise("coverage", level, least=least)


def errs(rate: float = 0.05, *, most: float | None = None) -> Promise:
    """False claims in at most a share `rate` of studies; approximate methods up to `most`."""
    return Promise("false claims", rate, most=rate if most is None else most)


def is_on_average(value: float = 0.0, *, within: float = 0.0) -> Promise:
    """An estimate whose mean is the truth, up to a bias of `within`."""
    return Promise("mean", value, least=value - within, most=value + within)


def compared(kind: Counted = "coverage", stated: float = 0.95) -> Promise:
    """A usual method that is not meant for this design, shown next to the one that is."""
    return Promise(kind, stated)


class Counts:
    """What the studies of a check showed, by the name of the promise."""

    def __init__(self) -> None:
        self.values: dict[str, list[float]] = {}
        self.undefined: dict[str, int] = {}

    def covered(self, name: str, interval: Interval | None, truth: float) -> None:
        """Count whether an interval contains the truth; no interval is counted apart."""
        if interval is None:
            self.undefined[name] = self.undefined.get(name, 0) + 1
        else:
            self.happened(name, interval.low <= truth <= interval.high)

    def happened(self, name: str, hit: object) -> None:
        self.measured(name, float(bool(hit)))

    def measured(self, name: str, value: float | None) -> None:
        """Add one value to a mean; an undefined one is counted apart."""
        if value is None:
            self.undefined[name] = self.undefined.get(name, 0) + 1
        else:
            self.values.setdefault(name, []).append(float(value))


@dataclass(frozen=True)
class MethodCheck:
    """One design of simulated studies, and the promises that are counted in it.

    Attributes
    ----------
    name : str
        Short and unique within its family.
    design : str
        What is simulated, in a sentence that a reader can judge.
    once : callable
        Simulates one call's studies with a generator and adds to the counts.
    promises : mapping of str to Promise
        By the names that `once` counts under. Names that are missing here are not shown.
    quick, full : int
        Studies of a quick and of a full run.
    batch : int
        Studies of one call of `once`.
    """

    name: str
    design: str
    once: Callable[[np.random.Generator, Counts], None]
    promises: Mapping[str, Promise]
    quick: int
    full: int
    batch: int = 1
    source: PromiseSource = "simulated"


@dataclass(frozen=True)
class Family:
    """Checks of statistics on one subject; `name` is what the command calls them."""

    name: str
    checks: Sequence[MethodCheck]


FAMILIES: Additions[Family] = Additions()
