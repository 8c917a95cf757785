"""Promises of statistics, and the simulations that check them.

A check simulates studies with a known truth, computes the statistic, and records the results in a
`Counts`. A promise states bounds for these counts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

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
        ``"coverage"``, the share of intervals that contain the truth; ``"false claims"``, the share
        of studies with a false claim; ``"mean"``, the mean of an estimate.
    stated : float
        The stated level or error rate, or the true value.
    least, most : float or None
        The bounds; both None for a method shown only for comparison.
    """

    kind: Counted
    stated: float
    least: float | None = None
    most: float | None = None

    @property
    def is_comparison(self) -> bool:
        return self.least is None and self.most is None


def covers(level: float = 0.95, *, least: float = 0.93) -> Promise:
    """Intervals that contain the truth in a share `level` of studies, or at least `least`."""
    return Promise("coverage", level, least=least)


def errs(rate: float = 0.05, *, most: float | None = None) -> Promise:
    """False claims in at most a share `rate` of studies, or `most` for approximate methods."""
    return Promise("false claims", rate, most=rate if most is None else most)


def is_on_average(value: float = 0.0, *, within: float = 0.0) -> Promise:
    """An estimate whose mean is the truth, up to a bias of `within`."""
    return Promise("mean", value, least=value - within, most=value + within)


def compared(kind: Counted = "coverage", stated: float = 0.95) -> Promise:
    """A common method that is not meant for this design, shown for comparison."""
    return Promise(kind, stated)


class Counts:
    """Results of a check's studies, by name of the promise."""

    def __init__(self) -> None:
        self.values: dict[str, list[float]] = {}
        self.undefined: dict[str, int] = {}

    def covered(self, name: str, interval: Interval | None, truth: float) -> None:
        """Count whether an interval contains the truth, and missing intervals separately."""
        if interval is None:
            self.undefined[name] = self.undefined.get(name, 0) + 1
        else:
            self.happened(name, interval.low <= truth <= interval.high)

    def happened(self, name: str, hit: object) -> None:
        self.measured(name, float(bool(hit)))

    def measured(self, name: str, value: float | None) -> None:
        """Add one value to a mean, and count undefined values separately."""
        if value is None:
            self.undefined[name] = self.undefined.get(name, 0) + 1
        else:
            self.values.setdefault(name, []).append(float(value))


@dataclass(frozen=True)
class MethodCheck:
    """One design of simulated studies, and the promises it checks.

    Attributes
    ----------
    name : str
        Short and unique within its family.
    design : str
        A sentence on what is simulated.
    once : callable
        Simulates the studies of one call with a generator and adds to the counts.
    promises : mapping of str to Promise
        By the names that `once` uses. Other names are not shown.
    quick, full : int
        Studies in a quick and in a full run.
    batch : int
        Studies per call of `once`.
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
    """Checks of statistics on one subject; the command refers to them by `name`."""

    name: str
    checks: Sequence[MethodCheck]
