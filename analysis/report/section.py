"""The base class of a report's sections: each handles its subject from the arrays to the page.

A chapter of the page is a section with a title and a template. A large chapter has parts: sections
without a page of their own, which compute and show content for the chapter's template.
"""

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date as Date
from typing import Any, Literal, TypeVar

from analysis.report.figures import Figure
from analysis.report.report_json import Json, ReportJson
from analysis.report.rules import ANALYSES, MORE_PARTS
from analysis.report.sentences import Text
from analysis.report.study import ReportedStudy
from analysis.report.tables import ShownTable, Table

logger = logging.getLogger(__name__)

Made = TypeVar("Made")
# Whether a fault of a part ends the whole report, as in tests of the parts.
RAISES = False

# The top of the page, the head of the chapter, “What is missing here”, the methods, the limits.
SentencePlace = Literal["headline", "finding", "missing", "methods", "limit"]


@dataclass(frozen=True)
class Sentence:
    """A sentence of the report, where it belongs, and the code that report.json gives a limit."""

    place: SentencePlace
    text: Text
    code: str = ""

    @classmethod
    def of(cls, place: SentencePlace, words: str, code: str = "") -> "Sentence":
        """Create a sentence whose numbers have no link to their place in report.json."""
        return cls(place, Text(((words, ""),)), code)


@dataclass(frozen=True)
class Analysis:
    """One of `ANALYSES`: the tables and the keys of report.json that show it.

    `paths` are the beginnings of keys of report.json, with `*` for any place in a list; `uses`
    names the parameters that change its numbers.
    """

    code: str
    tables: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    uses: tuple[str, ...] = ()

    @property
    def label(self) -> str:
        return ANALYSES[self.code]


# The row of the table that shows a number: that of the run, or no single row.
RUN, WHOLE = "run", ""


@dataclass(frozen=True)
class NumberSource:
    """The table and the row that show the numbers whose path in report.json begins so."""

    path: str
    table: str
    row: str = WHOLE


@dataclass(frozen=True)
class ReportPage:
    """The page that a section is shown on."""

    report: ReportJson
    tables: Mapping[str, ShownTable]
    figures: Mapping[str, Figure]
    date: Date
    asked_on: Mapping[str, str]

    @property
    def has_truth(self) -> bool:
        """Whether answers can be right or wrong."""
        inputs: Mapping[str, Any] = self.report["inputs"]
        return bool(inputs["truth"]["unknown"] < inputs["items"])


class Section:
    """One subject of a report. `name` is its anchor in the page and the name of its template.

    A chapter that is not part of the product has its claims tested with all others by `claims`,
    and states its `caveat` on the first screen.

    `keys` describes what `compute` adds to report.json, one line for each key as in
    `analysis/report/keys.txt`, which has those of the product's own sections.
    `needs` names the sections whose results `compute` reads; sections are computed in reading
    order otherwise. `has_threshold` puts a chapter below the slider of thresholds.

    A part that an extra adds to a chapter `shows` tables there, by their names.

    An extra's section that `has_claims` hands in the tests behind them, and needs no claims itself.

    A chapter's tables and figures are folded, and `inside` says what there is; `is_open` shows them
    at once. Paper has those of chapters that are open or `is_printed`, and all others on request.
    """

    name: str
    title: str = ""
    needs: Sequence[str] = ()
    parts: Sequence["Section"] = ()
    analyses: Sequence[Analysis] = ()
    sources: Sequence[NumberSource] = ()
    shows: Sequence[str] = ()
    keys = ""
    has_threshold = False
    has_claims = False
    inside = "Tables and figures"
    is_open = False
    is_printed = False

    @property
    def template(self) -> str:
        return f"analysis/report/sections/{self.name}.html"

    def is_needed(self, report: ReportJson) -> bool:
        """Whether the page has this chapter; one about a rare design is left out of the others."""
        return True

    def compute(self, study: ReportedStudy, earlier: ReportJson) -> Json:
        """Compute the section's part of report.json; lists of runs are merged entry by entry."""
        return {}

    def claims(self, report: ReportJson) -> Mapping[str, Sequence[float | None]]:
        """The adjusted p values of what an extra's chapter may say differs, by kind of claim."""
        return {}

    def tables(self, report: ReportJson) -> Iterable[Table]:
        return ()

    def figures(self, report: ReportJson) -> Iterable[Figure | None]:
        return ()

    def sentences(self, report: ReportJson) -> Iterable[Sentence]:
        return ()

    def caveat(self, report: ReportJson) -> str:
        """What readers must know first, on the first screen; empty where there is nothing."""
        return ""

    def context(self, page: ReportPage) -> Mapping[str, Any]:
        """Values for the template in addition to the report, its tables and its figures."""
        return {}


def with_parts(sections: Iterable[Section]) -> Iterator[Section]:
    """Every section, followed by its parts."""
    for section in sections:
        yield section
        yield from MORE_PARTS[section.name].among(section.parts)


def attempted(
    make: Callable[[], Made], *, part: str, failed: list[str] | None = None
) -> Made | None:
    """What `make` returns; a part of a report that fails never takes the report with it.

    A fault goes to the log; then the name of the part is added to `failed`, and nothing is
    returned.
    """
    try:
        return make()
    except Exception:
        if RAISES:
            raise
        logger.exception("The part “%s” of a report failed.", part)
        if failed is not None and part not in failed:
            failed.append(part)
        return None


def part_words(name: str) -> str:
    """The sentence about a part that failed, where the page says what is missing."""
    return (
        f"The part “{name.replace('_', ' ')}” could not be made because of a fault of the program. "
        "All other parts are here. The log of the program that built the report has the details."
    )


def merge(report: Json, more: Mapping[str, Any], path: str = "") -> None:
    """Add what a section computed to `report`.

    Raises `ValueError` if two sections compute the same key.
    """
    for key, value in more.items():
        if key not in report:
            report[key] = value
            continue
        where, there = f"{path}.{key}" if path else key, report[key]
        pairs = [(there, value)]
        if isinstance(there, list) and isinstance(value, list) and len(there) == len(value):
            pairs = list(zip(there, value, strict=True))
        for entry, addition in pairs:
            if not (isinstance(entry, dict) and isinstance(addition, Mapping)):
                raise ValueError(f"two sections compute {where}")
            merge(entry, addition, where)
