"""The rows of one file: a table with any column names, an export, or records of a JSON file."""

import json
import math
import re
import zipfile
from argparse import Namespace
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath
from typing import Any

from studies.importers.columns.mapping import plain_name
from studies.importers.columns.table_file import table_of
from studies.importers.files.bundle import File
from studies.importers.files.faults import MAX_BYTES, MAX_UNPACKED, Refused, place
from studies.importers.files.json_rows import is_json
from studies.importers.files.lines import BadLine, delimiter_of
from studies.importers.files.packed import BROKEN_ZIP, ZIPPED, is_single
from studies.texts.cells import Changes, clean_values, listed_values
from thirdperson.check.columns import CheckedRows, Columns, number
from thirdperson.check.exports import prolific, registry
from thirdperson.check.exports.reader import nested, record_paths, rows_at
from thirdperson.check.labels import BadTable, is_label, listed

MOST_FAULTS = 10
_OPEN = ("[", "(", "{")
_HEAD = 50  # rows that show which program wrote a table, or which lists it has
_LONGEST = 200  # labels of one item in a list


def rows_of_table(file: File, *, skip_faulty: bool) -> tuple[CheckedRows, list[str]]:
    """The rows of a table, and faults of rows that were left out.

    Raises `BadTable` with all other faults, up to `MOST_FAULTS`.
    """
    rows: list[tuple[str, Mapping[str, str]]] = []
    faults: list[str] = []
    skipped: list[str] = []
    try:
        for parsed in table_of(file.once()):
            if isinstance(parsed, BadLine):
                may_be_skipped = skip_faulty and not parsed.fault.ends_reading
                (skipped if may_be_skipped else faults).append(str(parsed.fault))
            else:
                line, cells = parsed
                rows.append((f"{file.name}, {place(line).lower()}", cells))
            if len(faults) == MOST_FAULTS:
                break
    except Refused as error:
        faults += [str(fault) for fault in error.faults]
    if not faults and (total := _total(rows)):
        if not skip_faulty:
            raise BadTable(total)
        skipped.append(total)
        rows.pop()
    if faults:
        raise BadTable("\n".join([f"{file.name} cannot be read.", *faults]))
    return rows, skipped


_TOTALS = frozenset(
    "total totals grand_total overall sum mean average avg median count summe gesamt "
    "gesamtergebnis mittelwert durchschnitt somme moyenne suma promedio media somma totale".split()
)


def _total(rows: CheckedRows) -> str:
    """The fault of a last row with sums or means of the columns; empty without one.

    An item may have such a name. Its labels then occur in other rows too.
    """
    where, last = rows[-1] if rows else ("", {})
    filled = [(name, cell) for name, cell in last.items() if cell]
    if len(filled) < 2 or plain_name(filled[0][1]) not in _TOTALS:
        return ""
    for name, cell in filled[1:]:
        if number(cell) is not None and all(row.get(name) != cell for _, row in rows[:-1]):
            return f"{where}: the row “{filled[0][1]}” is about the rows above it. Remove it."
    return ""


DECIMAL_COMMAS = "decimal commas read as points"
_COMMA = re.compile(r"[+-]?\d+,\d+")
_PERCENT = re.compile(r"[+-]?\d+(?:[.,]\d+)?\s?%")


def _plain_numbers(rows: CheckedRows, file: File) -> CheckedRows:
    """The rows with 3.5 for 3,5 and 85 for 85 % in columns of such numbers.

    Commas are decimal if semicolons separate the cells, as spreadsheets save CSV.
    """
    is_decimal = not is_json(file) and delimiter_of(file.head().decode("utf-8", "replace")) == ";"
    for name in dict.fromkeys(name for _, row in rows for name in row):
        cells = [row[name] for _, row in rows if is_label(row.get(name, ""))]
        commas = sum(is_decimal and _COMMA.match(cell) is not None for cell in cells)
        percents = sum(_PERCENT.fullmatch(cell) is not None for cell in cells)
        if percents < len(cells) if percents else not commas:
            continue
        plain = {cell: cell.rstrip("% \u00a0\u202f") for cell in {*cells}}
        if commas:
            plain = {cell: text.replace(",", ".") for cell, text in plain.items()}
        if all(number(text) is not None for text in plain.values()):
            file.changes[DECIMAL_COMMAS] += commas
            rows = [(w, {**row, name: plain.get(c := row.get(name, ""), c)}) for w, row in rows]
    return rows


