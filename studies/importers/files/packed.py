"""Packed files as the one table in them: gzip, zip, Parquet, the first sheet of a workbook.

They are unpacked as they are read, within the limits of a file. The line ends of old Macintosh
programs become line feeds. Rows of Parquet become lines of JSON. A small file can repeat a long
text a million times, so the texts of every few rows are measured before they are copied.
"""

import codecs
import datetime as dt
import gzip
import io
import json
import re
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from html import unescape
from pathlib import Path
from typing import IO, Any

from studies.exporters.tables import CsvWriter
from studies.importers.files.faults import (
    MAX_BYTES,
    MAX_COLUMNS,
    MAX_DIRECTORY,
    MAX_LINES,
    MAX_MEMBERS,
    MAX_PACKED_BYTES,
    MAX_PACKED_VALUES,
    MAX_ROW,
    MAX_UNPACKED,
    Refused,
    refused,
)
from studies.texts.cells import decoded

MAGIC = b"PAR1"
_ROWS_AT_ONCE = 64
_BYTES_AT_ONCE = 8 * 2**20
_VALUES_PER_BYTE = 4
_BYTES_PER_BYTE = 20
_MB = 2**20


def is_parquet(start: bytes) -> bool:
    """Whether a file begins like a Parquet file."""
    return start.startswith(MAGIC)


def json_stream(file: IO[bytes], name: str) -> IO[bytes]:
    """The rows of the Parquet file `name` as lines of JSON; `file` is closed with the stream.

    Raises `Refused` if it cannot be read, now or while it is read.
    """
    try:
        return io.BufferedReader(Parts(file, _lines(_opened(file, name), name)))
    except BaseException:
        file.close()
        raise


class Parts(io.RawIOBase):
    """A stream of the bytes that an iterator yields."""

    def __init__(self, file: IO[bytes], parts: Iterator[bytes]) -> None:
        self._file, self._parts, self._rest = file, parts, b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._rest:
            part = next(self._parts, None)
            if part is None:
                return 0
            self._rest = part
        size = min(len(buffer), len(self._rest))
        buffer[:size], self._rest = self._rest[:size], self._rest[size:]
        return size

    def close(self) -> None:
        self._parts = iter(())
        self._file.close()
        super().close()


def _opened(file: IO[bytes], name: str) -> Any:
    """The open file, within the limits that its description can show."""
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError as error:
        message = "a Parquet file needs the package pyarrow, which is not installed."
        remedy = 'Install it: pip install "thirdperson[parquet]". Or save it as CSV or JSON Lines.'
        raise refused(name, message, remedy) from error

    try:
        about = pq.read_metadata(file)
        texts = [
            about.schema.column(number).path
            for number in range(about.num_columns)
            if about.schema.column(number).physical_type == "BYTE_ARRAY"
        ]
        file.seek(0)
        # Texts stay in the file's dictionary, which holds a repeated text once.
        table = pq.ParquetFile(file, read_dictionary=texts)
    except (pa.ArrowException, OSError, ValueError, MemoryError) as error:
        raise _broken(name, error) from error
    size = sum(about.row_group(number).total_byte_size for number in range(about.num_row_groups))
    if about.num_rows > MAX_LINES:
        message = f"the file has {about.num_rows:,} rows; at most {MAX_LINES:,} are read."
        raise refused(name, message, "Split it and import the parts.")
    if about.num_columns > MAX_COLUMNS:
        message = f"the file has {about.num_columns:,} columns; at most {MAX_COLUMNS:,} are read."
        raise refused(name, message, "Leave out what is not needed.")
    packed = file.seek(0, io.SEEK_END)
    if size > (most := min(MAX_UNPACKED, MAX_PACKED_BYTES + _BYTES_PER_BYTE * packed)):
        message = f"the file unpacks to {size // _MB:,} MB; at most {most // _MB} are read."
        raise refused(name, message, "Split it and import the parts.")
    # Nulls, zeros and repeated values need few bytes, but as much work as others.
    values = sum(
        about.row_group(group).column(number).num_values
        * max(1, about.schema.column(number).max_definition_level)
        for group in range(about.num_row_groups)
        for number in range(about.num_columns)
    )
    if values > (most := MAX_PACKED_VALUES + _VALUES_PER_BYTE * packed):
        message = f"the file holds {values:,} values, more than its size allows ({most:,})."
        raise refused(name, message, "Leave out empty and repeated columns.")
    return table


