"""The chapter on annotators and judges."""

from collections.abc import Iterator, Mapping
from typing import Any

from analysis.report.section import Report, ReportPage, Section, Sentence
from analysis.report.sections.record.annotators import Annotators
from analysis.report.sections.record.items import ItemsSection
from analysis.report.sections.record.participation import Participation
from analysis.report.sections.record.reading import ReadingSection, reading_sentences
from analysis.report.sections.record.runs import Runs
from analysis.report.tables import ShownTable, compact
from analysis.report.text.names import run_names
from analysis.report.text.numbers import number_of, share_of


def _of_judges(report: Report) -> Iterator[str]:
    if not report["judges"]:
        yield "No judge was run, so there is nothing to compare people with."
    for name, judge in zip(run_names(report), report["judges"], strict=True):
        left = {
            key: n for key, n in judge["excluded"].items() if n and key not in {"tie", "no_truth"}
        }
        if judge["judgments"]["done"] == 0:
            words = ", ".join(f"{n} {WHY[key]}" for key, n in left.items())
            yield (
                f"{name} has no readable answer to any of {_items(judge['items'])} ({words}). It "
                "has no accuracy; that is not an accuracy of 0."
            )
        elif judge["items"] < report["inputs"]["items"]:
            yield (
                f"{name} was asked about {judge['items']} of {report['inputs']['items']} items; "
                "comparisons use the items that both sides decided."
            )


WHY = {
    "unparseable": "unreadable",
    "refused": "refused",
    "skipped": "skipped",
    "error": "failed",
    "open": "not yet asked",
}


def _items(n: int) -> str:
    return f"{n:,} item" if n == 1 else f"{n:,} items"


def _missing(report: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    failures = ("unparseable", "refused", "skipped", "error", "open")
    missing = []
    for name, judge in zip(run_names(report), report["judges"], strict=True):
        failed = sum(judge["excluded"][key] for key in failures)
        # A run without any answer has no accuracy and is named at the top of the page.
        if judge["n"] and failed / judge["items"] > MANY_MISSING:
            missing.append(f"{name} ({share_of(failed / judge['items'], judge['items'], 'item')})")
    if missing:
        yield (
            "missing",
            "Some runs have no answer to many items, and their accuracy is about the other items: "
            f"{'; '.join(missing)}.",
        )


def _conditions(report: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Runs with requests that differ from the settings, or with several models answering."""
    for name, judge in zip(run_names(report), report["judges"], strict=True):
        for sentence in judge["record"]["conditions"]:
            yield "conditions", f"{name}: {sentence}"


# With larger shares of unread or refused items, a run's accuracy covers only the easy items.
MANY_MISSING = 0.05


def _item_rows(report: Report, shown: ShownTable) -> Iterator[Any]:
    """The rows of the table of items, each with the values that the filters use."""
    for row, item in zip(shown.rows, report["items"], strict=False):
        sides = [
            [side["choice"], side["certainty"], {True: 1, False: 0, None: None}[side["correct"]]]
            for side in (item["people"], *item["judges"])
        ]
        groups = " ".join(f"{number}.{code}" for number, code in enumerate(item["groups"]))
        yield row, {"key": item["item"], "sides": compact(sides), "groups": groups}


def _excluded(report: Report) -> Iterator[tuple[str, str]]:
    if people := report["human"]["not_counted"].get("excluded_people", 0):
        yield (
            "excluded",
            f"{people} {'person is' if people == 1 else 'people are'} excluded. The multiverse "
            "says whether the headline would be the same with them.",
        )


def _pooled(report: Report) -> Iterator[tuple[str, str]]:
    """Who took part in several of the pooled studies, and of whom that cannot be known."""
    found = report["study"]["source"].get("pooled_people")
    if not found:
        return
    if n := found["in_several"]:
        words = number_of(n, "person")
        yield "pooled", f"{words} took part in several of the pooled studies, and each counts once."
    if n := found["repeated_answers"]:
        yield (
            "pooled",
            f"{number_of(n, 'answer')} to an item that the same person had answered in an earlier "
            "study are left out.",
        )
    if n := found["unknown"]:
        yield (
            "pooled_unknown",
            f"For {number_of(n, 'annotator')} no platform id was ever stored, so it cannot be "
            "known whether they took part in several of the pooled studies; they count once in "
            "each. If somebody did, the intervals are too narrow.",
        )


class Record(Section):
    """Participants, exclusions, and costs."""

    name = "record"
    title = "Annotators and judges"
    inside = "Who took part, exclusions, costs, each person, and each item"
    parts = (Participation(), Annotators(), Runs(), ReadingSection(), ItemsSection())

    def sentences(self, report: Report) -> Iterator[Sentence]:
        for text in _of_judges(report):
            yield Sentence.of("missing", text)
        more = (*_excluded(report), *_pooled(report), *reading_sentences(report))
        for code, text in (*_missing(report), *_conditions(report), *more):
            yield Sentence.of("limit", text, code)

    def context(self, page: ReportPage) -> Mapping[str, Any]:
        # Templates find the method “items” of a dictionary before the key “items”.
        shown = page.tables.get("items")
        rows = list(_item_rows(page.report, shown)) if shown else []
        return {"item_table": shown, "item_rows": rows}
