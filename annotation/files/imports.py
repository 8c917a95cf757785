"""Import answers given elsewhere: a whole file, or nothing and all its errors."""

import datetime as dt
import re
from collections import Counter
from collections.abc import Callable, Container, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from django.db import transaction
from django.db.models import Max
from django.utils.dateparse import parse_datetime

from annotation.models import Annotation, Annotator, Assignment
from annotation.services.identities import imported_hashes
from studies.extra import Kind
from studies.importers.files.answer_rows import (
    UNKNOWN_ITEM,
    AnswerRow,
    KeptRows,
    ScaleRange,
    known_id,
    read_answer_rows,
    unclear_scale,
)
from studies.importers.files.bundle import File
from studies.importers.files.faults import LISTED, Fault, Faults, Refused, same_id, skipped_rows
from studies.importers.files.lines import BadLine
from studies.importers.sets import data_sets
from studies.importers.sets.data_set import DataSet, Files, SetFile, Tally, columns_of
from studies.models import Item, Study
from studies.services.studies import freeze, lock_study, record
from studies.statements import clock
from studies.statements.bulk import insert_rows
from studies.texts.cells import as_sentence

REQUIRED = ("rater_id", "item_id", "choice")
NOT_COUNTED = ("surplus", "released", "withdrawn")
TRUE = (True, "True", "true", "1")
_ID = re.compile(r"[A-Za-z0-9._:-]{1,120}")
_FIRST = 1900  # the first year in which somebody can have answered
_CLOCKS_DIFFER = dt.timedelta(days=1)


@dataclass(frozen=True)
class AnswerIn:
    """One answer from a file."""

    rater_id: str
    item_id: str
    choice: str
    certainty: int | None
    active_ms: int | None
    shown_first: str
    answered_at: dt.datetime | None


@dataclass(frozen=True)
class AnswerLine:
    """An answer and its line number in the file."""

    number: int
    answer: AnswerIn


class AnswerFile:
    """The answers of a file, kept on disk, and how many rows it marks as not counted."""

    def __init__(self) -> None:
        self._rows = KeptRows()
        self.left_out = self.without_item = 0
        self.skipped: list[Fault] = []

    def keep(self, line: int, answer: AnswerIn) -> AnswerLine | None:
        """Keep an answer, or return an earlier one of the same rater to the same item."""
        *values, moment = vars(answer).values()
        text = None if moment is None else moment.astimezone(dt.UTC).isoformat()
        earlier = self._rows.keep(line, (answer.rater_id, answer.item_id), (*values, text))
        return None if earlier is None else _line(*earlier)

    def __len__(self) -> int:
        return len(self._rows)

    def portions(self) -> Iterator[list[AnswerLine]]:
        """The answers in the order of the file, a thousand at a time."""
        for rows in self._rows.portions():
            yield [_line(*row) for row in rows]


def _line(number: int, values: list[Any]) -> AnswerLine:
    if values[-1] is not None:
        values[-1] = dt.datetime.fromisoformat(values[-1])
    return AnswerLine(number, AnswerIn(*values))


def read_answers(
    file: File,
    *,
    item_keys: Container[str],
    taken: set[str],
    format: str = "",
    raters: Container[str] = (),
    deleted: Container[str] = (),
    skip_faulty: bool = False,
    scale: ScaleRange | None = None,
    on_row: Callable[[], None] = lambda: None,
) -> AnswerFile:
    """Read the answers of a file, each (rater, item) once. Raises `Refused` with every error.

    `item_keys` are the study's items; `taken` are the pseudonyms of its own annotators, which no
    imported rater may use; `raters` are those of earlier imports, `deleted` the keyed hashes of
    those who asked for deletion. A row that exactly repeats an earlier one is skipped, and so is
    one that an export marks as excluded or as holding no seat.
    With `skip_faulty`, faulty rows are left out, and `skipped` of the result has their faults.
    `scale` is that of the certainties; without it, a file with only low ones is refused. With the
    `format` of a data set, its own file is read, without answers to items that the study lacks.
    """
    reader = _AnswerReader(
        file.name, item_keys, taken, raters, deleted, skip=skip_faulty, scale=scale
    )
    own = set_answers(file, data_sets()[format]) if format else None
    for row in own or read_answer_rows(file, required=REQUIRED):
        on_row()
        if isinstance(row, BadLine):
            reader.faults.append(row.fault)
        elif own is not None and row[1]["item_id"] not in item_keys:
            reader.answers.without_item += 1
        else:
            reader.read(*row)
    answers = reader.answers
    if scale is None and (unclear := unclear_scale(reader.certainties, file.name)):
        reader.faults.append(unclear)
    answers.skipped = reader.faults.skipped
    if not answers and not reader.faults and not answers.left_out:
        message, remedy = "the file has no answers.", "Write one per line."
        unknown = sum(fault.rule == UNKNOWN_ITEM for fault in answers.skipped)
        if unknown := unknown + answers.without_item:
            message = f"none of {unknown:,} answers is about an item of the study."
            remedy = "Import the items of the file first."
        reader.faults.append(Fault(None, "", "no answers", message, remedy, file=file.name))
    if reader.faults:
        raise Refused(reader.faults)
    return answers


