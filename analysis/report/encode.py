"""Results as JSON: null with a reason next to it, never NaN, nothing rounded.

A section says which result goes under which key; how a number, its interval, its counts and its p
become JSON is decided here.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from analysis.stats.accuracy.bands import AccuracyCells
    from analysis.stats.core.results import Interval, Proportion

Json = dict[str, Any]


class Measured(Protocol):
    """What estimates, shares and differences have in common."""

    @property
    def value(self) -> float | None: ...
    @property
    def reason(self) -> str | None: ...
    @property
    def interval(self) -> Interval | None: ...
    @property
    def interval_reason(self) -> str | None: ...


class Tested(Measured, Protocol):
    """Such a result with the p of a test that it is 0."""

    @property
    def p(self) -> float | None: ...


def number(value: float | None) -> float | None:
    """A float that JSON can hold; infinite values and NaN are errors here."""
    if value is None:
        return None
    if not math.isfinite(value):
        raise ValueError(f"a statistic returned {value}")
    return float(value)


def put(target: Json, key: str, value: Any, reason: str | None = None) -> None:
    """Set `key`, and its reason where the value is undefined."""
    target[key] = value
    if value is None:
        target[f"{key}_reason"] = reason or "empty_group"


def ends(interval: Interval | None) -> list[float] | None:
    if interval is None:
        return None
    if not (math.isfinite(interval.low) and math.isfinite(interval.high)):
        raise ValueError(f"an interval has the ends {interval.low} and {interval.high}")
    return [float(interval.low), float(interval.high)]


def how(interval: Interval | None) -> Json:
    """The method of an interval, so that readers can check it."""
    if interval is None:
        return {}
    facts = {
        "method": interval.method,
        "level": interval.level,
        "n_items": interval.n_items,
        "n_annotators": interval.n_annotators,
        "seed": interval.seed,
        "draws": interval.n_draws,
        "note": getattr(interval, "note", None),
    }
    return {key: value for key, value in facts.items() if value is not None}


def put_interval(
    target: Json, key: str, interval: Interval | None, reason: str | None = None
) -> None:
    """Set the ends of an interval and its method, or the reason why there is none."""
    put(target, key, ends(interval), reason)
    if interval is not None:
        target[f"{key}_made"] = how(interval)


def put_estimate(target: Json, key: str, result: Measured, ci: str = "") -> None:
    """Set `key` to a number, and `ci` (by default ``<key>_ci``) to its interval."""
    put(target, key, number(result.value), result.reason)
    reason = result.interval_reason or result.reason
    put_interval(target, ci or f"{key}_ci", result.interval, reason)


def estimate(result: Measured, key: str = "value") -> Json:
    """A number with its interval."""
    out: Json = {}
    put_estimate(out, key, result, "ci")
    return out


def tested(result: Tested) -> Json:
    """A number with its interval and the p of its test."""
    out = estimate(result)
    put(out, "p", number(result.p), result.interval_reason or result.reason)
    return out


def cell(share: Proportion, key: str = "accuracy", count: str = "correct") -> Json:
    """A share with its counts and interval."""
    return {"n": share.n, count: share.correct} | estimate(share, key)


def cells(accuracy: AccuracyCells, paper_compat: AccuracyCells) -> Json:
    """Accuracy overall, and of high, low and unstated certainty.

    `paper_compat` counts a missing certainty as low, which changes only the low cell.
    """
    return cell(accuracy.overall) | {
        "high": cell(accuracy.high),
        "low": cell(accuracy.low),
        "paper_compat": {"low": cell(paper_compat.low)},
        "no_certainty": accuracy.no_certainty.n,
        "at_threshold": accuracy.n_at_threshold,
    }


def pick(result: Any, names: Mapping[str, str]) -> Json:
    """Fields of a result under the report's names, each with the reason that the result gives."""
    out: Json = {}
    for key, name in names.items():
        put(out, key, getattr(result, name), result.reason)
    return out


def undefined(reason: str, *keys: str) -> Json:
    """Every key as null, all for one reason."""
    out: Json = {}
    for key in keys:
        put(out, key, None, reason)
    return out


def steps(report: Callable[[int, str], None], low: int, high: int) -> Callable[[float, str], None]:
    """Convert a part's progress from 0 to 1 into its range of percentages."""
    return lambda share, sentence: report(round(low + (high - low) * share), sentence)
