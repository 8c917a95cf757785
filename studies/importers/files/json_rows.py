"""Rows of JSON: one object a line, one list, or one object that holds the rows."""

import json
import unicodedata
from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import IO, Any

from studies.importers.files.bundle import File
from studies.importers.files.child import Send, from_child, is_needed
from studies.importers.files.faults import (
    MAX_DEPTH,
    MAX_DOCUMENT,
    MAX_DOCUMENT_VALUES,
    MAX_ROW,
    MAX_VALUES,
    Fault,
    FaultEntry,
)
from studies.importers.files.lines import (
    MAX_LISTS,
    BadLine,
    has_too_many_values,
    is_too_deep,
    lines_of,
    not_utf8,
    values_in,
)
from studies.texts.cells import Changes, clean_values, name_of
from studies.texts.json_values import whole_number_of
from studies.texts.normalisation import INVISIBLE

_BLOCK = 1 << 16
_IDS = {"id", "item_id", "item", "persona", "responses"}
_LINES = "Write one JSON object a line, or a CSV file."
WANTED = "Write a list of objects with a value for each column, one such object a line, or CSV."


def is_json(file: File) -> bool:
    return file.head()[:1] in (b"{", b"[")


def json_rows(file: File) -> Iterator[tuple[int, Any] | BadLine]:
    """Each row of a JSON file with its place: its line in JSON Lines, its number in one value.

    `file.changes` counts what was changed in texts.
    """
    if file.head()[:1] == b"[":
        for number, entry in enumerate(json_list(file), start=1):
            yield entry if isinstance(entry, BadLine) else (FaultEntry(number), entry[1])
        return
    if is_needed(file.size()):
        found_rows = from_child(_send_object, file, name=file.name, size=file.size())
    else:
        found_rows = _object_rows(file)
    for row in found_rows:
        if row is None:
            yield from read_json_lines(file)
        elif isinstance(row, BadLine):
            yield row
        else:
            yield _cleaned(row[0], row[1], file.name, file.changes)


def _send_object(send: Send, file: File) -> None:
    for row in _object_rows(file):
        send(row)


def _object_rows(file: File) -> Iterator[tuple[int, Any] | BadLine | None]:
    """The rows in the one JSON object of a file; None if it is one object a line."""
    try:
        value, is_one_line = _one_object(file)
    except BadLine as bad:
        yield bad
        return
    if (rows := rows_of(value)) is not None:
        for number, row in enumerate(rows, start=1):
            yield FaultEntry(number), row
    elif value is None or is_one_line:
        yield None
    elif value.keys() & _IDS:
        yield 1, value
    else:
        message = f"the file is {shape_of(value)}, which does not show what its rows are."
        fault = Fault(None, "", "unknown shape", message, WANTED, file=file.name)
        yield BadLine(fault)


