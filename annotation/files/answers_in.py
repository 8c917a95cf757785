"""Files of answers (CSV or JSON Lines), checked row by row; every fault is kept, not the first."""

import datetime as dt
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from django.utils.dateparse import parse_datetime

from studies.importers.files.answer_rows import read_answer_rows
from studies.importers.files.bundle import File
from studies.importers.files.faults import Fault, Faults, Refused
from studies.importers.files.readers import BadLine
from studies.models import Choice, Side

REQUIRED = ("rater_id", "item_id", "choice")
NOT_COUNTED = ("surplus", "released", "withdrawn")
TRUE = (True, "True", "true", "1")
_ID = re.compile(r"[A-Za-z0-9._:-]{1,120}")


@dataclass(frozen=True)
class Answer:
    """One answer of a file."""

    rater_id: str
    item_id: str
    choice: str
    certainty: int | None
    active_ms: int | None
    shown_first: str
    answered_at: dt.datetime | None


@dataclass(frozen=True)
class Line:
    """An answer and where it stands."""

    number: int
    answer: Answer


@dataclass(frozen=True)
class AnswerFile:
    """The answers of a file, and how many rows it marks as not counted."""

    lines: list[Line]
    left_out: int


def read_answers(
    file: File,
    *,
    item_keys: set[str],
    taken: set[str],
    on_row: Callable[[], None] = lambda: None,
) -> AnswerFile:
    """The answers of a file, each (rater, item) once. Raises `Refused` with every fault.

    `item_keys` are the study's items; `taken` are pseudonyms of people who answered here, which
    no imported rater may bear. A row that repeats an earlier one word for word is passed over,
    and so is one that an export marks as excluded or as holding no seat: it did not count there.
    """
    checker = _Checker(file.name, item_keys, taken)
    for row in read_answer_rows(file, required=REQUIRED):
        on_row()
        if isinstance(row, BadLine):
            checker.faults.append(row.fault)
        else:
            checker.row(*row)
    if not checker.lines and not checker.faults and not checker.left_out:
        checker.fault(None, "", "no answers", "the file has no answers.", "Write one a line.")
    if checker.faults:
        raise Refused(checker.faults)
    return AnswerFile(list(checker.lines.values()), checker.left_out)