_RATERS = re.compile(
    r"(?:\w+_)?(?:annotator|rater|worker|coder|labell?er|reviewer|expert|physician|user)s?"
    r"(?:_ids?|_names?)?"
)
_LABELS = re.compile(r"(?:\w+_)?(?:annotation|answer|judge?ment|label|rating|score|vote)s")


def _one_label_a_row(rows: CheckedRows) -> CheckedRows:
    """Split rows with a list of annotators and one of their labels into one row per label.

    Other rows keep their lists, with a column for each place.
    """
    if any(cell[:1] in _OPEN for _, row in rows for cell in row.values()):
        rows = [(where, _with_places(row)) for where, row in rows]
    names = next(filter(None, (_by_rater(row)[1] for _, row in rows[:_HEAD])), ())
    rows_of_labels = []
    for where, row in rows if names else ():
        of_each, _ = _by_rater(row)
        if not of_each and any(row[name] for name in row if name.split(".")[0] in names):
            return rows
        rest = {name: value for name, value in row.items() if name.split(".")[0] not in names}
        rows_of_labels += [(where, rest | {"annotator": a, "label": v}) for a, v in of_each]
    return rows_of_labels or rows


def _one_value_a_cell(
    rows: CheckedRows, named: Collection[str], *, skip_faulty: bool
) -> tuple[CheckedRows, list[str]]:
    """Take the only value out of lists in columns that have one value in most rows.

    Returns also the faults of rows left out because a cell has several. Raises `BadTable` for such
    a cell if no row may be left out. `named` are the columns of the file, which are no places of a
    list.
    """
    columns = dict.fromkeys(name for _, row in rows for name in row)
    places = {name: of for name in columns if name not in named and (of := _list_of(name))}
    alone: Counter[str] = Counter()
    several: Counter[str] = Counter()
    for _, row in rows if places else ():
        lengths = Counter(places.get(name, name) for name, cell in row.items() if cell)
        alone.update(name for name, n in lengths.items() if n == 1)
        several.update(name for name, n in lengths.items() if n > 1)
    single = {of for of in places.values() if alone[of] > several[of]}
    if not single:
        return rows, []
    kept, faults = [], []
    for where, row in rows:
        cells: dict[str, str] = {}
        fault = ""
        for name, cell in row.items():
            of = places.get(name, name)
            if of not in single:
                cells[name] = cell
            elif not cells.get(of):
                cells[of] = cell
            elif cell:
                values = listed([row[other] for other in row if places.get(other) == of])
                fault = f"{where}: {of} is a list of several values: {values}. Give it one."
        if not fault:
            kept.append((where, cells))
        elif skip_faulty:
            faults.append(fault)
        else:
            raise BadTable(fault)
    return kept, faults


def _list_of(column: str) -> str:
    """The list of which a column is an element; empty for any other column."""
    of, _, place = column.rpartition(".")
    return of if place.isdecimal() else ""


def _with_places(row: Mapping[str, str]) -> Mapping[str, str]:
    """The row, with lists of labels in a cell as a column for each place, as in JSON."""
    cells: dict[str, str] = {}
    for name, cell in row.items():
        parts = listed_values(cell)
        if parts is not None and len(parts) <= _LONGEST:
            cells |= {f"{name}.{n}": part for n, part in enumerate(parts or [""])}
        else:
            cells[name] = cell
    return cells


