"""Rows of a file of answers or judgments with any columns, kept until they are stored."""

import json
import re
import sqlite3
from collections.abc import Container, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from studies.exporters.tables import as_typed
from studies.importers.files.bundle import File
from studies.importers.files.faults import Fault, ImportRow, same_id
from studies.importers.files.json_rows import is_json, json_rows
from studies.importers.files.lines import BadLine, missing_column, needs

NumberedRows = Iterator[tuple[int, Any] | BadLine]
_NO_SIDES = "Sides A and B are decided when the item is shown."


ScaleRange = tuple[float, float]  # the lowest and the highest certainty
PERCENT: ScaleRange = (1, 100)
_SCALE = re.compile(r"(\d{1,4}(?:\.\d+)?)-(\d{1,4}(?:\.\d+)?)")
LARGEST_STEP = 10  # a scale up to this has steps
_FEW = 10  # certainties that may all be low by chance


def scale_of(text: str) -> ScaleRange | None:
    """“1-5” as a scale; None for any other text."""
    match = _SCALE.fullmatch(text.strip())
    scale = (float(match[1]), float(match[2])) if match else (0.0, 0.0)
    return scale if scale[0] < scale[1] else None


UNKNOWN_ITEM = "unknown item"  # a rule of faults


def percent(value: float, scale: ScaleRange) -> float | None:
    """A certainty from 1 to 100; None outside its scale. A step counts as its middle."""
    low, high = scale
    if scale == PERCENT and value == 0:
        return 1.0
    if not low <= value <= high:
        return None
    if scale == PERCENT:
        return value
    if 1 < high - low <= LARGEST_STEP:
        return float(round((value - low + 0.5) / (high - low + 1) * 100))
    return max(1.0, float(round((value - low) / (high - low) * 100)))


def unclear_scale(certainties: Sequence[int], file: str) -> Fault | None:
    """The fault of a file whose certainties are so low that they may be on another scale."""
    if len(certainties) < _FEW or max(certainties) > LARGEST_STEP:
        return None
    message = f"all {len(certainties):,} certainties are from 1 to {max(certainties)}, not to 100."
    remedy = (
        "Name their scale with --scale, for example --scale 1-5, or confirm it with --scale 1-100."
    )
    return Fault(None, "certainty", "scale of certainty", message, remedy, file=file)


class AnswerRow(ImportRow):
    """One row of such a file: the fields that answers and judgments share."""

    def __init__(self, line: int, file: str = "", scale: ScaleRange | None = None) -> None:
        super().__init__(line, file)
        self._scale = scale or PERCENT

    def item(self, raw: Mapping[str, Any], known: Container[str]) -> str:
        """The id of an item of the study, which must be in `known`."""
        key = self._item_id(raw, known)
        self.item_id = key[:120]
        if not key:
            self.fault("item_id", "no item", "item_id is missing.", "Give the item's id.")
        elif key not in known:
            self.fault(
                "item_id",
                UNKNOWN_ITEM,
                f"item “{key[:120]}” is not in the study.",
                "Import the items first, or correct the id.",
                value=key,
            )
        return key

    def is_unknown(self, raw: Mapping[str, Any], known: Container[str]) -> bool:
        """Whether the row is about an item that is not in `known`."""
        # Its faults are those of the row itself.
        key = AnswerRow(self.line, self.file)._item_id(raw, known)
        return bool(key) and key not in known

    def _item_id(self, raw: Mapping[str, Any], known: Container[str]) -> str:
        value = self.one(raw, "item_id")
        return known_id("" if value is None else str(value), known)

    def choice(self, raw: Mapping[str, Any]) -> str:
        from studies.models import Choice

        return self.one_of(raw, "choice", Choice.values, hint=_NO_SIDES)

    def shown_first(self, raw: Mapping[str, Any]) -> str:
        from studies.models import Side

        return self.one_of(raw, "shown_first", Side.values, hint="Leave it empty if unknown.")

    def certainty(self, raw: Mapping[str, Any], *, choice: str) -> int | None:
        from studies.models import Choice

        if self._scale == PERCENT:
            certainty = self.whole_number(raw, "certainty", low=1, high=100)
        else:
            certainty = self._on_scale(self.one(raw, "certainty"))
        if certainty is not None and choice == Choice.TIE:
            self.fault(
                "certainty",
                "tie with a certainty",
                "a tie has no certainty.",
                "Leave certainty empty.",
                value=certainty,
            )
        return certainty

    def _on_scale(self, value: Any) -> int | None:
        """A certainty on the stated scale of the file, as a whole number up to 100."""
        if value is None or value == "":
            return None
        try:
            certainty = None if isinstance(value, bool) else percent(float(value), self._scale)
        except (TypeError, ValueError, OverflowError):
            certainty = None
        if certainty is None:
            low, high = self._scale
            self.fault(
                "certainty",
                "certainty is out of range",
                f"certainty “{str(value)[:80]}” is not a number from {low:g} to {high:g}.",
                "Correct it, name another scale, or leave it empty.",
                value=value,
            )
        return None if certainty is None else int(certainty)

    def rater_kind(self, raw: Mapping[str, Any], expected: str, *, command: str) -> None:
        """Refuse a row of another kind of rater, which `command` imports."""
        kind = self.one(raw, "rater_kind")
        if kind not in (None, "", expected):
            self.fault(
                "rater_kind",
                f"not a {expected}",
                f"rater_kind is “{str(kind)[:80]}”; this import takes “{expected}”.",
                f"Import the row with {command}.",
                value=kind,
            )