class _Checker:
    """Turns the rows of one file into answers and remembers its faults."""

    def __init__(self, file: str, item_keys: set[str], taken: set[str]) -> None:
        self.file, self.item_keys, self.taken = file, item_keys, taken
        self.faults = Faults()
        self.lines: dict[tuple[str, str], Line] = {}
        self.left_out = 0

    def fault(
        self, line: int | None, field: str, rule: str, message: str, remedy: str, value: Any = ""
    ) -> None:
        self.faults.append(Fault(line, field, rule, message, remedy, str(value)[:80], self.file))

    def row(self, number: int, raw: Any) -> None:
        """Take one row as an answer, or its faults."""
        if not isinstance(raw, Mapping):
            self.fault(
                number, "", "not an object", "the line is not a JSON object.", "Write one answer."
            )
            return
        if raw.get("standing") in NOT_COUNTED or raw.get("excluded") in TRUE:
            self.left_out += 1
            return
        before = len(self.faults)
        answer = Answer(
            rater_id=self._rater(number, raw.get("rater_id")),
            item_id=self._item(number, raw.get("item_id")),
            choice=self._choice(number, raw.get("choice")),
            certainty=self._certainty(number, raw.get("certainty"), raw.get("choice")),
            active_ms=self._milliseconds(number, raw.get("active_ms")),
            shown_first=self._side(number, raw.get("shown_first")),
            answered_at=self._time(number, raw.get("answered_at")),
        )
        if raw.get("rater_kind") not in (None, "human"):
            self.fault(
                number, "rater_kind", "not a person", "this is the answer of a model.",
                "Import it with import_judgments.", raw["rater_kind"],
            )  # fmt: skip
        if len(self.faults) > before:
            return
        earlier = self.lines.setdefault((answer.rater_id, answer.item_id), Line(number, answer))
        if earlier.answer != answer:
            self.fault(
                number, "", "two answers to one item",
                f"rater “{answer.rater_id}” answered item “{answer.item_id}” otherwise on line "
                f"{earlier.number}.",
                "Keep one of the two.",
            )  # fmt: skip

    def _rater(self, line: int, value: Any) -> str:
        rater = "" if value is None else str(value)
        if not rater:
            self.fault(line, "rater_id", "no rater", "rater_id is missing.", "Give a pseudonym.")
        elif not _ID.fullmatch(rater):
            self.fault(
                line, "rater_id", "rater is malformed",
                f"rater_id “{rater[:80]}” may use only letters, digits and . _ : -",
                "Use 1 to 120 of them.", rater,
            )  # fmt: skip
        elif rater in self.taken:
            self.fault(
                line, "rater_id", "rater is taken",
                f"“{rater}” is the pseudonym of somebody who answered in this study.",
                "Rename the rater in the file.", rater,
            )  # fmt: skip
        return rater

    def _item(self, line: int, value: Any) -> str:
        key = "" if value is None else str(value)
        if not key:
            self.fault(line, "item_id", "no item", "item_id is missing.", "Give the item's id.")
        elif key not in self.item_keys:
            self.fault(
                line, "item_id", "unknown item", f"item “{key[:120]}” is not in the study.",
                "Import the items first, or correct the id.", key,
            )  # fmt: skip
        return key

    def _choice(self, line: int, value: Any) -> str:
        if value not in Choice.values:
            shown = "is missing" if value is None else f"“{str(value)[:80]}” is not allowed"
            self.fault(
                line, "choice", "choice is not allowed", f"choice {shown}; use r1, r2 or tie.",
                "Sides A and B are decided when the item is shown.", value or "",
            )  # fmt: skip
        return str(value)

    def _certainty(self, line: int, value: Any, choice: Any) -> int | None:
        certainty = self._whole(value)
        if certainty is None and value is None:
            return None
        if certainty is None or not 1 <= certainty <= 100:
            self.fault(
                line, "certainty", "certainty out of range",
                f"certainty “{str(value)[:80]}” is not a whole number from 1 to 100.",
                "Correct it, or leave it empty.", value,
            )  # fmt: skip
        elif choice == Choice.TIE:
            self.fault(
                line, "certainty", "tie with a certainty", "a tie has no certainty.",
                "Leave certainty empty.", value,
            )  # fmt: skip
        return certainty

    def _milliseconds(self, line: int, value: Any) -> int | None:
        number = self._whole(value)
        if value is not None and (number is None or not 0 <= number < 2**53):
            self.fault(
                line, "active_ms", "time is malformed",
                f"active_ms “{str(value)[:80]}” is not a whole number of milliseconds.",
                "Correct it, or leave it empty.", value,
            )  # fmt: skip
        return number

    def _side(self, line: int, value: Any) -> str:
        if value is not None and value not in Side.values:
            self.fault(
                line, "shown_first", "order is malformed",
                f"shown_first “{str(value)[:80]}” is not r1 or r2.", "Leave it empty if unknown.",
                value,
            )  # fmt: skip
        return value if value in Side.values else ""

    def _time(self, line: int, value: Any) -> dt.datetime | None:
        if value is None:
            return None
        try:
            moment = parse_datetime(value) if isinstance(value, str) else None
        except ValueError:
            moment = None
        if moment is None:
            self.fault(
                line, "answered_at", "time is malformed",
                f"answered_at “{str(value)[:80]}” is no date and time.",
                "Write it like 2026-05-20T11:03:00Z, or leave it empty.", value,
            )  # fmt: skip
            return None
        return moment if moment.tzinfo else moment.replace(tzinfo=dt.UTC)

    @staticmethod
    def _whole(value: Any) -> int | None:
        """A whole number written as such; true, 7.5 and “seven” are none."""
        if isinstance(value, int) and not isinstance(value, bool):
            return value
        if isinstance(value, str) and re.fullmatch(r"\s*-?[0-9]{1,18}\s*", value):
            return int(value)
        return None