def _one_object(file: File) -> tuple[Any, bool]:
    """The only JSON object of a file, and whether it is one line that could be a row.

    The object is None if there are several. Raises `BadLine` if it is too large to be read at once.
    """
    with file.open() as stream:
        data = stream.read(MAX_DOCUMENT + 1).strip()
    cells = data.count(b",")
    # A list or an object takes as much memory as several values.
    if len(data) > MAX_DOCUMENT or max(cells, values_in(data) // 3) > MAX_DOCUMENT_VALUES:
        first, _, _ = data[:MAX_ROW].partition(b"\n")
        if first.strip().endswith(b"}") and len(first) < MAX_ROW:
            return None, False  # one object a line
        message = f"the file is one JSON value of over {MAX_DOCUMENT >> 20} MB or very many cells."
        raise BadLine(Fault(None, "", "too large", message, _LINES, file=file.name))
    try:
        value = DECODER.decode(data.decode("utf-8-sig"))
    except (ValueError, RecursionError):
        return None, False
    if not isinstance(value, dict) or is_too_deep([value]):
        return None, False
    has_cells = any(not isinstance(part, (dict, list)) for part in value.values())
    return value, has_cells and b"\n" not in data


def read_json_lines(file: File) -> Iterator[tuple[int, Any] | BadLine]:
    """Each object of a JSON Lines file with its line number; blank lines are skipped."""
    with file.open() as stream:
        yield from json_lines(stream, file.name, file.changes)


def json_lines(
    stream: IO[bytes], name: str, changes: Changes | None = None
) -> Iterator[tuple[int, Any] | BadLine]:
    """Each object of the JSON Lines file `name`, without loading the whole file into memory."""
    try:
        yield from _json_lines(lines_of(stream, name), name, changes)
    except BadLine as bad:
        yield bad


def _json_lines(
    lines: Iterator[bytes], name: str, changes: Changes | None
) -> Iterator[tuple[int, Any] | BadLine]:
    for line, data in enumerate(lines, start=1):
        try:
            text = data.decode("utf-8-sig" if line == 1 else "utf-8")
        except UnicodeDecodeError:
            yield BadLine(not_utf8(line, name))
            continue
        if not text.strip():
            continue
        try:
            if has_too_many_values(text):
                raise ValueError(f"the line holds more than {MAX_VALUES:,} values")
            value = DECODER.decode(text)
            # Few brackets cannot be nested deeply.
            if text.count("{") + text.count("[") > MAX_DEPTH and is_too_deep([value]):
                raise ValueError("objects and lists are nested too deep")
        except (ValueError, RecursionError) as error:
            message = f"{error}."
            if isinstance(error, json.JSONDecodeError):
                message = f"this is not JSON ({error.msg})."
            elif isinstance(error, RecursionError):
                message = "this is not JSON (objects and lists are nested too deep)."
            yield BadLine(
                Fault(
                    line,
                    "",
                    "not JSON",
                    message,
                    "Write one JSON object a line.",
                    text.strip()[:80],
                    name,
                )
            )
            continue
        yield (line, value) if _is_clean(text) else _cleaned(line, value, name, changes)


def _is_clean(text: str) -> bool:
    """Whether no text in a line of JSON needs a change, without looking at each."""
    return "\\u" not in text and (
        text.isascii() or (unicodedata.is_normalized("NFC", text) and not INVISIBLE.search(text))
    )


def _cleaned(line: int, row: Any, name: str, changes: Changes | None) -> tuple[int, Any] | BadLine:
    try:
        return line, clean_values(row, changes)
    except ValueError as error:
        return BadLine(Fault(line, "", "half of a character", f"{error}.", file=name))


def no_number(name: str) -> None:
    """NaN, which Python writes for a missing number, as null; infinity is refused."""
    if name != "NaN":
        raise ValueError(f"{name} is not a number")


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    object = {name_of(name): value for name, value in pairs}
    if len(object) != len(pairs):
        [(name, _)] = Counter(name_of(name) for name, _ in pairs).most_common(1)
        raise ValueError(f"the key “{name}” appears twice")
    return object


DECODER = json.JSONDecoder(
    parse_constant=no_number, parse_int=whole_number_of, object_pairs_hook=_unique_keys
)


def json_list(file: File) -> Iterator[tuple[int, Any] | BadLine]:
    """The elements of one JSON list, each with the number of the line that it starts on."""
    with file.open() as stream:
        try:
            yield from _elements(stream, file.name, file.changes)
        except UnicodeDecodeError:
            yield _bad(1, "the file is not UTF-8.", file.name)


def _elements(
    stream: IO[bytes], name: str, changes: Changes
) -> Iterator[tuple[int, Any] | BadLine]:
    text, line, is_first, at_end = "", 1, True, False
    lists = 0
    while True:
        separators = "[" if is_first else ","
        start = len(text) - len(text.lstrip())
        line += text.count("\n", 0, start)
        text = text[start:]
        if text[:1] == "]":
            return
        body = text.removeprefix(separators) if text else ""
        try:
            if not text or (text[0] != separators):
                raise ValueError
            space = len(body) - len(body.lstrip())
            if body[space : space + 1] == "]" and is_first:
                return
            value, end = DECODER.raw_decode(body, space)
            # A number at the end of what was read may continue.
            if end == len(body) and not at_end:
                raise ValueError
        except (ValueError, RecursionError) as error:
            # The decoder refuses this, such as NaN, whatever follows.
            reason = str(error) if type(error) is ValueError else ""
            if reason or at_end or len(text) > MAX_ROW or has_too_many_values(text):
                skipped = body[: len(body) - len(body.lstrip())].count("\n")
                message = "the file begins with a list of objects, but this is not part of one."
                message = f"{reason}." if reason else message
                yield _bad(line + skipped, message, name)
                return
            block = stream.read(_BLOCK)
            # A character may be split by the end of the block.
            while block and block[-1] >= 0x80 and (more := stream.read(1)):
                block += more
            at_end = not block
            text += block.decode("utf-8-sig" if is_first else "utf-8")
            continue
        start_line = line + body.count("\n", 0, space)
        lists += body.count("[", space, end) + body.count("{", space, end)
        if lists > MAX_LISTS:
            yield _bad(start_line, "there are too many lists and objects up to here.", name)
            return
        if is_too_deep([value]):
            yield _bad(start_line, "objects and lists are nested too deep.", name)
        else:
            is_clean = _is_clean(body[space:end])
            yield (start_line, value) if is_clean else _cleaned(start_line, value, name, changes)
        line += body.count("\n", 0, end)
        text, is_first = body[end:], False


def _bad(line: int, message: str, name: str) -> BadLine:
    return BadLine(Fault(line, "", "not JSON", message, _LINES, file=name, ends_reading=True))


# Names under which programs put the list of rows of a file.
_LISTS = frozenset(
    "data rows items records examples instances annotations labels judgments answers results "
    "questions samples entries".split()
)
_SHOWN = 5


def rows_of(value: Any) -> list[Any] | None:
    """The rows of a JSON value; None if it is not known where they are."""
    if isinstance(value, list):
        return value
    if not isinstance(value, dict) or not value:
        return None
    if value.keys() >= {"columns", "data"} and (rows := _split(value)) is not None:
        return rows
    parts = [*value.values()]
    if all(isinstance(part, dict) for part in parts):
        return [*(_of_columns(value) if _is_by_column(value) else _of_objects(value))]
    lengths = {len(part) if isinstance(part, list) else -1 for part in parts}
    if len(lengths) == 1 and -1 not in lengths and not any(map(_has_objects, parts)):
        return [dict(zip(value, cells, strict=True)) for cells in zip(*parts, strict=True)]
    lists = [name for name, part in value.items() if _has_objects(part)]
    if len(lists) == 1 and lists[0].lower() in _LISTS and not value.keys() & {"id", "item_id"}:
        return list(value[lists[0]])
    return None


def shape_of(value: Any) -> str:
    """What a JSON value is, for a sentence that refuses it."""
    if isinstance(value, dict):
        names = ", ".join(f"“{str(name)[:40]}”" for name in islice(value, _SHOWN))
        more = f" and {len(value) - _SHOWN:,} more" if len(value) > _SHOWN else ""
        return f"one JSON object with the keys {names}{more}" if value else "an empty JSON object"
    if isinstance(value, list):
        return "a list inside the list"
    kinds = {str: "a text", bool: "true or false", type(None): "null"}
    return kinds.get(type(value), "a number")


def _has_objects(part: Any) -> bool:
    return isinstance(part, list) and bool(part) and all(isinstance(row, dict) for row in part)


def _split(value: Mapping[str, Any]) -> list[Any] | None:
    """A table as its columns and lists of cells, as pandas writes it with orient="split"."""
    columns, data = value["columns"], value["data"]
    if not isinstance(columns, list) or not isinstance(data, list):
        return None
    if not all(isinstance(row, list) and len(row) == len(columns) for row in data):
        return None
    names = [str(name) for name in columns]
    return [dict(zip(names, row, strict=True)) for row in data]


def _is_by_column(value: Mapping[str, Any]) -> bool:
    """Whether an object of objects has one for each column, rather than one for each row.

    pandas numbers the rows; otherwise a table is taken to have more rows than columns, and texts
    or numbers in each column.
    """
    first, *others = (part.keys() for part in value.values())
    if not first or any(keys != first for keys in others):
        return False
    if all(key.isdecimal() for key in first) != all(key.isdecimal() for key in value):
        return all(key.isdecimal() for key in first)
    return len(first) > len(value) and all(_is_of_one_kind(part) for part in value.values())


def _is_of_one_kind(cells: Mapping[str, Any]) -> bool:
    return len({isinstance(cell, str) for cell in cells.values() if cell is not None}) <= 1


def _of_columns(value: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The rows of {column: {row: cell}}; row names become ids, unless they are only numbers."""
    names = [*next(iter(value.values()))]
    has_ids = not all(name.isdecimal() for name in names)
    for name in names:
        row = {column: cells[name] for column, cells in value.items()}
        yield {"id": name, **row} if has_ids else row


def _of_objects(value: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    for name, row in value.items():
        yield row if row.keys() & {"id", "item_id", "item"} else {"id": name, **row}
