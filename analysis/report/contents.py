"""The combined contents of all sections: analyses, tables, figures, sentences."""

from collections.abc import Callable, Container, Iterable, Iterator
from graphlib import TopologicalSorter
from typing import TypeVar

from analysis.report.chapters import MORE
from analysis.report.figures import Figure
from analysis.report.section import (
    Analysis,
    NumberSource,
    Place,
    Report,
    Section,
    Sentence,
    attempted,
    with_parts,
)
from analysis.report.sections import SECTIONS
from analysis.report.sources import sources_table
from analysis.report.tables import Table

Content = TypeVar("Content")


def all_chapters() -> list[Section]:
    """The chapters of the core and of extras, in reading order."""
    return MORE.among(SECTIONS)


def sections() -> list[Section]:
    """Every section and part, in reading order."""
    return list(with_parts(all_chapters()))


def made_sections(report: Report) -> list[Section]:
    """The sections whose part of report.json is there: those that failed have no contents."""
    return [section for section in sections() if section.name not in report.get("failed_parts", ())]


def _each(
    section: Section,
    contents: Callable[[Report], Iterable[Content]],
    report: Report,
    failed: list[str] | None,
) -> list[Content]:
    """One kind of contents of a section; none of it if it cannot be made."""
    made = attempted(lambda: list(contents(report)), part=section.name, failed=failed)
    return [] if made is None else made


def in_order_of_computing() -> list[Section]:
    """The same sections, each after the sections that it needs."""
    named = {section.name: section for section in sections()}
    # A chapter may need one of an extra that is not there.
    needs = {
        name: [other for other in section.needs if other in named]
        for name, section in named.items()
    }
    # All claims are tested together, those of extras too.
    claiming = [chapter.name for chapter in MORE if type(chapter).claims is not Section.claims]
    needs["claims"] += claiming
    return [named[name] for name in TopologicalSorter(needs).static_order()]


def analyses() -> list[Analysis]:
    """The analyses that a plan can name."""
    return [analysis for section in sections() for analysis in section.analyses]


def all_sources() -> list[NumberSource]:
    return [source for section in sections() for source in section.sources]


def all_tables(report: Report, failed: list[str] | None = None) -> dict[str, Table]:
    """Every table of report.json by its name; tables without rows are left out.

    Sections whose tables cannot be made are added to `failed`, as by the functions below.
    """
    made = [table for s in made_sections(report) for table in _each(s, s.tables, report, failed)]
    sentences = list(all_sentences(report))
    sources = attempted(
        lambda: sources_table(report, sentences, all_sources()), part="sources", failed=failed
    )
    if sources is not None:
        made.append(sources)
    return {table.name: table for table in made if table.rows}


def all_figures(report: Report, failed: list[str] | None = None) -> dict[str, Figure]:
    """Every figure by its name; figures without anything to draw are left out."""
    made = [plot for s in made_sections(report) for plot in _each(s, s.figures, report, failed)]
    return {figure.name: figure for figure in made if figure is not None}


def all_sentences(
    report: Report,
    *places: Place,
    of: Container[str] | None = None,
    failed: list[str] | None = None,
) -> Iterator[Sentence]:
    """The sentences of the given places, or of all, in reading order.

    `of` names the sections whose sentences are wanted, if not of all.
    """
    for section in made_sections(report):
        if of is not None and section.name not in of:
            continue
        for sentence in _each(section, section.sentences, report, failed):
            if not places or sentence.place in places:
                yield sentence