def set_answers(file: File, dataset: DataSet) -> Iterator[tuple[int, Any]]:
    """The answers in a file of a data set. Raises `Refused` with every fault at the end."""
    if dataset.answers is None:
        known = ", ".join(name for name, data_set in data_sets().items() if data_set.answers)
        message = f"{dataset.title} has no answers of several people to the same items."
        raise Refused([Fault(None, "", "no answers", message, f"These have some: {known}.")])
    tally = Tally()
    with file.open() as stream:
        part = SetFile(file.name, "", columns_of(stream), file.open)
    yield from dataset.answers(Files(dataset.title, dataset.roles, [part]), tally)
    if tally.faults:
        raise Refused(tally.faults)


class _AnswerReader:
    """Converter of the rows of one file into answers; collects their errors."""

    def __init__(
        self,
        file: str,
        item_keys: Container[str],
        taken: set[str],
        raters: Container[str],
        deleted: Container[str],
        *,
        skip: bool,
        scale: ScaleRange | None,
    ) -> None:
        self.scale = scale
        self.certainties: list[int] = []
        self.file, self.item_keys, self.taken, self.raters = file, item_keys, taken, raters
        self.deleted = deleted
        self.faults = Faults(skip=skip)
        self.answers = AnswerFile()

    def read(self, number: int, raw: Any) -> None:
        """Read one row as an answer, or collect its errors."""
        row = AnswerRow(number, self.file, self.scale)
        if not isinstance(raw, Mapping):
            row.fault("", "not an object", "the line is not a JSON object.", "Write one answer.")
        elif raw.get("standing") in NOT_COUNTED or raw.get("excluded") in TRUE:
            self.answers.left_out += 1
        elif len(self.faults.skipped) >= LISTED and row.is_unknown(raw, self.item_keys):
            self.answers.without_item += 1
        else:
            answer = self._answer(row, raw)
            if not row.faults:
                self._keep(row, answer)
                self.certainties += [] if answer.certainty is None else [answer.certainty]
        self.faults += row.faults

    def _answer(self, row: AnswerRow, raw: Mapping[str, Any]) -> AnswerIn:
        item = row.item(raw, self.item_keys)
        rater = self._rater(row, row.one(raw, "rater_id"))
        if raw.get("choice") in (None, "", []):
            row.fault("choice", "no choice", "choice is missing.", "Use r1, r2 or tie.")
        choice = row.choice(raw)
        answer = AnswerIn(
            rater_id=rater,
            item_id=item,
            choice=choice,
            certainty=row.certainty(raw, choice=choice),
            # As in reports: the time between two requests if the page measured none.
            active_ms=row.whole_number(raw, "active_ms", low=0, high=2**53 - 1)
            or row.whole_number(raw, "elapsed_ms", low=0, high=2**53 - 1),
            shown_first=row.shown_first(raw),
            answered_at=_time(row, raw.get("answered_at")),
        )
        row.rater_kind(raw, "human", command="import_judgments")
        return answer

    def _keep(self, row: AnswerRow, answer: AnswerIn) -> None:
        earlier = self.answers.keep(row.line, answer)
        if earlier is not None and earlier.answer != answer:
            row.fault(
                "",
                "two answers to one item",
                f"rater “{answer.rater_id}” answered item “{answer.item_id}” differently "
                f"{row.on(earlier.number)}.",
                "Keep one of the two.",
            )

    def _rater(self, row: AnswerRow, value: Any) -> str:
        rater = known_id("" if value is None else str(value), self.raters)
        rater = rater if rater in self.raters else same_id(rater)
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
        elif self.deleted and any(code in self.deleted for code in imported_hashes(rater)):
            row.fault(
                "rater_id",
                "rater was deleted",
                f"“{rater}” asked for the deletion of their answers.",
                "Remove their lines from the file.",
                value=rater,
            )
        return rater


