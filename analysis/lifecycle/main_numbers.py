"""Differences between reports: every value, and two versions of a report side by side."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from analysis.lifecycle.storage import report_dir
from analysis.models import Report
from analysis.report.tables import CellKind, in_general, read
from analysis.report.words import run_names
from studies.importers.files.lines import BadLine, table_rows

# The first of these keys that exists identifies a list entry. By position, a removed entry would
# shift all later ones.
NAMES = ("item", "rater", "run", "analysis", "limit", "value")
ABSENT = "–"


@dataclass(frozen=True)
class ReportDifference:
    """A changed value; “–” if missing on one side."""

    path: str
    then: Any
    now: Any


def differences(then: Any, now: Any, path: str = "") -> Iterator[ReportDifference]:
    """All values that differ between two reports, in the order of the first."""
    if isinstance(then, Mapping) and isinstance(now, Mapping):
        for key in [*then, *(key for key in now if key not in then)]:
            below = f"{path}.{key}" if path else str(key)
            yield from differences(then.get(key, ABSENT), now.get(key, ABSENT), below)
    elif isinstance(then, list) and isinstance(now, list):
        ours, theirs = _named(then), _named(now)
        for name in [*ours, *(name for name in theirs if name not in ours)]:
            below = f"{path}[{name}]"
            yield from differences(ours.get(name, ABSENT), theirs.get(name, ABSENT), below)
    elif then != now:
        yield ReportDifference(path, _brief(then), _brief(now))


def _named(entries: Sequence[Any]) -> dict[str, Any]:
    """The entries of a list by name, or by position without one."""
    for key in NAMES:
        if entries and all(isinstance(entry, Mapping) and key in entry for entry in entries):
            names = [str(entry[key]) for entry in entries]
            if len(set(names)) == len(names):
                return dict(zip(names, entries, strict=True))
    return {str(number): entry for number, entry in enumerate(entries)}


def _brief(value: Any) -> Any:
    """A value in one line."""
    if isinstance(value, Mapping | list):
        return f"({len(value)} values)"
    return value


SHOWN = 100
# Data, records and descriptions are not listed, because readers compare numbers.
LISTED_FIRST = ("inputs", "seed", "parameters", "study", "human", "judges", "comparison")
NOT_LISTED = (
    "items",
    "deviations",
    "software",
    "registration",
    "headline",
    "certainty_headline",
    "bands",
)


@dataclass(frozen=True)
class ComparedRow:
    """A number in both versions as text; “–” if a version has none."""

    label: str
    before: str
    after: str
    is_changed: bool


@dataclass(frozen=True)
class VersionComparison:
    """Changes in how the reports were made, in their main numbers, and in every value.

    `n_items` is the number of changed items, which are not listed; None if the files of a report
    are gone.
    """

    made: list[ComparedRow]
    found: list[ComparedRow]
    changes: list[ReportDifference]
    n_changes: int
    n_items: int | None


def compare_reports(first: Report, second: Report) -> VersionComparison:
    before, after = first.result or {}, second.result or {}
    listed = list(differences(_listed(before), _listed(after)))
    return VersionComparison(
        made=_rows(dict(_made(before)), dict(_made(after))),
        found=_rows(dict(_found(before)), dict(_found(after))),
        changes=listed[:SHOWN],
        n_changes=len(listed),
        n_items=_changed_items(first, second),
    )


def main_numbers(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[ComparedRow]:
    """How two reports were made and what they found, as rows of text."""
    rows = _rows(dict(_made(before)), dict(_made(after)))
    kept = [row for row in rows if row.label not in ("Hash of the inputs", "Software version")]
    return [*kept, *_rows(dict(_found(before)), dict(_found(after)))]


def _changed_items(first: Report, second: Report) -> int | None:
    """Number of rows that differ in the item tables; None if a report has no files."""
    try:
        old, new = _item_rows(first), _item_rows(second)
    except OSError:
        return None
    return sum(old.get(key) != new.get(key) for key in old | new)


def _item_rows(report: Report) -> dict[str, int]:
    """A hash of each row by item key, because the rows may take a hundred megabytes."""
    path = report_dir(report.public_id) / "tables" / "items.csv"
    with path.open() as file:
        rows = (found[1] for found in table_rows(file, path.name) if not isinstance(found, BadLine))
        return {row["Item"]: hash(tuple(row.values())) for row in rows}


def _listed(report: Mapping[str, Any]) -> dict[str, Any]:
    """The keys compared value by value, in a fixed order because a database may change it."""
    rest = sorted(key for key in report if key not in (*LISTED_FIRST, *NOT_LISTED))
    return {key: report[key] for key in (*LISTED_FIRST, *rest) if key in report}


def _rows(before: Mapping[str, str], after: Mapping[str, str]) -> list[ComparedRow]:
    labels = [*before, *(label for label in after if label not in before)]
    pairs = [(label, before.get(label, "–"), after.get(label, "–")) for label in labels]
    return [ComparedRow(label, old, new, old != new) for label, old, new in pairs]


def _made(report: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    inputs, parameters = report["inputs"], report["parameters"]
    for label, key in (
        ("Items", "items"),
        ("Answers of annotators", "annotations"),
        ("Judgments", "judgments"),
        ("Judge runs", "runs"),
    ):
        yield label, f"{inputs[key]:,}"
    counts = report["human"]["not_counted"]
    yield "Excluded annotators", f"{counts.get('excluded_people', 0):,}"
    yield "Withdrawn answers", f"{counts.get('withdrawn', 0):,}"
    yield "High-certainty threshold", f"{parameters['threshold']}"
    yield "Equivalence margin", f"{parameters['margin'] * 100:g} points"
    yield "Resamples, seed", f"{parameters['bootstrap']:,}, {report['seed']}"
    yield "Hash of the inputs", f"{inputs['hash'][:12]}…"
    software = report["software"]
    yield "Software version", f"{software['thirdperson']}, code {software.get('code', '–')[:12]}"


def _found(report: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    human = report["human"]
    for label, side in (
        ("Majority of annotators", "majority"),
        ("Single annotators", "individual"),
    ):
        yield from _side(label, _in_general(human[side]))
    agreement = human["agreement"]
    yield "Agreement of two annotators", _text(agreement["percent"], "percent")
    yield "Krippendorff's alpha", _text(agreement["krippendorff_alpha"]["value"], "decimal")
    names = run_names(report)
    for name, judge, versus in zip(names, report["judges"], report["comparison"], strict=True):
        yield from _side(name, _in_general(judge))
        difference = versus["difference_general"]
        gap = _text(versus["difference"]["value"], "points")
        yield f"{name} minus majority, points", f"{gap} ({_text(difference['ci'], 'points_range')})"


def _side(label: str, side: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    yield label, _share(side)
    yield f"{label}, high certainty", _share(side["high"])


def _in_general(side: Mapping[str, Any]) -> dict[str, Any]:
    """The cell with intervals for new items, for all answers and high-certainty ones."""
    return {**in_general(side), "high": in_general(side["high"])}


def _share(cell: Mapping[str, Any]) -> str:
    shown = read(cell, "share")
    return " ".join((shown.text, *shown.below))


def _text(value: Any, kind: CellKind) -> str:
    return read(value, kind).text