def _by_rater(row: Mapping[str, str]) -> tuple[list[tuple[str, str]], Collection[str]]:
    """Each annotator with the label, and the names of the lists that have them."""
    lists: dict[str, dict[str, str]] = {}
    for name, value in row.items():
        of, dot, place = name.partition(".")
        if dot and value:
            lists.setdefault(of, {})[place] = value
        elif of in ("annotators", "annotations"):  # LeWiDi writes lists as text
            parts = value.split(",")
            lists[of] = {str(n): part.strip() for n, part in enumerate(parts) if part.strip()}
    raters = [name for name in lists if _RATERS.fullmatch(plain_name(name))]
    labels = [name for name in lists if _LABELS.fullmatch(plain_name(name))]
    if len(raters) != 1 or len(labels) != 1:
        return [], ()
    who, labels_of = lists[raters[0]], lists[labels[0]]
    if who.keys() == labels_of.keys():
        return [(rater, labels_of[n]) for n, rater in who.items()], (raters[0], labels[0])
    is_by_name = labels_of.keys() == {*who.values()}
    return ([*labels_of.items()], (raters[0], labels[0])) if is_by_name else ([], ())


@dataclass(frozen=True)
class FileRows:
    """The rows of one file, the columns that are known, and the program that wrote it.

    `places` are where else a JSON file has records, as options; `changes` counts what was changed
    in cells.
    """

    rows: CheckedRows
    columns: Columns
    format: str = ""
    skipped: Sequence[str] = ()
    places: Sequence[str] = ()
    changes: Mapping[str, int] = field(default_factory=dict)


def file_rows(path: Path, options: Namespace, columns: Columns) -> FileRows:
    if path.stat().st_size > MAX_BYTES:
        raise BadTable(f"{path.name} is larger than {MAX_BYTES >> 20} MB. Split it.")
    document = _archived(path) if _begins(path, ZIPPED) else None
    changes = Changes()
    if document is None:
        document = _document(path, options.format, changes)
    # Among several files, it is for those with one JSON object.
    if options.records and (isinstance(document, dict) or [path] == options.files):
        if document is None:
            raise BadTable(f"{path.name} is not JSON, so --records finds nothing in it.")
        of_path = rows_at(document, options.records, path.name)
        return FileRows(of_path, columns, changes=changes)
    if document is not None and (export := _export(document, path, options, columns)):
        return replace(export, changes=changes)
    file = File(path.name, path, options.encoding)
    if not columns.skip_faulty and (where := _not_a_number(document)):
        raise BadTable(
            f"{path.name}, {where} is NaN, which is no JSON. Write null for a missing label "
            "(json.dumps(rows, allow_nan=False) finds each), or add --skip-faulty to read NaN as "
            "missing."
        )
    lists = [f"--records {place} ({n:,} records)" for place, n in record_paths(document)]
    try:
        rows, skipped = rows_of_table(file, skip_faulty=columns.skip_faulty)
    except BadTable as error:
        hint = f" Or say where the records are: {listed(lists, 4)}." if lists else ""
        raise BadTable(f"{error}{hint}") from None
    if document is None and options.format != "table":
        # Programs write the same records as CSV too, with a column for each part.
        if _reader([nested(row) for _, row in rows[:_HEAD]], options.format):
            records = [nested(row) for _, row in rows]
            if export := _export(records, path, options, columns):
                return replace(export, skipped=skipped, changes=file.changes)
    if options.format not in ("auto", "table"):
        raise BadTable(
            f"{path.name} is not an export of {options.format} that this program can read. "
            "docs/check.md says what to export; leave --format out to detect the format."
        )
    # In JSON, a name with a number at its end may be a place of a list.
    whole = [row for _, row in rows] if document is None and not is_json(file) else document
    listing = whole if isinstance(whole, list) else []
    named = {name for row in listing if isinstance(row, Mapping) for name in row}
    rows, faults = _one_value_a_cell(_one_label_a_row(rows), named, skip_faulty=columns.skip_faulty)
    if options.level != "nominal":
        rows = _plain_numbers(rows, file)
    return FileRows(rows, columns, "", [*skipped, *faults], lists, file.changes)