def _time(row: AnswerRow, value: Any) -> dt.datetime | None:
    if value is None:
        return None
    moment = None
    with suppress(ValueError, OverflowError):  # of a date that no clock can hold
        if isinstance(value, str) and (written := parse_datetime(value)):
            moment = (written if written.tzinfo else written.replace(tzinfo=dt.UTC)).astimezone(
                dt.UTC
            )
    if moment is None or moment.year < _FIRST or moment > clock.now() + _CLOCKS_DIFFER:
        row.fault(
            "answered_at",
            "time is malformed",
            f"answered_at “{str(value)[:80]}” is not a date and time from {_FIRST} to today.",
            "Write it like 2026-05-20T11:03:00Z, or leave it empty.",
            value=value,
        )
        return None
    return moment


_IMPORTED, _ANSWERED = Annotation.Standing.IMPORTED, Assignment.State.ANSWERED


@dataclass(frozen=True)
class ImportedAnswers:
    """The result of an import."""

    added: int
    unchanged: int
    raters: int
    left_out: int
    without_item: int = 0
    skipped: tuple[Fault, ...] = ()
    changed: str = ""

    def __str__(self) -> str:
        left_out = f" Left out as not counted: {self.left_out:,}." if self.left_out else ""
        if self.without_item:
            left_out += f" About items that the study lacks: {self.without_item:,}."
        return (
            f"Answers imported: {self.added:,}; there already: {self.unchanged:,}. "
            f"Imported raters in the study: {self.raters:,}.{left_out}"
            f"{self.changed}{skipped_rows(self.skipped)}"
        )


@dataclass(frozen=True)
class AddedAnswers:
    """What an extra imports about answers that are there, by the option `name` of the command.

    `read` gets the id of the study, the file, `dry_run` and `on_row`, and returns what to say. It
    raises `Refused` or `StudyError`.
    """

    name: str
    help: str
    read: Callable[..., object]


MORE: Kind[AddedAnswers] = Kind("importers", "answers")


@transaction.atomic
def import_annotations(
    *,
    study_id: int,
    file: File,
    format: str = "",
    dry_run: bool = False,
    skip_faulty: bool = False,
    scale: ScaleRange | None = None,
    on_row: Callable[[], None] = lambda: None,
) -> ImportedAnswers:
    """Import a file of answers, which hold no seats and count in every report.

    Imported answers are not stored again. If a row is broken, names an unknown item, or differs
    from the stored answer, nothing is stored, and `Refused` is raised with all errors; with
    `skip_faulty`, such rows are left out. `format` names a data set whose own file has the answers,
    `scale` is the lowest and highest certainty.
    """
    file = file.once()
    study = lock_study(study_id)
    items = dict(Item.objects.filter(study=study).values_list("key", "pk"))
    people = Annotator.objects.filter(study=study)
    answers = read_answers(
        file,
        item_keys=items,
        format=format,
        skip_faulty=skip_faulty,
        scale=scale,
        raters=set(people.filter(is_imported=True).values_list("pseudonym", flat=True)),
        taken=set(people.filter(is_imported=False).values_list("pseudonym", flat=True)),
        deleted={
            code
            for code in people.filter(is_imported=True).values_list("identity_hash", flat=True)
            if code
        },
        on_row=on_row,
    )
    storage = _AnswerStorage(study, items, file.name, dry_run=dry_run, skip=skip_faulty)
    for lines in answers.portions():
        storage.store(lines)
    if storage.faults:
        raise Refused(storage.faults)
    if storage.added and not dry_run:
        freeze(study.pk)
        record(study, "answers imported", answers=storage.added, file=file.name)
    skipped = (*answers.skipped, *storage.faults.skipped)
    return ImportedAnswers(
        added=storage.added,
        unchanged=len(answers) - storage.added - len(storage.faults.skipped),
        raters=len(storage.raters),
        left_out=answers.left_out,
        without_item=answers.without_item,
        skipped=skipped,
        changed=as_sentence(file.changes),
    )


