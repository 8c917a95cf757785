"""The file report.json: results as JSON, and a copy without people.

Sections choose the keys of results; this module turns numbers, intervals, counts and p into JSON.
`keys.txt` describes the keys.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping
from itertools import repeat
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from analysis.stats.core.results import Interval, Proportion


Json = dict[str, Any]
# A whole report.json, which nobody changes.
ReportJson = Mapping[str, Any]


class WithInterval(Protocol):
    """A result with its interval, or the reason for none."""

    @property
    def reason(self) -> str | None: ...
    @property
    def interval(self) -> Interval | None: ...
    @property
    def interval_reason(self) -> str | None: ...


class Measured(WithInterval, Protocol):
    """The common fields of estimates, shares and differences."""

    @property
    def value(self) -> float | None: ...


class Tested(Measured, Protocol):
    """Such a result with the p of a test that it is 0."""

    @property
    def p(self) -> float | None: ...


def number(value: float | None) -> float | None:
    """A float for JSON; infinite values and NaN are errors."""
    if value is None:
        return None
    if not math.isfinite(value):
        raise ValueError(f"a statistic returned {value}")
    return float(value)


def put(target: Json, key: str, value: Any, reason: str | None = None) -> None:
    """Set `key`, and its reason if the value is undefined; infinite values and NaN are errors."""
    target[key] = number(value) if isinstance(value, float) else value
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
    """Set an interval's ends and method, or the reason why there is none."""
    put(target, key, ends(interval), reason)
    if interval is not None:
        target[f"{key}_made"] = how(interval)


def put_ci(target: Json, key: str, result: WithInterval) -> None:
    """Set `key` to a result's interval alone."""
    put_interval(target, key, result.interval, why(result))


def why(result: WithInterval) -> str | None:
    """Why a result has no interval, and so no test."""
    return result.interval_reason or result.reason


def put_estimate(target: Json, key: str, result: Measured, ci: str = "") -> None:
    """Set `key` to a number, and `ci` (by default ``<key>_ci``) to its interval."""
    put(target, key, result.value, result.reason)
    put_ci(target, ci or f"{key}_ci", result)


def estimate(result: Measured, key: str = "value") -> Json:
    """A number with its interval."""
    out: Json = {}
    put_estimate(out, key, result, "ci")
    return out


def tested(result: Tested) -> Json:
    """A number with its interval and the p of its test."""
    out = estimate(result)
    put(out, "p", result.p, why(result))
    return out


def cell(share: Proportion, key: str = "accuracy", count: str = "correct") -> Json:
    """A share with its counts and interval."""
    return {"n": share.n, count: share.correct} | estimate(share, key)


def pick(result: Any, names: str | Mapping[str, str], reason: str | None = None) -> Json:
    """A result's fields, by default each undefined one with the result's own reason.

    `names` are those of the fields, or the report's names for them.
    """
    out: Json = {}
    for key, name in ({n: n for n in names.split()} if isinstance(names, str) else names).items():
        put(out, key, getattr(result, name), reason or getattr(result, "reason", None))
    return out


def undefined(reason: str, *keys: str) -> Json:
    """All keys as null, with one reason."""
    out: Json = {}
    for key in keys:
        put(out, key, None, reason)
    return out


def steps(report: Callable[[int, str], None], low: int, high: int) -> Callable[[float, str], None]:
    """Convert a part's progress (0 to 1) into its range of percentages."""
    return lambda share, sentence: report(round(low + (high - low) * share), sentence)


# Processors sum in other orders, which shows from the thirteenth digit.
DIGITS = 10


