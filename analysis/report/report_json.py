"""The file report.json: results as JSON, meanings of keys, and a copy without people.

Sections choose the keys of results; this module turns numbers, intervals, counts and p into JSON.

`keys.txt` has one line per key: name, type and meaning. A name can start with the keys above it, if
it has another meaning elsewhere, and `*` is a name that depends on the study. An extra's section
declares its lines in `keys`. Keys that end in `_reason`, `_ci` or `_made` need no line.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import repeat
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from analysis.stats.accuracy.bands import AccuracyCells
    from analysis.stats.core.results import Interval, Proportion


Json = dict[str, Any]
# A whole report.json, which nobody changes.
ReportJson = Mapping[str, Any]


class Measured(Protocol):
    """The common fields of estimates, shares and differences."""

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
    """A float for JSON; infinite values and NaN are errors."""
    if value is None:
        return None
    if not math.isfinite(value):
        raise ValueError(f"a statistic returned {value}")
    return float(value)


def put(target: Json, key: str, value: Any, reason: str | None = None) -> None:
    """Set `key`, and its reason if the value is undefined."""
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
    """Set an interval's ends and method, or the reason why there is none."""
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
    """A result's fields under the report's names, each with the result's reason."""
    out: Json = {}
    for key, name in names.items():
        put(out, key, getattr(result, name), result.reason)
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


# Longer lists hold rows of items or people. Python writes one line many times faster than indented
# entries.
LONG = 100
LINES = 1000  # of a long list, made at once

_line = json.JSONEncoder(ensure_ascii=False, allow_nan=False).encode


def to_json(result: Mapping[str, Any]) -> str:
    """The text of report.json: keys in insertion order, full precision, never NaN."""
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
    excluded = [{**each, "rater": "", "reason": ""} for each in known.get("exclusions", [])]
    human = {**known, "raters": [], "quotas": [], "exclusions": excluded}
    if view := report.get("view"):
        named = {"without_people": [], "name": ""}
        report = {**report, "view": {**view, "filters": {**view["filters"], **named}}}
    if left_out := report.get("items_left_out"):
        report = {**report, "items_left_out": [{**each, "reason": ""} for each in left_out]}
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
        "who_judges_whom": [_fewer_columns(table) for table in report.get("who_judges_whom", ())],
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


def _fewer_columns(table: Mapping[str, Any]) -> Json:
    """Cross-group tables without small groups of personas; annotator groups are already large."""
    kept = [
        place
        for place in range(len(table["columns"]))
        if any(row["cells"][place]["personas"] >= FEWEST_PERSONAS for row in table["rows"])
    ]
    return {
        **table,
        "columns": [table["columns"][place] for place in kept],
        "rows": [
            {**row, "cells": [row["cells"][place] for place in kept]} for row in table["rows"]
        ],
    }


FILE = Path(__file__).with_name("keys.txt")
# One function writes every interval's method, so it is described once.
_MADE = "_made"


@dataclass(frozen=True)
class Described:
    """A key with the type and meaning of its values; `chapter` is the heading above it."""

    name: str
    kind: str
    meaning: str
    chapter: str

    @cached_property
    def parts(self) -> tuple[str, ...]:
        return tuple(self.name.split("."))


def parse(text: str, chapter: str = "") -> Iterator[Described]:
    """The keys described by lines; a line that starts with # is a chapter heading."""
    for line in filter(None, map(str.strip, text.splitlines())):
        if line.startswith("#"):
            chapter = line.lstrip("# ")
        else:
            name, kind, meaning = (part.strip() for part in line.split("|"))
            yield Described(name, kind, meaning, chapter)


@cache
def described() -> tuple[Described, ...]:
    """Every key of the core's sections, in file order."""
    return tuple(parse(FILE.read_text("utf-8")))


class Keys:
    """Finds the description of a path in report.json."""

    def __init__(self, known: Iterable[Described]) -> None:
        self._by_last: dict[str, list[Described]] = {}
        for entry in sorted(known, key=lambda entry: -len(entry.parts)):
            self._by_last.setdefault(entry.parts[-1], []).append(entry)

    def find(self, path: tuple[str, ...]) -> Described | None:
        """The line that shares the most keys with the end of the path; None if none does."""
        last = path[-1]
        if any(part.endswith(_MADE) for part in path[:-1]):
            return self._best(path) or _ABOUT_INTERVALS
        if found := self._best(path):
            return found
        for ending, entry in _ENDINGS.items():
            if last.endswith(ending) or last == ending[1:]:
                return entry
        return None

    def _best(self, path: tuple[str, ...]) -> Described | None:
        named = self._by_last.get(path[-1], [])
        wild = self._by_last.get("*", [])
        fits = (entry for entry in (*named, *wild) if _fits(entry.parts, path))
        return max(fits, key=_how_exact, default=None)


def _how_exact(entry: Described) -> tuple[bool, int]:
    """A full name comes before a star, and a longer name before a shorter one."""
    return "*" != entry.parts[-1], len(entry.parts)


def _fits(parts: tuple[str, ...], path: tuple[str, ...]) -> bool:
    """Whether the path has these keys in this order and ends with the last.

    Other keys may come between: `human.coverage` is also any coverage inside `human`.
    """
    if parts[-1] not in ("*", path[-1]):
        return False
    above = iter(path[:-1])
    if parts[-1] == "*":
        return len(path) > 1 and parts[-2] == path[-2] and _in_order(parts[:-2], path[:-2])
    return all(part in ("*",) or part in above for part in parts[:-1])


def _in_order(parts: tuple[str, ...], path: tuple[str, ...]) -> bool:
    above = iter(path)
    return all(part in above for part in parts)


_ENDINGS: Mapping[str, Described] = {
    "_reason": Described("…_reason", "text", "Why the value of that name is null.", ""),
    "_made": Described("…_made", "object", "How the interval of that name was made.", ""),
    "_ci": Described("…_ci", "interval", "The 95 % interval: lower and upper end.", ""),
}
ENDINGS = tuple(_ENDINGS.values())
_ABOUT_INTERVALS = _ENDINGS["_made"]


def paths(value: Any, above: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Every path in a report, without list positions."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            place = (*above, str(key))
            yield place
            yield from paths(inner, place)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from paths(inner, above)
