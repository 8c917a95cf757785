"""Files of judgments, checked row by row; every fault is kept, not the first.

Two shapes: our own answers of models (CSV or JSON Lines with item_id and choice), and the result
files released with “Can LLM be a Personalized Judge?”.
"""

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from studies.importers.files.answer_rows import read_answer_rows
from studies.importers.files.bundle import File
from studies.importers.files.faults import Fault, Faults, Refused
from studies.importers.files.readers import BadLine, read_json_lines
from studies.importers.items.personalized_judge import aligned, looks_released, parse_released
from studies.models import Choice, Item, Side
from studies.text import plain

REQUIRED = ("item_id", "choice")
_NO_VERDICT = ("unparseable", "refused", "skipped", "error")
_STATUSES = ("ok", "regenerated", *_NO_VERDICT)
_SETTINGS = ("standard", "certainty", "tie")
MOST_SAMPLES = 100


@dataclass(frozen=True)
class Row:
    """One judgment of a file, in content terms."""

    line: int
    item_key: str
    shown_first: str  # empty where the file does not say
    sample: int
    state: str
    choice: str
    certainty: int | None
    raw_text: str
    replies: int

    @property
    def place(self) -> tuple[str, str, int]:
        return self.item_key, self.shown_first, self.sample


@dataclass(frozen=True)
class JudgmentFile:
    """What a file holds; setting and features as it says or shows itself."""

    rows: list[Row]
    setting: str
    feature_keys: list[str] | None  # None: everything


def read_judgments(file: File, *, items: Mapping[str, Item]) -> JudgmentFile:
    """Read a file whole. Raises `Refused` with every fault, each with its line and remedy."""
    if _is_released(file):
        return _read_released(file, items)
    checker = _Checker(file.name, items)
    for found in read_answer_rows(file, required=REQUIRED):
        if isinstance(found, BadLine):
            checker.faults.append(found.fault)
        else:
            checker.take(*found)
    if not checker.rows and not checker.faults:
        checker.fault(None, "", "no judgments", "The file has no judgments.", "Write one a line.")
    if checker.faults:
        raise Refused(checker.faults)
    return JudgmentFile(list(checker.rows.values()), checker.setting(), None)


def _is_released(file: File) -> bool:
    first = next(read_json_lines(file), None) if file.data.lstrip()[:1] == b"{" else None
    return isinstance(first, tuple) and isinstance(first[1], dict) and looks_released(first[1])


def _read_released(file: File, items: Mapping[str, Item]) -> JudgmentFile:
    released = parse_released(file.name, file.data)
    unknown = [row for row in released if row.item_id not in items]
    if unknown:
        raise Refused(
            Fault(
                row.line, "item", "unknown item", "the study has no such item.",
                "Import the items of the same files first.", row.item_id, file.name,
            )
            for row in unknown
        )  # fmt: skip
    rows = []
    seen = Counter[tuple[str, str]]()
    for row in released:
        row = aligned(row, items[row.item_id].r1)
        seen[row.item_id, row.shown_first] += 1
        rows.append(
            Row(
                line=row.line,
                item_key=row.item_id,
                shown_first=row.shown_first,
                sample=seen[row.item_id, row.shown_first],
                state="done" if row.choice else "unparseable",
                choice=row.choice,
                certainty=row.certainty if row.choice in (Choice.R1, Choice.R2) else None,
                raw_text=row.raw_text,
                replies=1,
            )
        )
    shown_all = all(
        row.feature_keys == [feature["key"] for feature in items[row.item_id].persona.features]
        for row in released
    )
    keys = list(dict.fromkeys(key for row in released for key in row.feature_keys))
    return JudgmentFile(rows, released[0].setting, None if shown_all and keys else keys)