class _AnswerStorage:
    """Stores answers in portions. After the first fault, it only checks the rest."""

    def __init__(
        self, study: Study, items: dict[str, int], file: str, *, dry_run: bool, skip: bool
    ) -> None:
        self._study, self._items, self._file, self._dry_run = study, items, file, dry_run
        self.faults = Faults(skip=skip)
        self.added = 0
        imported = Annotator.objects.filter(study=study, is_imported=True)
        self._ids = dict(imported.values_list("pseudonym", "pk"))
        with_answers = imported.filter(assignments__annotation__standing=_IMPORTED).distinct()
        self.raters = set(with_answers.values_list("pseudonym", flat=True))
        self._had_answers = bool(self.raters)
        last = Assignment.objects.filter(annotator__in=imported).values_list("annotator")
        self._positions = Counter[int](dict(last.annotate(last=Max("position"))))

    def store(self, lines: list[AnswerLine]) -> None:
        """Store the answers that the study lacks; a different stored answer is a fault."""
        stored = self._stored(lines) if self._had_answers else {}
        new = []
        for line in lines:
            before = stored.get((line.answer.rater_id, line.answer.item_id))
            if before is None:
                new.append(line.answer)
            elif before != line.answer:
                self.faults.append(_other_answer(line, before, self._file))
        self.added += len(new)
        self.raters |= {answer.rater_id for answer in new}
        if new and not self._dry_run and not self.faults:
            self._insert(new)

    def _stored(self, lines: list[AnswerLine]) -> dict[tuple[str, str], AnswerIn]:
        """The earlier imported answers to the items of these lines, by rater and item."""
        rows = Annotation.objects.filter(
            standing=_IMPORTED,
            assignment__annotator__study=self._study,
            assignment__item__in={self._items[line.answer.item_id] for line in lines},
        ).values_list(
            "assignment__annotator__pseudonym",
            "assignment__item__key",
            "choice",
            "certainty",
            "active_ms",
            "assignment__shown_first",
            "answered_at",
        )
        return {(row[0], row[1]): AnswerIn(*row) for row in rows}

    def _insert(self, answers: list[AnswerIn]) -> None:
        self._add_raters(answers)
        seats = self._add_assignments(answers)
        insert_rows(
            Annotation,
            (
                "assignment",
                "choice",
                "certainty",
                "certainty_asked",
                "standing",
                "answered_at",
                "active_ms",
            ),
            [
                (
                    seats[self._ids[answer.rater_id], self._items[answer.item_id]],
                    answer.choice,
                    answer.certainty,
                    answer.certainty is not None,
                    _IMPORTED.value,
                    answer.answered_at,
                    answer.active_ms,
                )
                for answer in answers
            ],
        )

    def _add_assignments(self, answers: list[AnswerIn]) -> dict[tuple[int, int], int]:
        """Assignments for new answers; their ids by annotator and item."""
        rows = []
        raters, items = set[int](), set[int]()
        for answer in answers:
            rater, item = self._ids[answer.rater_id], self._items[answer.item_id]
            raters.add(rater)
            items.add(item)
            self._positions[rater] += 1
            position = self._positions[rater]
            rows.append((rater, item, position, answer.shown_first, True, _ANSWERED.value))
        names = ("annotator", "item", "position", "shown_first", "is_surplus", "state")
        insert_rows(Assignment, names, rows)
        assignments = Assignment.objects.filter(annotator__in=raters, item__in=items)
        ids = assignments.order_by().values_list("annotator", "item", "pk")
        return {(rater, item): pk for rater, item, pk in ids}

    def _add_raters(self, answers: list[AnswerIn]) -> None:
        now = clock.now()
        new = [
            Annotator(
                study=self._study,
                pseudonym=rater_id,
                is_imported=True,
                state=Annotator.State.COMPLETED,
                ended_at=now,
            )
            for rater_id in dict.fromkeys(answer.rater_id for answer in answers)
            if rater_id not in self._ids
        ]
        Annotator.objects.bulk_create(new)
        self._ids |= {rater.pseudonym: rater.pk for rater in new}


def _other_answer(line: AnswerLine, before: AnswerIn, file: str) -> Fault:
    return Fault(
        line.number,
        "",
        "other answer than imported before",
        f"rater “{line.answer.rater_id}” already has another answer to “{line.answer.item_id}”: "
        f"{before.choice}, certainty {before.certainty}.",
        "Imported answers do not change. Correct the file, or use another rater_id.",
        file=file,
    )
