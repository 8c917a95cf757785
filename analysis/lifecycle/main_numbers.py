"""The main numbers of two reports side by side: how they were made, and what they found."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from analysis.report.tables import CellKind, in_general, read
from analysis.report.words import run_names


@dataclass(frozen=True)
class ComparedRow:
    """A number in both versions as text; “–” if a version has none."""

    label: str
    before: str
    after: str
    is_changed: bool


def main_numbers(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[ComparedRow]:
    """How two reports were made and what they found, as rows of text."""
    settings = compare_settings(before, after)
    kept = [row for row in settings if row.label not in ("Hash of the inputs", "Software version")]
    return [*kept, *compare_results(before, after)]


def compare_settings(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[ComparedRow]:
    return _rows(dict(_made(before)), dict(_made(after)))


def compare_results(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[ComparedRow]:
    return _rows(dict(_found(before)), dict(_found(after)))


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
        ("Majority of people", "majority"),
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
    cells = read(cell, "share")
    return " ".join((cells.text, *cells.below))


def _text(value: Any, kind: CellKind) -> str:
    return read(value, kind).text
