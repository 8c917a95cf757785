"""One file to labels: what wrote it is seen from its content, or said by an option."""

import json
import zipfile
from argparse import Namespace
from pathlib import Path
from typing import Any, cast

import django

from studies.importers.columns.table_file import is_json
from studies.importers.files.answer_rows import Scale, scale_of
from studies.importers.files.bundle import File, size_of
from studies.importers.files.child import Send, from_child, is_needed
from studies.importers.files.faults import Refused
from studies.importers.files.limits import MAX_BYTES, MAX_UNPACKED
from studies.importers.files.packed import BROKEN_ZIP, ZIPPED, is_single
from thirdperson.check.columns import Columns
from thirdperson.check.errors import BadTable
from thirdperson.check.exports import registry
from thirdperson.check.labels import LabelTable, listed, same_label
from thirdperson.check.table import labels_of, read_table


def read_labels(path: Path, options: Namespace) -> LabelTable:
    """The labels of a file; one that is not small is read in a child process. Raises `BadTable`."""
    if not is_needed(size := size_of(path)):
        return _labels(path, options)
    try:
        [labels] = from_child(_send, path, options, name=path.name, size=size, prepare=django.setup)
    except Refused as error:
        raise BadTable(f"{path.name}: {error.faults[0]}") from error
    return cast(LabelTable, labels)


def _send(send: Send, path: Path, options: Namespace) -> None:
    send(_labels(path, options))


def _labels(path: Path, options: Namespace) -> LabelTable:
    if path.stat().st_size > MAX_BYTES:
        raise BadTable(f"{path.name} is larger than {MAX_BYTES >> 20} MB. Split it.")
    formats = ["auto", "table", *registry.READERS]
    if options.format not in formats:
        raise BadTable(f"--format {options.format}: use one of {listed(formats, 20)}.")
    given = _given(options)
    document = _samples(path) if _begins(path, ZIPPED) else None
    if document is None:
        document = _document(path, options.format)
    for name, reader in registry.READERS.items():
        if options.format in ("auto", name) and document is not None and reader.matches(document):
            table = reader.table(document, path.name, options.metric)
            labels = labels_of(table.rows, table.with_options(given), name=path.name)
            labels.reading.insert(0, f"format: {name}")
            return labels
    if options.format not in ("auto", "table"):
        raise BadTable(
            f"{path.name} is not an export of {options.format} that this program can read. "
            "docs/check.md names what to export; leave --format out to see what it is."
        )
    if options.metric:
        raise BadTable("--metric is for exports. In a table, name the columns: --people, --judge.")
    return read_table(path, given)


def _begins(path: Path, mark: bytes) -> bool:
    with path.open("rb") as file:
        return file.read(len(mark)) == mark


def _document(path: Path, format: str) -> Any:
    """The JSON value of a file, or the list of its lines; None if it is neither."""
    if format == "table":
        return None
    try:
        file = File(path.name, path)
        if not is_json(file):
            return None
        content = file.read().decode("utf-8-sig")
        try:
            return json.loads(content)
        except ValueError:
            return [json.loads(line) for line in content.splitlines() if line.strip()]
    # The table's reader says what is wrong, and in which line, and it needs less memory.
    except (ValueError, RecursionError, Refused, MemoryError):
        return None


def _samples(path: Path) -> Any:
    """The samples of an .eval file of Inspect, in the shape of its JSON log; None of a table."""
    try:
        with zipfile.ZipFile(path) as archive:
            if is_single(archive):
                return None
            parts = [
                part
                for part in archive.infolist()
                if part.filename.startswith("samples/") and part.filename.endswith(".json")
            ]
            if sum(part.file_size for part in parts) > MAX_UNPACKED:
                raise BadTable(f"{path.name} is larger than {MAX_UNPACKED >> 20} MB unpacked.")
            return {"samples": [json.loads(archive.read(part)) for part in parts]}
    except (*BROKEN_ZIP, ValueError) as error:
        raise BadTable(
            f"{path.name} cannot be read as an .eval file of Inspect ({error}). Convert it with: "
            "inspect log convert --to json"
        ) from None


def _given(options: Namespace) -> Columns:
    named = [*options.labels, *options.tie, *options.positive]
    certainty = dict(pair.partition("=")[::2] for pair in options.certainty)
    if faulty := [name for name, column in certainty.items() if not column]:
        raise BadTable(f"--certainty {faulty[0]}: write LABEL_COLUMN=CERTAINTY_COLUMN.")
    return Columns(
        item=options.item,
        people=options.people,
        annotator=options.annotator,
        label=options.label,
        judges=options.judge,
        judge_raters=options.judge_raters,
        kind=options.kind,
        gold=options.gold,
        persona=options.persona,
        question=options.question,
        certainty=certainty,
        missing=options.missing,
        named_labels=frozenset(map(same_label, named)),
        scales=dict(map(_scale, options.scale)),
        skip_faulty=options.skip_faulty,
    )


def _scale(given: str) -> tuple[str, Scale]:
    """“judge=0-1” as a name with two numbers; without a name it is for everybody."""
    name, _, span = given.rpartition("=")
    if (scale := scale_of(span)) is None:
        raise BadTable(f"--scale {given}: write NAME=LOW-HIGH, such as people=1-5 or judge=0-100.")
    return name.strip(), scale
