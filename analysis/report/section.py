"""The base class of a report's sections: each handles its subject from the arrays to the page.

A chapter is a section with a title and a template. A large chapter has parts: sections that compute
and show content for the chapter's template.
"""

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date as Date
from typing import Any, Literal, Protocol, TypeVar

from analysis.report.figures import Figure
from analysis.report.quantities import Text, bare
from analysis.report.report_json import Json, ReportJson
from analysis.report.rules import CHAPTERS, analysis_titles, parts_of
from analysis.report.study import ReportedStudy
from analysis.report.tables import ShownTable, Table

logger = logging.getLogger(__name__)

Made = TypeVar("Made")
# Whether an exception in a part ends the whole report, as in tests.
RAISES = False

# The top of the page, the head of the chapter, “What is missing here”, the methods, the limits, and
# wherever the section's own template has it.
SentencePlace = Literal["headline", "finding", "missing", "methods", "limit", "own"]


@dataclass(frozen=True)
class Sentence:
    """A sentence of the report, its place, and for a limit its code in report.json."""

    place: SentencePlace
    text: Text
    code: str = ""

    @classmethod
    def of(cls, place: SentencePlace, words: str, code: str = "") -> "Sentence":
        """Create a sentence whose numbers have no link to their place in report.json."""
        return cls(place, bare(words), code)


@dataclass(frozen=True)
class Analysis:
    """One of `analysis_titles()`: the tables and the keys of report.json that show it.

    `paths` are prefixes of paths in report.json, with `*` for any list position; `uses` names the
    parameters that change its numbers. It was computed if one of its `main` numbers is defined, or,
    if it names none, any number below its paths.
    """

    code: str
    tables: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    uses: tuple[str, ...] = ()
    main: tuple[str, ...] = ()

    @property
    def label(self) -> str:
        return analysis_titles()[self.code]

    def __add__(self, other: "Analysis") -> "Analysis":
        """The analysis with what a part of an extra adds to it."""
        tables, paths = (*self.tables, *other.tables), (*self.paths, *other.paths)
        return replace(self, tables=tables, paths=paths, main=(*self.main, *other.main))


# The table row that shows a number: the run's, or no single row.
RUN, WHOLE = "run", ""


@dataclass(frozen=True)
class NumberSource:
    """The table and row that show the numbers below a path of report.json."""

    path: str
    table: str
    row: str = WHOLE


@dataclass(frozen=True)
class ReportPage:
    """The page that shows a section."""

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


class OwnPage(Protocol):
    """A page of its own about a report, with neither scripts nor files."""

    name: str
    title: str

    def html(
        self,
        report: ReportJson,
        *,
        date: Date,
        asked_on: Mapping[str, str],
        judge: str = "",
        is_served: bool = False,
    ) -> str:
        """The page; `asked_on` has the days on which runs asked their models, by the run's hash.

        `judge` chooses a run by its name or hash, or by its judge. A served page links to itself
        for the other runs, with `?judge=`. Raises `BadParameters` if there is no such run.
        """


class Section:
    """One subject of a report. `name` is its anchor in the page and the name of its template.

    Claims of an extra are tested with all others through `claims`; the `caveat` of its chapter is
    shown on the first screen.

    `keys` describes what `compute` adds to report.json, one line per key as in
    `analysis/report/keys.txt`, which covers the core's sections. `needs` names sections whose
    results `compute` reads; otherwise sections are computed in reading order. `has_threshold` puts
    a chapter below the slider of thresholds.

    `subsections` are sections that the chapter shows under their own titles, after its own content.

    A part that an extra adds to a chapter `shows` tables and figures there, by their names or
    patterns such as “group_*”. It can draw into a figure of the core, which it `redraws`.

    An extra's section that `has_claims` returns their tests, and must not need the claims itself.
    The section that `collects_claims` is computed after those that have them.

    A chapter's tables and figures are folded, and `inside` lists them; `is_open` shows them. Prints
    include those of chapters that are open or `is_printed`, and others on request.
    """

    name: str
    title: str = ""
    needs: Sequence[str] = ()
    parts: Sequence["Section"] = ()
    analyses: Sequence[Analysis] = ()
    sources: Sequence[NumberSource] = ()
    shows: Sequence[str] = ()
    redraws = ""
    keys = ""
    has_threshold = False
    has_claims = False
    collects_claims = False
    inside = "Tables and figures"
    is_open = False
    is_printed = False

    def __init__(self, *subsections: "Section") -> None:
        self.subsections = subsections

    @property
    def template(self) -> str:
        return f"analysis/report/sections/{self.name}.html"

    def is_needed(self, report: ReportJson) -> bool:
        """Whether the page has this chapter; chapters about rare designs are left out elsewhere."""
        return True

    def compute(self, study: ReportedStudy, earlier: ReportJson) -> Json:
        """Compute the section's part of report.json; lists of runs are merged by entry."""
        return {}

    def claims(self, report: ReportJson) -> Mapping[str, Sequence[float | None]]:
        """Adjusted p values of the differences that an extra's chapter may claim, by kind."""
        return {}

    def tables(self, report: ReportJson) -> Iterable[Table]:
        return ()

    def figures(self, report: ReportJson) -> Iterable[Figure | None]:
        return ()

    def redraw(self, figure: Figure, report: ReportJson) -> Figure:
        """The figure of the core with what this part draws into it."""
        return figure

    def sentences(self, report: ReportJson) -> Iterable[Sentence]:
        return ()

    def caveat(self, report: ReportJson) -> str:
        """The chapter's caveat for the first screen; empty without one."""
        return ""

    def context(self, page: ReportPage) -> Mapping[str, Any]:
        """Values for the template in addition to the report, its tables and its figures."""
        return {}


# Whether the extra of this name is on.
IsOn = Callable[[str], bool]


def everything(extra: str) -> bool:
    return True


def on_in(report: ReportJson) -> IsOn:
    """Which extras a report has: all, in one that does not say, which an older version built."""
    names = report["study"].get("extras")
    return everything if names is None else frozenset(names).__contains__


def with_parts(sections: Iterable[Section], is_on: IsOn = everything) -> Iterator[Section]:
    """Every section, followed by its parts and then by its subsections with theirs."""
    for section in sections:
        yield section
        yield from parts_of(section.name).among(section.parts, is_on)
        yield from with_parts(section.subsections, is_on)


def of_extras(is_on: IsOn = everything) -> Iterator["Section"]:
    """The chapters of extras, and their parts of chapters."""
    yield from CHAPTERS.added(is_on)
    for chapter in CHAPTERS.where(is_on):
        for section in (chapter, *chapter.subsections):
            yield from parts_of(section.name).added(is_on)


def attempted(
    make: Callable[[], Made], *, part: str, failed: list[str] | None = None
) -> Made | None:
    """The result of `make`, such that a failing part never fails the whole report.

    An exception is logged, the part's name is added to `failed`, and None is returned.
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
    """The sentence about a failed part, for the list of what is missing."""
    return (
        f"The part “{name.replace('_', ' ')}” could not be made because of a program error. All "
        "other parts are complete. The log of the program that built the report has the details."
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