def _not_a_number(document: Any) -> str:
    """Where a list of objects has NaN, which Python writes for a missing number; "" without."""
    for entry, row in enumerate(document if isinstance(document, list) else [], start=1):
        for name, value in row.items() if isinstance(row, dict) else ():
            if isinstance(value, float) and math.isnan(value):
                return f"record {entry}: {name}"
    return ""


def _reader(document: Any, format: str) -> str:
    """The name of the program that wrote a document; empty if none is known."""
    known = registry.READERS.items()
    fitting = (name for name, one in known if format in ("auto", name) and one.matches(document))
    return next(fitting, "")


def _export(document: Any, path: Path, options: Namespace, columns: Columns) -> FileRows | None:
    if not (name := _reader(document, options.format)):
        return None
    try:
        table = registry.READERS[name].table(document, path.name, options.metric)
    except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
        # A part of the document is of another type than the program writes.
        raise BadTable(
            f"{path.name} looks like an export of {name}, but a part of it has another "
            f"shape ({error}). Export it again, or read it as a table: --format table."
        ) from error
    return FileRows(table.rows, table.with_options(columns), name)


def _begins(path: Path, mark: bytes) -> bool:
    with path.open("rb") as file:
        return file.read(len(mark)) == mark


def _document(path: Path, format: str, changes: Changes) -> Any:
    """The JSON value of a file, or the list of its lines; None if neither."""
    if format == "table":
        return None
    try:
        file = File(path.name, path)
        if not is_json(file):
            return None
        content = file.read().decode("utf-8-sig")
        try:
            document = json.loads(content)
        except ValueError:
            document = [json.loads(line) for line in content.split("\n") if line.strip()]
        return clean_values(document, changes)
    # The table reader reports the fault and its line, and needs less memory.
    except (ValueError, RecursionError, Refused, MemoryError):
        return None


def _archived(path: Path) -> Any:
    """The document in a ZIP of Inspect or Prolific; None for other files.

    Raises `BadTable` if it cannot be read.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            parts = {
                inner.name: part
                for part in archive.infolist()
                if "files" not in (inner := PurePosixPath(part.filename)).parts  # of participants
            }
            if of_prolific := [parts[name] for name in prolific.FILES if name in parts]:
                batch = [parts[prolific.BATCH_FILE]] if prolific.BATCH_FILE in parts else []
                return _prolific(archive, path, of_prolific[0], batch)
            return None if is_single(archive) else _samples(archive, path)
    except (*BROKEN_ZIP, ValueError) as error:
        raise BadTable(
            f"{path.name} cannot be read as an .eval file of Inspect ({error}). Convert it with: "
            "inspect log convert --to json"
        ) from None


def _samples(archive: zipfile.ZipFile, path: Path) -> Any:
    """The samples of an Inspect .eval file, in the shape of its JSON log."""
    parts = [
        part
        for part in archive.infolist()
        if part.filename.startswith("samples/") and part.filename.endswith(".json")
    ]
    _limit(path, parts)
    return {"samples": [clean_values(json.loads(archive.read(part))) for part in parts]}


def _prolific(
    archive: zipfile.ZipFile, path: Path, responses: zipfile.ZipInfo, batch: list[zipfile.ZipInfo]
) -> Any:
    """The responses of a batch of Prolific's Task Builder, and its instructions."""
    _limit(path, [responses, *batch])
    try:
        lines = archive.read(responses).decode("utf-8-sig").split("\n")
        return {
            prolific.RESPONSES: [clean_values(json.loads(line)) for line in lines if line.strip()],
            prolific.BATCH: [clean_values(json.loads(archive.read(part))) for part in batch],
        }
    except (*BROKEN_ZIP, ValueError) as error:
        raise BadTable(
            f"{path.name}: {responses.filename} cannot be read ({error}). Export the batch again."
        ) from None


def _limit(path: Path, parts: Sequence[zipfile.ZipInfo]) -> None:
    if sum(part.file_size for part in parts) > MAX_UNPACKED:
        raise BadTable(f"{path.name} is larger than {MAX_UNPACKED >> 20} MB unpacked.")