def rounded(value: Any) -> Any:
    """A copy with `DIGITS` digits in every number, so that two processors give the same report."""
    if isinstance(value, float):
        return float(f"{value:.{DIGITS}g}")
    if isinstance(value, Mapping):
        return {key: rounded(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [rounded(entry) for entry in value]
    return value


# Longer lists hold rows of items or people. Python writes one line many times faster than indented
# entries.
LONG = 100
LINES = 1000  # of a long list, made at once

_line = json.JSONEncoder(ensure_ascii=False, allow_nan=False).encode


def to_json(result: Mapping[str, Any]) -> str:
    """The text of report.json: keys in insertion order, never NaN."""
    return "".join(json_parts(result))


def json_parts(result: Mapping[str, Any]) -> Iterator[str]:
    """The same text in parts, so that a file can be written without holding it all in memory."""
    yield from _parts(result, "\n")
    yield "\n"


def _parts(value: Any, line: str) -> Iterator[str]:
    """The text of a value; `line` is a line break with the value's indentation."""
    within = f"{line} "
    if isinstance(value, Mapping) and value:
        yield "{"
        for comma, (key, entry) in zip(_commas(), value.items(), strict=False):
            # JSON keys are strings: 60 becomes "60".
            yield f"{comma}{within}{_line(key if isinstance(key, str) else _line(key))}: "
            yield from _parts(entry, within)
        yield f"{line}}}"
    elif isinstance(value, list | tuple) and value:
        yield "["
        if len(value) > LONG:
            for start in range(0, len(value), LINES):
                yield f"{',' if start else ''}{within}"
                yield f",{within}".join(map(_line, value[start : start + LINES]))
        else:
            for comma, entry in zip(_commas(), value, strict=False):
                yield f"{comma}{within}"
                yield from _parts(entry, within)
        yield f"{line}]"
    else:
        yield _line(value)


def _commas() -> Iterator[str]:
    """The separator before each entry; empty before the first."""
    yield ""
    yield from repeat(",")


# A value shared by fewer personas could identify somebody.
FEWEST_PERSONAS = 5


def without_people(report: Mapping[str, Any]) -> Json:
    """Copy `report` without annotators, items and small groups of personas, as noted in `redacted`.

    Items are about real people, so their questions, answers and features are removed as well.
    """
    # A reason is a researcher's free text, which may name anybody.
    known = report.get("human", {})
    excluded = [{**entry, "rater": "", "reason": ""} for entry in known.get("exclusions", [])]
    human = {**known, "raters": [], "quotas": [], "exclusions": excluded}
    if view := report.get("view"):
        named = {"without_people": [], "name": ""}
        report = {**report, "view": {**view, "filters": {**view["filters"], **named}}}
    if left_out := report.get("items_left_out"):
        report = {**report, "items_left_out": [{**entry, "reason": ""} for entry in left_out]}
    errors = report.get("group_errors")
    if errors is not None:
        sides = (errors["people"], *errors["judges"])
        people, *judges = (
            [one for one in side if one["personas"] >= FEWEST_PERSONAS] for side in sides
        )
        report = {**report, "group_errors": {"people": people, "judges": judges}}
    return {
        **report,
        "human": human,
        "items": [],
        "groups": [_coarse(table) for table in report.get("groups", ())],
        "redacted": [
            "human.raters",
            "human.quotas",
            "human.exclusions.rater",
            "human.exclusions.reason",
            "items_left_out.reason",
            "view.filters.without_people",
            "items",
            "groups of fewer than five personas",
        ],
    }


def _coarse(table: Mapping[str, Any]) -> Json:
    """A table of groups without groups of fewer than five personas."""
    if table["by"] != "feature":
        return dict(table)
    kept = [row for row in table["rows"] if row["personas"] >= FEWEST_PERSONAS]
    names = {row["value"] for row in kept}
    differences = table["differences"]

    def among(pairs: list[Json]) -> list[Json]:
        return [pair for pair in pairs if {pair["first"], pair["second"]} <= names]

    return {
        **table,
        "rows": kept,
        "differences": {
            "people": among(differences["people"]),
            "judges": [among(pairs) for pairs in differences["judges"]],
        },
    }
