"""The combined contents of all sections: analyses, tables, figures, sentences."""

from collections.abc import Iterator
from graphlib import TopologicalSorter

from analysis.report.figures import Figure
from analysis.report.section import Analysis, Place, Report, Section, Sentence, Source, with_parts
from analysis.report.sections import SECTIONS
from analysis.report.sources import sources_table
from analysis.report.tables import Table


def sections() -> list[Section]:
    """Every section and part, in reading order."""
    return list(with_parts(SECTIONS))


def in_order_of_computing() -> list[Section]:
    """The same sections, each after the sections that it needs."""
    named = {section.name: section for section in sections()}
    needs = {name: section.needs for name, section in named.items()}
    return [named[name] for name in TopologicalSorter(needs).static_order()]


def analyses() -> list[Analysis]:
    """The analyses that a plan can name."""
    return [analysis for section in sections() for analysis in section.analyses]


def all_sources() -> list[Source]:
    return [source for section in sections() for source in section.sources]


def all_tables(report: Report) -> dict[str, Table]:
    """Every table of report.json by its name; tables without rows are left out."""
    made = [table for section in sections() for table in section.tables(report)]
    made.append(sources_table(report, list(all_sentences(report)), all_sources()))
    return {table.name: table for table in made if table.rows}


def all_figures(report: Report) -> dict[str, Figure]:
    """Every figure by its name; figures without anything to draw are left out."""
    made = (figure for section in sections() for figure in section.figures(report))
    return {figure.name: figure for figure in made if figure is not None}


def all_sentences(report: Report, *places: Place) -> Iterator[Sentence]:
    """The sentences of the given places, or of all, in reading order."""
    for section in sections():
        for sentence in section.sentences(report):
            if not places or sentence.place in places:
                yield sentence
