"""The tables that can be exported, by name, and their formats."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from analysis.data.item_comparisons import aggregate_rows
from analysis.errors import ExportError
from analysis.exports import columns
from analysis.exports.other_tools import (
    mt_bench_rows,
    reliability_matrix,
    wide_table,
)
from analysis.exports.rows import (
    anchor_table,
    annotation_lines,
    annotation_table,
    annotator_table,
    judgment_table,
    note_table,
    version_table,
)
from analysis.exports.table_files import MORE_FORMATS, ExportTableFile
from studies.additions import Additions
from studies.exporters.items import item_cells, item_rows, may_redistribute
from studies.models.studies import Study

_PLAIN = ("jsonl", "csv", "parquet", "xlsx")
_FORMATS: dict[str, tuple[str, ...]] = {
    "items": _PLAIN,
    "annotations": _PLAIN,
    "judgments": _PLAIN,
    "annotators": _PLAIN,
    "aggregates": _PLAIN,
    "notes": _PLAIN,
    "versions": _PLAIN,
    "anchors": _PLAIN,
    "wide": ("csv", "xlsx"),
    "reliability": ("csv", "xlsx"),
    "mt-bench": ("jsonl",),
    "all": _PLAIN,
    "blind": ("jsonl",),
}
# These are folders; the others are single files.
FOLDERS = ("all", "blind")
# Answers are read before annotators and items, so that every id has a row even in a live study.
BUNDLED = ("annotations", "judgments", "aggregates", "annotators", "items")


@dataclass(frozen=True)
class Disclosure:
    """Optional contents of an export."""

    identified: bool = False
    free_text: bool = False
    # Exact times and durations, which allow matching rows of two exports.
    times: bool = True


@dataclass(frozen=True)
class ExportTable:
    """A table that an extra adds:

    its name, its formats (default first), and its function. `label` is for the form: a name, a
    colon, and what a row is. `make` raises `ExportError` if the study has no such table. A table
    that `has_texts` of items is refused if their source forbids passing them on.
    """

    name: str
    formats: tuple[str, ...]
    label: str
    make: Callable[[Study, Disclosure], ExportTableFile]
    has_texts: bool = False


MORE: Additions[ExportTable] = Additions()


@dataclass(frozen=True)
class ExportFolder:
    """A folder without data about annotators, which an extra fills with `write`.

    `write` gets the study, an empty folder and a function that is told of every item; it returns
    what it wrote, in numbers.
    """

    name: str
    formats: tuple[str, ...]
    label: str
    write: Callable[..., dict[str, int]]


MORE_FOLDERS: Additions[ExportFolder] = Additions()


@dataclass(frozen=True)
class StudyDocument:
    """A document about a study, which an extra writes: in bundles, or alone at an archive.

    `words` begin a sentence about it, and `title` is followed by the study's. `files` are its texts
    by name, the one in Markdown included; empty if the study `lacks` it, which says what to do. One
    that `follows_answers` is in bundles of them.
    """

    name: str
    words: str
    title: str
    description: str
    lacks: str
    files: Callable[[Study], Mapping[str, str]]
    follows_answers: bool = False


DOCUMENTS: Additions[StudyDocument] = Additions()


def added_folder(what: str) -> ExportFolder | None:
    return next((each for each in MORE_FOLDERS if each.name == what), None)


def is_folder(what: str) -> bool:
    return what in FOLDERS or added_folder(what) is not None


def formats_of() -> dict[str, tuple[str, ...]]:
    """The available exports with their formats, the default first."""
    general = [each.name for each in MORE_FORMATS if each.is_general]
    own = _FORMATS | {each.name: each.formats for each in (*MORE, *MORE_FOLDERS)}
    return {
        what: (*formats, *general) if "csv" in formats else formats for what, formats in own.items()
    }


def make_table(study: Study, what: str, disclosure: Disclosure) -> ExportTableFile:
    """The table `what` of a study. Raises `ExportError` if the study has no such table."""
    return replace(_table(study, what, disclosure), study=study)


def _table(study: Study, what: str, disclosure: Disclosure) -> ExportTableFile:
    for added in MORE:
        if added.name == what:
            if added.has_texts:
                _check_texts(study, what)
            return added.make(study, disclosure)
    match what:
        case "items":
            open_source = may_redistribute(study)
            shape = columns.ITEMS if open_source else columns.WITHHELD_ITEMS
            return ExportTableFile(what, shape, lambda: item_rows(study), item_cells)
        case "annotations":
            shown = {"free_text": disclosure.free_text, "times": disclosure.times}
            return ExportTableFile(
                what,
                columns.ANNOTATIONS,
                lambda: annotation_table(study, **shown),
                csv_lines=lambda: annotation_lines(study, **shown),
            )
        case "judgments":
            return ExportTableFile(what, columns.JUDGMENTS, lambda: judgment_table(study))
        case "aggregates":
            shape = columns.AGGREGATES
            return ExportTableFile(
                what, shape, lambda: columns.in_columns(aggregate_rows(study), shape)
            )
        case "notes":
            return ExportTableFile(what, columns.ITEM_NOTES, lambda: note_table(study))
        case "versions":
            return ExportTableFile(what, columns.VERSIONS, lambda: version_table(study))
        case "anchors":
            return ExportTableFile(what, columns.ANCHORS, lambda: anchor_table(study))
        case "annotators":
            return _annotators(study, disclosure)
        case "wide":
            return wide_table(study)
        case "reliability":
            return reliability_matrix(study)
    _check_texts(study, what)
    return ExportTableFile(what, (), lambda: mt_bench_rows(study))


def _check_texts(study: Study, what: str) -> None:
    if not may_redistribute(study):
        raise ExportError(
            f"“{what}” contains the items' texts, which the source of “{study.slug}” forbids "
            "passing on. Export annotations, which name the items by id."
        )


def _annotators(study: Study, disclosure: Disclosure) -> ExportTableFile:
    shape: tuple[columns.Column, ...] = columns.ANNOTATORS
    if disclosure.identified:
        shape += columns.IDENTIFIED
    if disclosure.free_text:
        shape += tuple(column for column in columns.FREE_TEXT if column not in shape)
    return ExportTableFile(
        "annotators",
        shape,
        lambda: annotator_table(
            study, columns.names(shape), identified=disclosure.identified, times=disclosure.times
        ),
        names_people=disclosure.identified,
    )
