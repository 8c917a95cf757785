"""Import answers that were given elsewhere: a whole file or nothing."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

from django.db import transaction
from django.db.models import Max

from annotation.files.answers_in import AnswerIn, AnswerLine, read_answers
from annotation.models import Annotation, Annotator, Assignment
from studies.importers.files.answer_rows import Scale
from studies.importers.files.bundle import File
from studies.importers.files.faults import Fault, Faults, Refused, skipped_rows
from studies.models import Item, Study
from studies.services.studies import freeze, lock_study, record
from studies.statements import clock
from studies.statements.bulk import insert_rows

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

    def __str__(self) -> str:
        left_out = f" Left out as not counted: {self.left_out:,}." if self.left_out else ""
        if self.without_item:
            left_out += f" About items that the study lacks: {self.without_item:,}."
        return (
            f"Answers imported: {self.added:,}; there already: {self.unchanged:,}. "
            f"Imported raters in the study: {self.raters:,}.{left_out}"
            f"{skipped_rows(self.skipped)}"
        )


@transaction.atomic
def import_annotations(
    *,
    study_id: int,
    file: File,
    format: str = "",
    dry_run: bool = False,
    skip_faulty: bool = False,
    scale: Scale | None = None,
    on_row: Callable[[], None] = lambda: None,
) -> ImportedAnswers:
    """Import a file of answers. They hold no seats and count in every report.

    Answers that are already imported are not stored again. If a row is broken, names an unknown
    item, or differs from the stored answer, nothing is stored, and `Refused` is raised with all
    errors; with `skip_faulty`, such rows are left out instead. `format` names a data set
    whose own file has the answers, `scale` the lowest and highest certainty.
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
        """Store the answers that the study lacks; one that it has otherwise is a fault."""
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
        """The answers imported before to the items of these lines, by rater and item."""
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
        found = Assignment.objects.filter(annotator__in=raters, item__in=items)
        ids = found.order_by().values_list("annotator", "item", "pk")
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
