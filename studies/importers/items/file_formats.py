"""Formats of a file of items: how each is recognised and read as raw items."""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

from studies.importers.columns.table_file import is_json, json_rows
from studies.importers.files.bundle import WORKBOOKS, Bundle, File
from studies.importers.files.faults import Faults
from studies.importers.files.limits import MAX_ROW
from studies.importers.files.lines import has_too_many_values
from studies.importers.files.readers import (
    BadLine,
    own_answer_column,
    read_csv,
    read_feature_words,
)
from studies.importers.items.personalized_judge import looks_released, released_items

_HEAD_LINES = 50
_CSV = (".csv", ".tsv")

RawItems = Iterator[tuple[int, Any] | BadLine]


@dataclass(frozen=True)
class FileFormat:
    """One format of a file of items.

    `own_answer` names the column that is read as first_person, "" for none. `read` yields raw
    items with their lines from a bundle; it gets that column, and appends the faults of the
    bundle's other files to its second argument.
    `is_released`: the sides and the persona text of an item may vary between rows.
    """

    name: str
    matches: Callable[[File], bool]
    read: Callable[[Bundle, Faults, str], RawItems]
    own_answer: Callable[[File], str] = lambda file: ""
    is_released: bool = False


def recognise(file: File) -> FileFormat:
    """The format of a file."""
    return next(known for known in FILE_FORMATS.values() if known.matches(file))


def _is_csv(file: File) -> bool:
    name = file.name.lower()
    if name.endswith((*_CSV, *(f"{ending}.gz" for ending in _CSV), *WORKBOOKS)):
        return True
    return name.endswith(".zip") and not is_json(file)


def _read_csv(bundle: Bundle, faults: Faults, own: str) -> RawItems:
    words: dict[str, dict[str, str]] = {}
    if bundle.feature_words is not None:
        try:
            words = read_feature_words(bundle.feature_words)
        except BadLine as bad:
            faults.append(bad.fault)
    return read_csv(bundle.items, words, own)


def _read_json_lines(bundle: Bundle, faults: Faults, own: str) -> RawItems:
    return json_rows(bundle.items)


def _read_released(bundle: Bundle, faults: Faults, own: str) -> RawItems:
    return released_items(bundle.items)


def _is_released(file: File) -> bool:
    """Whether the first object of the file is a row of a released result file."""
    with file.open() as stream:
        for line in islice(iter(lambda: stream.readline(MAX_ROW + 1), b""), _HEAD_LINES):
            if len(line) <= MAX_ROW and line.strip():
                try:
                    text = line.decode("utf-8-sig")
                    first = None if has_too_many_values(text) else json.loads(text)
                except (ValueError, RecursionError):
                    return False
                return isinstance(first, dict) and looks_released(first)
    return False


def _is_any(file: File) -> bool:
    return True


# A file is read in the first format that matches; the last one matches every file.
FILE_FORMATS = {
    file_format.name: file_format
    for file_format in (
        FileFormat("csv", _is_csv, _read_csv, own_answer=own_answer_column),
        FileFormat("personalized-judge", _is_released, _read_released, is_released=True),
        FileFormat("jsonl", _is_any, _read_json_lines),
    )
}