def _lines(table: Any, name: str) -> Iterator[bytes]:
    import pyarrow as pa

    written = first = 0
    about = table.metadata
    groups = [about.row_group(number) for number in range(about.num_row_groups)]
    per_row = max((group.total_byte_size // max(1, group.num_rows) for group in groups), default=0)
    at_once = max(1, min(_ROWS_AT_ONCE, _BYTES_AT_ONCE // max(1, per_row)))
    try:
        for batch in table.iter_batches(batch_size=at_once):
            for column, cells in zip(batch.schema.names, batch.columns, strict=True):
                if (longest := _longest(cells)) > MAX_ROW:
                    message = (
                        f"in rows {first + 1:,} to {first + batch.num_rows:,}, a cell of the "
                        f"column {column} has {longest:,} bytes; at most {MAX_ROW:,} are read."
                    )
                    raise refused(name, message, "Shorten it, or leave the column out.")
            for row in batch.to_pylist():
                line = json.dumps(_plain(row), ensure_ascii=False).encode("utf-8", "replace")
                written += len(line) + 1
                if written > MAX_BYTES:
                    message = f"the rows are larger than {MAX_BYTES // _MB} MB as text."
                    raise refused(name, message, "Split it and import the parts.")
                yield line + b"\n"
            first += batch.num_rows
    except (pa.ArrowException, OSError, ValueError, MemoryError, OverflowError) as error:
        raise _broken(name, error) from error


def _longest(cells: Any) -> int:
    """The length in bytes of the longest text in an array, also inside lists and objects."""
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = cells.type
    if pa.types.is_dictionary(kind):
        return _longest(cells.dictionary)
    if pa.types.is_struct(kind):
        return max((_longest(part) for part in cells.flatten()), default=0)
    if pa.types.is_map(kind):
        return max(_longest(cells.keys), _longest(cells.items))
    if pa.types.is_nested(kind):
        return _longest(cells.flatten())
    with suppress(pa.ArrowNotImplementedError):
        return int(pc.max(pc.binary_length(cells)).as_py() or 0)
    return 0


def _plain(value: Any) -> Any:
    """A value of a row as JSON; bytes that are not text, such as pictures, are left out."""
    if isinstance(value, dict):
        return {str(key): _plain(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(part) for part in value]
    if isinstance(value, bytes):
        try:
            return value.decode("utf-8")
        except UnicodeDecodeError:
            return None
    if isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):
        return None
    if isinstance(value, dt.date | dt.time):
        return value.isoformat()
    return value if isinstance(value, str | int | float | bool | None) else str(value)


def _broken(name: str, error: Exception) -> Refused:
    reason = str(error).split("\n")[0][:200].rstrip(".") or "it is damaged"
    message = f"the Parquet file cannot be read: {reason}."
    return refused(name, message, "Write it again, or save it as JSON Lines or CSV.")


ZIPPED, GZIPPED = b"PK\x03\x04", b"\x1f\x8b"
LOOKED_AT = 1 << 16
# The exceptions of reading a damaged or encrypted zip.
DAMAGED_ZIP = (zipfile.BadZipFile, zlib.error, EOFError)
BROKEN_ZIP = (*DAMAGED_ZIP, NotImplementedError, RuntimeError)
_TABLES = (".csv", ".tsv", ".json", ".jsonl", ".ndjson")
_BUNDLED = {
    *("items.jsonl", "items.csv", "dataset.json", "personas.jsonl", "persona_features.csv"),
    *("header.json", "summaries.json", "reductions.json"),  # of a log of Inspect
}
_WORKBOOK = "[Content_Types].xml"
_SHEETS = "xl/worksheets/"
MAX_SHEETS = 100 * 1024 * 1024  # bytes of the XML of all sheets and of their texts
MAX_PART = 4 * 1024 * 1024  # bytes of any other part of a workbook
MAX_CELLS = 3_000_000  # of a sheet, empty ones included
MAX_TEXTS = 1_000_000  # different texts of a workbook
_LAST_COLUMN = 16_384
# The container of Office programs before 2007, and of workbooks with a password.
_OLD_OFFICE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_OLD_BOOK = "Workbook".encode("utf-16-le")
# How files begin that hold a table in a form that is not read, or none.
_OTHER_FORMS = {
    "packed by bzip2": rb"BZh[1-9]1AY",
    "packed by xz": rb"\xfd7zXZ\x00",
    "packed by zstd": rb"\x28\xb5\x2f\xfd",
    "packed by 7-Zip": rb"7z\xbc\xaf\x27\x1c",
    "packed by RAR": rb"Rar!\x1a",
    "a web page": rb"(?i:<!doctype html|<html|<table)",
    "XML": rb"<\?xml",
    "a data set of SPSS": rb"\$FL[23]@",
    "a data set of Stata": rb"<stata_dta>",
    "a data set of R": rb"RDX[23]\n|[XAB]\n\x00\x00\x00",
    "a pickle of Python": rb"\x80[\x02-\x05][\x95c}\]]",
    "a database": rb"SQLite format 3\x00",
    "a Feather file": rb"ARROW1\x00",
    "an HDF5 file": rb"\x89HDF",
    "a PDF": rb"%PDF-",
}
_STRICT = b"http://purl.oclc.org/ooxml/"
_SHEET = re.compile(rb'<(?:\w+:)?sheet\b[^>]*?\bname="([^"]*)"')
_SHEETS_SHOWN = 10
_TO_THE_FRONT = "Move the sheet with the table to the front, or save it as ‘CSV UTF-8’."
_BLOCK = 1 << 20
_LONGEST_END = 66_000  # the last records of a zip, with the longest comment
_AS_CSV = "Save only the table, as ‘CSV UTF-8’."
_LONGEST_FORMULA = 1 << 14  # bytes
_UNCOMPUTED = re.compile(
    rb"<c\b[^>]*>\s*<f\b(?:[^>]*/>|[^>]*>[^<]*</f>)\s*(?:<v\s*/>|<v>\s*</v>|</c>)"
)
_TOO_WIDE = re.compile(rb'<c\b[^>]*\br="[A-Za-z]{4}')
_REFERENCE = re.compile(rb'\br="([A-Z]{1,3}[0-9]{1,7})"')


def unpacked(stream: IO[bytes], name: str, start: bytes, encoding: str = "") -> IO[bytes]:
    """The table in a packed file, which begins with `start`; the bytes of any other file.

    Bytes in another `encoding` are given as UTF-8. Raises `Refused` if the file cannot be read, now
    or while it is read.
    """
    if start.startswith(_OLD_OFFICE):
        raise _not_a_workbook(stream, name)
    if start.startswith(GZIPPED):
        return _without_packing(stream, _gunzipped(stream, name), name, encoding)
    if start.startswith(ZIPPED) and (archive := _archive(stream, name)):
        if _WORKBOOK in archive.namelist():
            return io.BufferedReader(Parts(stream, _rows_as_csv(stream, archive, name)))
        if {"content.xml", "Index/Document.iwa"} & {*archive.namelist()}:
            raise unreadable(name, "this kind of workbook is not read.")
        if (member := _only_table(archive)) is not None:
            return _without_packing(stream, _member(archive, member, name), name, encoding)
        stream.seek(0)
    return _as_utf8(stream, stream, name, start, encoding)


def _as_utf8(
    stream: IO[bytes], content: IO[bytes], name: str, start: bytes, encoding: str
) -> IO[bytes]:
    """`content`, which begins with `start`, in UTF-8 and with line feeds. Raises `Refused`."""
    opening = start.removeprefix(codecs.BOM_UTF8).lstrip()
    for form, mark in _OTHER_FORMS.items():
        if re.match(mark, opening):
            remedy = "Unpack it." if form.startswith("packed") else "Save the table as ‘CSV UTF-8’."
            raise refused(name, f"the file is {form}, which is not read.", remedy)
    if start.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        encoding = "utf-16"  # “Unicode text” of spreadsheet programs
    elif not encoding and start[:2].count(0) == 1:
        encoding = "utf-16-be" if start[0] == 0 else "utf-16-le"  # the same without its mark
    blocks = _blocks(content)
    is_of_old_macintosh = b"\r" in start and b"\n" not in start
    is_recoded = bool(encoding)
    if is_recoded:
        blocks = _recoded(blocks, encoding, name)
    if is_of_old_macintosh:
        blocks = (block.replace(b"\r", b"\n") for block in blocks)
    needs_change = is_recoded or is_of_old_macintosh
    return io.BufferedReader(Parts(stream, blocks)) if needs_change else content


def _recoded(blocks: Iterator[bytes], encoding: str, name: str) -> Iterator[bytes]:
    decoder = codecs.getincrementaldecoder(encoding)()
    try:
        for block in blocks:
            yield decoder.decode(block).encode("utf-8", "replace")
    except UnicodeDecodeError as error:
        message = f"the file is not in the encoding {encoding}."
        raise refused(name, message, "Name another one, or save the file as UTF-8.") from error


def is_single(archive: zipfile.ZipFile) -> bool:
    """Whether a zip is a workbook, or holds one table and is not a bundle."""
    return _WORKBOOK in archive.namelist() or _only_table(archive) is not None


def check_list(name: str, file: Path | IO[bytes]) -> None:
    """Refuse a list of files that could be longer than memory, before it is read."""
    if isinstance(file, Path):
        with file.open("rb") as stream:
            return check_list(name, stream)
    if _size_of_list(file) > MAX_DIRECTORY:
        raise too_many_files(name)


def _size_of_list(file: IO[bytes]) -> int:
    """The size of a zip's list of files, as its last record states it; 0 for other files."""
    size = file.seek(0, io.SEEK_END)
    file.seek(max(size - _LONGEST_END, 0))
    tail = file.read()
    end = tail.rfind(b"PK\x05\x06")
    if end < 0 or len(tail) < end + 16:
        return 0
    stated = int.from_bytes(tail[end + 12 : end + 16], "little")
    large = tail.rfind(b"PK\x06\x06", 0, end)
    if large >= 0:  # the record of a zip of more than 4 GB, or of more than 65,535 files
        stated = max(stated % 0xFFFFFFFF, int.from_bytes(tail[large + 40 : large + 48], "little"))
    return stated


def too_many_files(name: str) -> Refused:
    message = f"the zip file holds more than {MAX_MEMBERS:,} files."
    return refused(name, message, "Pack only the files that you need.")


def _archive(stream: IO[bytes], name: str) -> zipfile.ZipFile | None:
    try:
        check_list(name, stream)
        return zipfile.ZipFile(stream)
    except BROKEN_ZIP:
        stream.seek(0)
        return None


def _only_table(archive: zipfile.ZipFile) -> zipfile.ZipInfo | None:
    """The only table in a zip; None for a bundle or a log of Inspect."""
    files = [
        info
        for info in archive.infolist()
        if not (info.is_dir() or info.filename.startswith("__MACOSX"))
    ]
    tables = [info for info in files if info.filename.lower().endswith(_TABLES)]
    if len(files) == 1:  # pandas names it as the zip without its ending
        tables = files
    if len(tables) != 1:
        return None
    folder, _, base = tables[0].filename.rpartition("/")
    return None if base in _BUNDLED or folder == "samples" else tables[0]


def _without_packing(
    stream: IO[bytes], blocks: Iterator[bytes], name: str, encoding: str
) -> IO[bytes]:
    """The bytes of the one packed file, which must not be packed again."""
    first = next(blocks, b"")
    if first.startswith((ZIPPED, GZIPPED, b"PAR1")):
        message = "the packed file holds another packed file."
        raise refused(name, message, "Unpack it, and import the inner file.")

    def all_blocks() -> Iterator[bytes]:
        yield first
        yield from blocks

    content = io.BufferedReader(Parts(stream, all_blocks()))
    return _as_utf8(stream, content, name, first[:LOOKED_AT], encoding)


def _gunzipped(stream: IO[bytes], name: str) -> Iterator[bytes]:
    try:
        with gzip.GzipFile(fileobj=stream) as file:
            yield from _within_limit(_blocks(file), name)
    except (OSError, EOFError, zlib.error) as error:
        message = f"the gzip file cannot be read: {error}."
        raise refused(name, message, "Pack it again, or import it unpacked.") from error


def _member(archive: zipfile.ZipFile, info: zipfile.ZipInfo, name: str) -> Iterator[bytes]:
    try:
        with archive.open(info) as file:
            yield from _within_limit(_blocks(file), name)
    except BROKEN_ZIP as error:
        message = f"the zip file cannot be read: {error}."
        raise refused(name, message, "Pack the file again, without a password.") from error


def _blocks(stream: IO[bytes] | gzip.GzipFile) -> Iterator[bytes]:
    yield from iter(lambda: stream.read(_BLOCK), b"")


def _within_limit(blocks: Iterator[bytes], name: str) -> Iterator[bytes]:
    size = 0
    for block in blocks:
        size += len(block)
        if size > MAX_BYTES:
            message = f"the file unpacks to more than {MAX_BYTES >> 20} MB."
            raise refused(name, message, "Split it and import the parts.")
        yield block


def _rows_as_csv(stream: IO[bytes], archive: zipfile.ZipFile, name: str) -> Iterator[bytes]:
    """The rows of the first sheet as CSV, each on the line of its number. Raises `Refused`."""
    from openpyxl.cell.text import Text
    from openpyxl.reader.excel import ExcelReader
    from openpyxl.utils.exceptions import InvalidFileException
    from openpyxl.xml.constants import SHARED_STRINGS, SHEET_MAIN_NS
    from openpyxl.xml.functions import iterparse

    class Reader(ExcelReader):
        """Keeps the codes of characters in texts, some of which the library drops."""

        def read_strings(self) -> None:
            if (part := self.package.find(SHARED_STRINGS)) is None:
                return
            with self.archive.open(part.PartName[1:]) as xml:
                for _, node in iterparse(xml):
                    if node.tag == f"{{{SHEET_MAIN_NS}}}si":
                        self.shared_strings.append(Text.from_tree(node).content)
                        node.clear()

    broken = (*BROKEN_ZIP, InvalidFileException, OSError, SyntaxError, ArithmeticError)
    try:
        _check_sizes(archive, name)
        if (book_xml := _book_xml(archive)) and _STRICT in book_xml:
            message = "the workbook is in the form “Strict Open XML”, which is not read."
            raise refused(name, message, "Save it as “Excel Workbook (.xlsx)”.")
        stream.seek(0)
        reader = Reader(stream, read_only=True, data_only=True, keep_links=False)
        reader.read()
        book = reader.wb
        if not book.worksheets:
            raise refused(name, "the workbook has no sheet of cells.", "Put the table on a sheet.")
        sheet = book.worksheets[0]
        if sheet.sheet_state != "visible":
            message = f"the first sheet of the workbook, “{sheet.title}”, is hidden."
            raise refused(name, f"{message} {_others(book.sheetnames)}".strip(), _TO_THE_FRONT)
        path = next(
            rel.target
            for _, rel in reader.parser.find_sheets()
            if rel.target in reader.valid_files and "chartsheet" not in rel.Type
        )
        with archive.open(path) as xml:
            _check_formulas(xml, name)
        sheet.reset_dimensions()  # other programs may state these too small, which would lose cells
        yield from _within_limit(_csv_lines(sheet.iter_rows(values_only=True), name), name)
    # A damaged workbook may fail anywhere in the library.
    except (*broken, LookupError, ValueError, TypeError, AttributeError) as error:
        raise unreadable(name) from error


def _book_xml(archive: zipfile.ZipFile) -> bytes:
    try:
        with archive.open("xl/workbook.xml") as xml:
            return xml.read(MAX_PART)
    except KeyError:
        return b""


def sheets_of(stream: IO[bytes]) -> list[str]:
    """The names of the sheets of a workbook in their order; none for other files."""
    try:
        if not zipfile.is_zipfile(stream):
            return []
        stream.seek(0)
        with zipfile.ZipFile(stream) as archive:
            return [unescape(name.decode()) for name in _SHEET.findall(_book_xml(archive))]
    except (*BROKEN_ZIP, ValueError):
        return []


def about_sheets(names: Sequence[str]) -> str:
    """That only the first of several sheets is read; empty for a single one."""
    if len(names) < 2:
        return ""
    return f"Only the first sheet, “{names[0][:60]}”, was read. {_others(names)} {_TO_THE_FRONT}"


def _others(names: Sequence[str]) -> str:
    listed = ", ".join(f"“{name[:60]}”" for name in names[1:_SHEETS_SHOWN])
    more = f" and {left:,} more" if (left := len(names) - _SHEETS_SHOWN) > 0 else ""
    return f"The workbook also has the sheets {listed}{more}." if listed else ""


def _not_a_workbook(stream: IO[bytes], name: str) -> Refused:
    """Why a file in the container of old Office programs is not read."""
    before = b""
    for block in _blocks(stream):
        if _OLD_BOOK in before + block:
            message = "this is a workbook of an old program (.xls), which is not read."
            return refused(name, message, "Save it as .xlsx, or its sheet as ‘CSV UTF-8’.")
        before = block[-len(_OLD_BOOK) :]
    message = "the workbook has a password."
    return refused(name, message, "Save it without a password, or its sheet as ‘CSV UTF-8’.")


def unreadable(name: str, message: str = "the workbook cannot be read.") -> Refused:
    remedy = "Save it again as .xlsx, or its sheet as ‘CSV UTF-8’."
    return refused(name, message, remedy)


def _check_sizes(archive: zipfile.ZipFile, name: str) -> None:
    """Refuse a workbook whose parts take much memory or time, before they are read."""
    large = 0
    for part in archive.infolist():
        is_sheet = part.filename.startswith(_SHEETS)
        has_texts = part.filename.endswith("sharedStrings.xml")
        if is_sheet or has_texts:
            large += part.file_size
        elif part.filename.endswith((".xml", ".rels")) and part.file_size > MAX_PART:
            raise refused(name, f"{part.filename[:80]} in the workbook is too large.", _AS_CSV)
        if large > MAX_SHEETS:
            message = f"the sheets of the workbook unpack to more than {MAX_SHEETS >> 20} MB."
            raise refused(name, message, _AS_CSV)
        with archive.open(part) as xml:
            if is_sheet:
                _check_cells(xml, name)
            elif has_texts and sum(b.count(b"<si") for b in _blocks(xml)) > MAX_TEXTS:
                raise refused(name, f"there are more than {MAX_TEXTS:,} texts.", _AS_CSV)


def _check_cells(xml: IO[bytes], name: str) -> None:
    """Refuse a sheet with too many cells, in total or in one row."""
    cells = in_row = 0
    for block in _blocks(xml):
        cells += block.count(b"<c")
        for number, row in enumerate(block.split(b"<row")):
            in_row = row.count(b"<c") + (0 if number else in_row)
            if in_row > _LAST_COLUMN:
                raise _too_many_cells(name)
        if cells > MAX_CELLS or _TOO_WIDE.search(block):
            raise _too_many_cells(name)


def _check_formulas(xml: IO[bytes], name: str) -> None:
    """Refuse formulas without a value, which would be read as empty cells."""
    before = b""
    for block in _blocks(xml):
        text = before + block
        for formula in _UNCOMPUTED.finditer(text):
            if b't="str"' not in formula[0]:
                cell = _REFERENCE.search(formula[0])
                where = f"cell {cell[1].decode()}" if cell else "a cell"
                message = f"{where} of the first sheet has a formula without a value."
                remedy = "Open the workbook in a spreadsheet program and save it there."
                raise refused(name, message, remedy)
        before = text[-_LONGEST_FORMULA:]


def _csv_lines(rows: Iterable[Sequence[Any]], name: str) -> Iterator[bytes]:
    blank = width = seen = 0
    for row in rows:
        seen += len(row) + 1
        cells = [_as_text(value) for value in row]
        while cells and not cells[-1]:
            cells.pop()
        if seen > MAX_CELLS or len(cells) > MAX_COLUMNS:
            raise _too_many_cells(name)
        if not cells:
            blank += 1
            continue
        width = width or len(cells)
        out = io.StringIO()
        CsvWriter(out).row(cells + [""] * (width - len(cells)))
        yield b"\n" * blank + out.getvalue().encode()
        blank = 0


def _too_many_cells(name: str) -> Refused:
    message = f"the sheet has more than {MAX_COLUMNS:,} columns or {MAX_CELLS:,} cells."
    return refused(name, message, _AS_CSV)


def _as_text(value: Any) -> str:
    """A cell as text, without line feeds, so that each row is one line."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    if isinstance(value, dt.datetime) and value.time() == dt.time():
        value = value.date()
    if isinstance(value, (dt.date, dt.time)):
        return value.isoformat()
    return decoded(str(value)).replace("\r\n", "\r").replace("\n", "\r")
