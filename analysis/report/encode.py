"""Results as JSON: null with a reason next to it, never NaN, nothing rounded."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from analysis.stats.accuracy.bands import AccuracyCells
    from analysis.stats.core.results import Estimate, Interval, Proportion

Json = dict[str, Any]


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


def put_estimate(target: Json, key: str, result: Estimate) -> None:
    """Set `key` to a number and ``<key>_ci`` to its interval."""
    put(target, key, number(result.value), result.reason)
    put_interval(target, f"{key}_ci", result.interval, result.interval_reason or result.reason)


def cell(share: Proportion, key: str = "accuracy") -> Json:
    """A share with its counts and interval."""
    out: Json = {"n": share.n, "correct": share.correct}
    put(out, key, number(share.value), share.reason)
    put_interval(out, "ci", share.interval, share.interval_reason or share.reason)
    return out


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


def estimate(result: Estimate, key: str = "value") -> Json:
    """A number with its interval."""
    out: Json = {}
    put(out, key, number(result.value), result.reason)
    put_interval(out, "ci", result.interval, result.interval_reason or result.reason)
    return out


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