def known_id(key: str, known: Container[str]) -> str:
    """The key in `known` that an id of a file means: 5.0 is 5, and the other way round."""
    if key in known:
        return key
    return next((same for same in (same_id(key), f"{key}.0") if same in known), key)


def read_answer_rows(file: File, *, required: Sequence[str]) -> NumberedRows:
    """Each row with the line it starts on, or the fault of it; blank lines are skipped.

    A CSV file is UTF-8 with commas, semicolons or tabs and a header that holds the `required`
    columns; its empty cells are None.
    """
    return _json_rows(file, required) if is_json(file) else _csv_rows(file, required)


def _json_rows(file: File, required: Sequence[str]) -> NumberedRows:
    for number, entry in enumerate(json_rows(file)):
        if number == 0 and isinstance(entry, tuple) and isinstance(entry[1], dict):
            line, row = entry
            if len(row) > 1 and not row.keys() & {*required}:
                remedy = f"Write one row for each answer, with {', '.join(required)}."
                yield BadLine(missing_column(line, required[0], [*row], remedy, file.name))
                return
        yield entry


def _csv_rows(file: File, required: Sequence[str]) -> NumberedRows:
    for entry in file.records(header_faults=needs(required)):
        if isinstance(entry, BadLine):
            yield entry
        else:
            line, cells = entry
            yield line, {column: as_typed(cell.strip()) or None for column, cell in cells.items()}


_PORTION = 1_000


class KeptRow(NamedTuple):
    """A row by its line in the file. The values are texts, numbers or None."""

    line: int
    values: list[Any]


class KeptRows:
    """Rows in the order of their file, in a temporary database without a name.

    An import of any size needs the same memory. The rows can be read any number of times.
    """

    def __init__(self) -> None:
        self._rows = sqlite3.connect("", isolation_level=None, check_same_thread=False)
        self._rows.execute("PRAGMA journal_mode = OFF")
        self._rows.execute("CREATE TABLE kept (line INTEGER, key TEXT UNIQUE, row TEXT)")
        self._count = 0
        self._place: type[int] = int  # lines, or entries of a list

    def keep(self, line: int, key: Sequence[str | int], values: Sequence[Any]) -> KeptRow | None:
        """Keep a row, or return the earlier row with the same key."""
        name = json.dumps(key)
        self._place = type(line)
        kept = self._rows.execute(
            "INSERT OR IGNORE INTO kept VALUES (?, ?, ?)", (int(line), name, json.dumps(values))
        )
        if kept.rowcount:
            self._count += 1
            return None
        earlier = self._rows.execute("SELECT line, row FROM kept WHERE key = ?", (name,)).fetchone()
        return KeptRow(self._place(earlier[0]), json.loads(earlier[1]))

    def __len__(self) -> int:
        return self._count

    def portions(self) -> Iterator[list[KeptRow]]:
        """All rows, a thousand at a time."""
        stored = self._rows.execute("SELECT line, row FROM kept ORDER BY rowid")
        while rows := stored.fetchmany(_PORTION):
            yield [KeptRow(self._place(line), json.loads(row)) for line, row in rows]