class _Checker:
    """Turns the rows of one file into judgments and remembers its faults."""

    def __init__(self, file: str, items: Mapping[str, Item]) -> None:
        self._file, self._items = file, items
        self._raters: set[str] = set()
        self._settings: set[str] = set()
        self.faults = Faults()
        self.rows: dict[tuple[str, str, int], Row] = {}

    def fault(
        self, line: int | None, field: str, rule: str, message: str, remedy: str, value: Any = ""
    ) -> None:
        self.faults.append(Fault(line, field, rule, message, remedy, str(value)[:80], self._file))

    def setting(self) -> str:
        """The setting that the rows name, or the one that they must have been made in."""
        if self._settings:
            return self._settings.pop()
        if any(row.certainty is not None for row in self.rows.values()):
            return "certainty"
        tied = any(row.choice == Choice.TIE for row in self.rows.values())
        return "tie" if tied else "standard"

    def take(self, line: int, raw: Any) -> None:
        if not isinstance(raw, Mapping):
            self.fault(
                line, "", "not an object", "the line is not a JSON object.", "Write one judgment."
            )
            return
        before = len(self.faults)
        choice = self._one_of(line, raw, "choice", Choice.values)
        status = self._one_of(line, raw, "parse_status", _STATUSES)
        row = Row(
            line=line,
            item_key=self._item(line, raw.get("item_id")),
            shown_first=self._one_of(line, raw, "shown_first", Side.values),
            sample=self._number(line, raw, "sample", 1, MOST_SAMPLES) or 1,
            state=status if status in _NO_VERDICT else "done" if choice else "unparseable",
            choice=choice,
            certainty=self._number(line, raw, "certainty", 1, 100),
            raw_text=self._text(line, raw.get("raw_text")),
            replies=self._number(line, raw, "attempts", 0, 5) or 0,
        )
        self._consistent(row, status)
        self._file_wide(line, raw)
        if len(self.faults) > before:
            return
        known = self.rows.setdefault(row.place, row)
        if known is not row and _content(known) != _content(row):
            self.fault(
                line, "item_id", "judged twice",
                f"item “{row.item_key}” was judged otherwise on line {known.line}.",
                "Number repeated judgments of an item in a column “sample”.", row.item_key,
            )  # fmt: skip

    def _consistent(self, row: Row, status: str) -> None:
        if row.choice and status in _NO_VERDICT:
            self.fault(
                row.line, "choice", "choice without verdict",
                f"parse_status is {status}, yet there is a choice.",
                "Leave choice empty, or set parse_status to ok.", row.choice,
            )  # fmt: skip
        if not row.choice and status in ("ok", "regenerated"):
            self.fault(
                row.line, "choice", "verdict without choice",
                f"parse_status is {status}, yet there is no choice.",
                "Give the choice, or say how it ended: " + ", ".join(_NO_VERDICT) + ".",
            )  # fmt: skip
        elif row.certainty is not None and row.choice not in (Choice.R1, Choice.R2):
            self.fault(
                row.line, "certainty", "certainty without side",
                "there is a certainty without a choice of r1 or r2.",
                "Leave certainty empty.", row.certainty,
            )  # fmt: skip

    def _file_wide(self, line: int, raw: Mapping[str, Any]) -> None:
        """One file is one judge in one setting."""
        if raw.get("rater_kind") not in (None, "model"):
            self.fault(
                line, "rater_kind", "not a model", "this is the answer of a person.",
                "Import it with import_annotations.", raw["rater_kind"],
            )  # fmt: skip
        for field, seen in (("rater_id", self._raters), ("setting", self._settings)):
            value = self._one_of(line, raw, field, _SETTINGS if field == "setting" else None)
            if not value:
                continue
            seen.add(value)
            if len(seen) > 1:
                seen.discard(value)
                self.fault(
                    line, field, f"several of {field}",
                    f"the rows before have the {field} “{next(iter(seen))}”, this one “{value}”.",
                    "Import one file for each.", value,
                )  # fmt: skip

    def _item(self, line: int, value: Any) -> str:
        key = str(value or "")
        if key not in self._items:
            self.fault(
                line, "item_id", "unknown item", f"the study has no item “{key[:80]}”.",
                "Import the items first, or correct the id.", key,
            )  # fmt: skip
        return key

    def _one_of(self, line: int, raw: Mapping[str, Any], field: str, allowed: Any) -> str:
        value = raw.get(field)
        if value in (None, ""):
            return ""
        if allowed is not None and value not in allowed:
            hint = " Sides A and B mean nothing without the order." if field == "choice" else ""
            self.fault(
                line, field, f"{field} is not allowed", f"{field} “{value}” is not allowed.",
                f"Use {', '.join(allowed)}, or leave it empty.{hint}", value,
            )  # fmt: skip
        return str(value)

    def _number(
        self, line: int, raw: Mapping[str, Any], field: str, low: int, high: int
    ) -> int | None:
        value = raw.get(field)
        if value in (None, ""):
            return None
        text = str(value)
        if isinstance(value, bool) or not re.fullmatch(r"\d{1,9}", text):
            number = None
        else:
            number = int(text)
        if number is None or not low <= number <= high:
            self.fault(
                line, field, f"{field} is out of range", f"{field} “{text[:40]}” is not allowed.",
                f"Use a whole number from {low} to {high}, or leave it empty.", value,
            )  # fmt: skip
            return None
        return number

    def _text(self, line: int, value: Any) -> str:
        if value is None:
            return ""
        if not isinstance(value, str):
            self.fault(line, "raw_text", "raw_text is no text", "raw_text must be text.", "", value)
            return ""
        return plain(value)


def _content(row: Row) -> tuple[Any, ...]:
    return row.state, row.choice, row.certainty, row.raw_text
