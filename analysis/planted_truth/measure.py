"""Run checks: the same seed gives the same numbers, whichever other checks run."""

import zlib
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from .checks import Counts, Finding, MethodCheck, finding_of

SEED = 20240701


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
) -> list[Finding]:
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
) -> Iterator[list[Finding]]:
    """The findings of each check in turn."""
    for family, check in checks:
        calls = calls_of(check, quick=quick)
        yield measure(family, check, calls=calls, seed=seed, on_call=on_call)
