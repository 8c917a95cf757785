"""The rows in one JSON value: tables as pandas writes them, objects by id, a list in an object."""

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

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
    """Whether cells are all texts or all numbers, as those of a column are."""
    return len({isinstance(cell, str) for cell in cells.values() if cell is not None}) <= 1


def _of_columns(value: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The rows of {column: {row: cell}}; their names are ids, unless they are only numbers."""
    names = [*next(iter(value.values()))]
    has_ids = not all(name.isdecimal() for name in names)
    for name in names:
        row = {column: cells[name] for column, cells in value.items()}
        yield {"id": name, **row} if has_ids else row


def _of_objects(value: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The rows of {id: {column: cell}}."""
    for name, row in value.items():
        yield row if row.keys() & {"id", "item_id", "item"} else {"id": name, **row}
