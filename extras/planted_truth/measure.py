"""Run checks: the same seed gives the same numbers, whichever other checks run."""

import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import sqrt

import numpy as np

from analysis.promises import Counted, Counts, MethodCheck, Promise, Source

# Monte Carlo errors that a result may be beyond its bound before a promise counts as broken: of two
# hundred promises that are just kept, chance breaks one in a hundred runs.
SLACK = 4

SEED = 20240701


@dataclass(frozen=True)
class MeasuredPromise:
    """What came out for one promise.

    Attributes
    ----------
    found : float or None
        The share or the mean; None if no study gave a value.
    error : float or None
        Its Monte Carlo standard error.
    n : int
        Studies, items or runs that were counted.
    undefined : int
        Those without an interval or value.
    kept : bool or None
        Whether `found` is within the bounds, up to four Monte Carlo errors; None for comparisons.
    """

    family: str
    check: str
    design: str
    name: str
    source: Source
    promise: Promise
    found: float | None
    error: float | None
    n: int
    undefined: int
    kept: bool | None


def finding_of(family: str, check: MethodCheck, name: str, counts: Counts) -> MeasuredPromise:
    """The finding about the promise `name` of a check."""
    promise = check.promises[name]
    values = np.asarray(counts.values.get(name, ()), dtype=np.float64)
    found = error = kept = None
    if values.size:
        found = float(values.mean())
        error = _error(values, promise.kind)
    if not promise.is_comparison:
        kept = found is not None and error is not None and _within(found, error, promise)
    return MeasuredPromise(
        family,
        check.name,
        check.design,
        name,
        check.source,
        promise,
        found,
        error,
        int(values.size),
        counts.undefined.get(name, 0),
        kept,
    )


def _error(values: np.ndarray, kind: Counted) -> float:
    n = values.size
    if kind == "mean":
        return float(values.std(ddof=1) / sqrt(n)) if n > 1 else float("inf")
    # At least that of one hit, so that a share of 0 or 1 is not taken as certain.
    share = min(max(float(values.mean()), 1 / n), 1 - 1 / n)
    return sqrt(share * (1 - share) / n)


def _within(found: float, error: float, promise: Promise) -> bool:
    slack = SLACK * error
    return (promise.least is None or found >= promise.least - slack) and (
        promise.most is None or found <= promise.most + slack
    )


def calls_of(check: MethodCheck, *, quick: bool) -> int:
    """How often `once` is called; at least once."""
    return max(1, (check.quick if quick else check.full) // check.batch)


def measure(
    family: str,
    check: MethodCheck,
    *,
    calls: int,
    seed: int = SEED,
    on_call: Callable[[], object] = lambda: None,
) -> list[MeasuredPromise]:
    """Simulate `calls` times the studies of a check, and compare with what it promises."""
    name = zlib.crc32(f"{family}/{check.name}".encode())
    rng = np.random.default_rng([seed, name])
    counts = Counts()
    for _ in range(calls):
        check.once(rng, counts)
        on_call()
    return [finding_of(family, check, promise, counts) for promise in check.promises]


def measure_all(
    checks: Sequence[tuple[str, MethodCheck]],
    *,
    quick: bool,
    seed: int = SEED,
    on_call: Callable[[], object] = lambda: None,
) -> Iterator[list[MeasuredPromise]]:
    """The findings of each check in turn."""
    for family, check in checks:
        calls = calls_of(check, quick=quick)
        yield measure(family, check, calls=calls, seed=seed, on_call=on_call)
