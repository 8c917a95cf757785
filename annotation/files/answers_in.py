"""Read files of human answers (CSV or JSON Lines), check each row, and collect all errors."""

import datetime as dt
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from django.utils.dateparse import parse_datetime

from studies.importers.files.answer_rows import AnswerRow, read_answer_rows
from studies.importers.files.bundle import File
from studies.importers.files.faults import Fault, Faults, Refused
from studies.importers.files.readers import BadLine

REQUIRED = ("rater_id", "item_id", "choice")
NOT_COUNTED = ("surplus", "released", "withdrawn")
TRUE = (True, "True", "true", "1")
_ID = re.compile(r"[A-Za-z0-9._:-]{1,120}")


@dataclass(frozen=True)
class Answer:
    """One answer from a file."""

    rater_id: str
    item_id: str
    choice: str
    certainty: int | None
    active_ms: int | None
    shown_first: str
    answered_at: dt.datetime | None


@dataclass(frozen=True)
class Line:
    """An answer and its line number in the file."""

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
    """Read the answers of a file, each (rater, item) once. Raises `Refused` with every error.

    `item_keys` are the study's items; `taken` are pseudonyms of annotators who answered in this
    study, which no imported rater may use. A row that exactly repeats an earlier one is skipped,
    and so is one that an export marks as excluded or as holding no seat: it did not count there.
    """
    reader = _AnswerReader(file.name, item_keys, taken)
    for row in read_answer_rows(file, required=REQUIRED):
        on_row()
        if isinstance(row, BadLine):
            reader.faults.append(row.fault)
        else:
            reader.read(*row)
    if not reader.lines and not reader.faults and not reader.left_out:
        message = "the file has no answers."
        reader.faults.append(
            Fault(None, "", "no answers", message, "Write one a line.", file=file.name)
        )
    if reader.faults:
        raise Refused(reader.faults)
    return AnswerFile(list(reader.lines.values()), reader.left_out)


class _AnswerReader:
    """Converter of the rows of one file into answers; collects their errors."""

    def __init__(self, file: str, item_keys: set[str], taken: set[str]) -> None:
        self.file, self.item_keys, self.taken = file, item_keys, taken
        self.faults = Faults()
        self.lines: dict[tuple[str, str], Line] = {}
        self.left_out = 0

    def read(self, number: int, raw: Any) -> None:
        """Read one row as an answer, or collect its errors."""
        row = AnswerRow(number, self.file)
        if not isinstance(raw, Mapping):
            row.fault("", "not an object", "the line is not a JSON object.", "Write one answer.")
        elif raw.get("standing") in NOT_COUNTED or raw.get("excluded") in TRUE:
            self.left_out += 1
        else:
            answer = self._answer(row, raw)
            if not row.faults:
                self._keep(row, answer)
        self.faults += row.faults

    def _answer(self, row: AnswerRow, raw: Mapping[str, Any]) -> Answer:
        rater = self._rater(row, raw.get("rater_id"))
        item = row.item(raw, self.item_keys)
        if raw.get("choice") in (None, ""):
            row.fault("choice", "no choice", "choice is missing.", "Use r1, r2 or tie.")
        choice = row.choice(raw)
        answer = Answer(
            rater_id=rater,
            item_id=item,
            choice=choice,
            certainty=row.certainty(raw, choice=choice),
            active_ms=row.whole_number(raw, "active_ms", low=0, high=2**53 - 1),
            shown_first=row.shown_first(raw),
            answered_at=_time(row, raw.get("answered_at")),
        )
        row.rater_kind(raw, "human", command="import_judgments")
        return answer

    def _keep(self, row: AnswerRow, answer: Answer) -> None:
        key = (answer.rater_id, answer.item_id)
        earlier = self.lines.setdefault(key, Line(row.line, answer))
        if earlier.answer != answer:
            row.fault(
                "",
                "two answers to one item",
                f"rater “{answer.rater_id}” answered item “{answer.item_id}” differently on line "
                f"{earlier.number}.",
                "Keep one of the two.",
            )

    def _rater(self, row: AnswerRow, value: Any) -> str:
        rater = "" if value is None else str(value)
        if not rater:
            row.fault("rater_id", "no rater", "rater_id is missing.", "Give a pseudonym.")
        elif not _ID.fullmatch(rater):
            row.fault(
                "rater_id",
                "rater is malformed",
                f"rater_id “{rater[:80]}” may use only letters, digits and . _ : -",
                "Use 1 to 120 of them.",
                value=rater,
            )
        elif rater in self.taken:
            row.fault(
                "rater_id",
                "rater is taken",
                f"“{rater}” is the pseudonym of somebody who answered in this study.",
                "Rename the rater in the file.",
                value=rater,
            )
        return rater


def _time(row: AnswerRow, value: Any) -> dt.datetime | None:
    if value is None:
        return None
    try:
        moment = parse_datetime(value) if isinstance(value, str) else None
    except ValueError:
        moment = None
    if moment is None:
        row.fault(
            "answered_at",
            "time is malformed",
            f"answered_at “{str(value)[:80]}” is no date and time.",
            "Write it like 2026-05-20T11:03:00Z, or leave it empty.",
            value=value,
        )
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=dt.UTC)
