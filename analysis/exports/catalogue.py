"""The tables that can be exported, by name, and their formats."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path

from analysis.data.item_comparisons import aggregate_rows
from analysis.errors import ExportError
from analysis.exports import columns
from analysis.exports.columns import Column
from analysis.exports.rows import (
    anchor_table,
    annotation_table,
    annotator_table,
    judgment_table,
    version_table,
)
from analysis.exports.table_files import MORE_FORMATS, ExportTableFile, OnRows
from analysis.models import Report
from studies.exporters.items import item_cells, item_rows, may_redistribute
from studies.extra import Kind
from studies.models.studies import Study

PLAIN = ("jsonl", "csv", "xlsx")
# A name, a colon, and what a row is. “all” is a folder; the others are single files.
LABELS = {
    "all": "Everything, as one zip file: all tables, their description, the report and checksums",
    "annotations": "Annotations: one row per answer of an annotator",
    "judgments": "Judgments: one row per answer of a judge",
    "aggregates": "Aggregates: majorities, one row per item and rater",
    "versions": "Model versions: one row per run, version of the model and hour",
    "anchors": "Anchors: one row per answer to an item that a run asked again",
    "annotators": "Annotators: one row per annotator",
    "items": "Items: in a format that you can import again",
}
# Answers are read before annotators and items, so that every id has a row even in a live study.
BUNDLED = ("annotations", "judgments", "aggregates", "annotators", "items")


# SPDX names. The study's owner chooses the licence of the answers; the source sets that of the
# items.
LICENCES = {
    "CC0-1.0": "https://creativecommons.org/publicdomain/zero/1.0/",
    "CC-BY-4.0": "https://creativecommons.org/licenses/by/4.0/",
    "CC-BY-SA-4.0": "https://creativecommons.org/licenses/by-sa/4.0/",
    "CC-BY-NC-4.0": "https://creativecommons.org/licenses/by-nc/4.0/",
    "ODC-By-1.0": "https://opendatacommons.org/licenses/by/1-0/",
}


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
    that `has_texts` of items is refused if their source forbids passing them on. A bundle has it
    too as `other/FILE` if `bundled` names the file, with the meanings of its columns as
    `other/FILE` if `explained` names that. `counts` names the tables whose sizes add up to about
    its number of rows.
    """

    name: str
    formats: tuple[str, ...]
    label: str
    make: Callable[[Study, Disclosure], ExportTableFile]
    has_texts: bool = False
    bundled: str = ""
    explained: str = ""
    counts: tuple[str, ...] = ("main_items",)


MORE: Kind[ExportTable] = Kind("exports")


def _told_nobody(doubts: list[str]) -> None:
    pass


@dataclass(frozen=True)
class FolderOrder:
    """What a folder is to contain.

    `on_rows` is told of every item or row, `on_doubts` of words that may name somebody. The report
    in a bundle is the newest one, or `report`. `named` is a new folder for the same bundle with
    names, next to one without.
    """

    disclosure: Disclosure
    licence: str = ""
    on_rows: OnRows | None = None
    report: Report | None = None
    on_doubts: Callable[[list[str]], object] = _told_nobody
    named: Path | None = None


@dataclass(frozen=True)
class ExportFolder:
    """A folder that an extra fills with `write`, which returns what it wrote, in numbers.

    It has no data about annotators, or `is_blind`: a bundle of everything without names of
    researchers.
    """

    name: str
    formats: tuple[str, ...]
    label: str
    write: Callable[[Study, Path, FolderOrder], dict[str, int]]
    is_blind: bool = False


MORE_FOLDERS: Kind[ExportFolder] = Kind("exports", "folders")


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


DOCUMENTS: Kind[StudyDocument] = Kind("files", "bundle")


@dataclass(frozen=True)
class DescribedFile:
    """A file of the bundle: path, size and hash."""

    path: str
    bytes: int
    sha256: str


@dataclass(frozen=True)
class DescribedPart:
    """A table of the bundle and its files, by format."""

    name: str
    columns: tuple[Column, ...]
    rows: int
    files: dict[str, DescribedFile]


@dataclass(frozen=True)
class BundleContents:
    """What a bundle has, for the files that describe it.

    `others` has the columns of each file in `other/`, `left_out` a sentence for each that is
    missing, `report` the sentence about the report.
    """

    study: Study
    on: date
    licence: str
    disclosure: Disclosure
    parts: tuple[DescribedPart, ...]
    others: dict[str, tuple[Column, ...]]
    left_out: tuple[str, ...]
    report: str
    data_sha256: str
    is_blind: bool

    @property
    def rows(self) -> dict[str, int]:
        """The number of rows of each table."""
        return {part.name: part.rows for part in self.parts}


@dataclass(frozen=True)
class BundleDescription:
    """Files that describe a bundle, which an extra adds: their texts, by name.

    `texts` gets the contents and the folder, which has everything but these files and checksums.
    """

    name: str
    texts: Callable[[BundleContents, Path], Mapping[str, str]]


DESCRIPTIONS: Kind[BundleDescription] = Kind("files", "descriptions")


def added_folder(what: str) -> ExportFolder | None:
    return next((folder for folder in MORE_FOLDERS if folder.name == what), None)


def is_blind(what: str) -> bool:
    folder = added_folder(what)
    return folder is not None and folder.is_blind


def is_folder(what: str) -> bool:
    return what == "all" or added_folder(what) is not None


def formats_of() -> dict[str, tuple[str, ...]]:
    """The available exports with their formats, the default first."""
    general = [export.name for export in MORE_FORMATS if export.is_general]
    own = dict.fromkeys(LABELS, PLAIN) | {
        export.name: export.formats for export in (*MORE, *MORE_FOLDERS)
    }
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
            disclosed = {"free_text": disclosure.free_text, "times": disclosure.times}
            return ExportTableFile(
                what, columns.ANNOTATIONS, lambda: annotation_table(study, **disclosed)
            )
        case "judgments":
            return ExportTableFile(what, columns.JUDGMENTS, lambda: judgment_table(study))
        case "aggregates":
            shape = columns.AGGREGATES
            return ExportTableFile(
                what, shape, lambda: columns.in_columns(aggregate_rows(study), shape)
            )
        case "versions":
            return ExportTableFile(what, columns.VERSIONS, lambda: version_table(study))
        case "anchors":
            return ExportTableFile(what, columns.ANCHORS, lambda: anchor_table(study))
    return _annotators(study, disclosure)


def _check_texts(study: Study, what: str) -> None:
    if not may_redistribute(study):
        raise ExportError(
            f"“{what}” contains the items' texts, which the source of “{study.slug}” forbids "
            "passing on. Export annotations, which name the items by id."
        )


def _annotators(study: Study, disclosure: Disclosure) -> ExportTableFile:
    shape: tuple[Column, ...] = columns.ANNOTATORS
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
