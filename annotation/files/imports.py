"""Import answers that were given elsewhere: a whole file or nothing."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

from django.db import transaction
from django.db.models import Max
from django.utils import timezone

from annotation.files.answers_in import Answer, Line, read_answers
from annotation.models import Annotation, Annotator, Assignment
from studies.importers.files.bundle import File
from studies.importers.files.faults import Fault, Refused
from studies.models import Item, Study
from studies.services.studies import freeze, lock_study, record

_BATCH = 1000


@dataclass(frozen=True)
class ImportedAnswers:
    """The result of an import."""

    added: int
    unchanged: int
    raters: int
    left_out: int

    def __str__(self) -> str:
        left_out = f" Left out as not counted: {self.left_out:,}." if self.left_out else ""
        return (
            f"Answers imported: {self.added:,}; there already: {self.unchanged:,}. "
            f"Imported raters in the study: {self.raters:,}.{left_out}"
        )


@transaction.atomic
def import_annotations(
    *,
    study_id: int,
    file: File,
    dry_run: bool = False,
    on_row: Callable[[], None] = lambda: None,
) -> ImportedAnswers:
    """Import a file of answers. They hold no seats and count in every report.

    Answers that are already imported are not stored again. If a row is broken, names an unknown
    item, or differs from the stored answer, nothing is stored, and `Refused` is raised with all
    errors.
    """
    study = lock_study(study_id)
    items = dict(Item.objects.filter(study=study).values_list("key", "pk"))
    people = Annotator.objects.filter(study=study)
    answers = read_answers(
        file,
        item_keys=set(items),
        taken=set(people.filter(is_imported=False).values_list("pseudonym", flat=True)),
        on_row=on_row,
    )
    stored = _stored(study)
    lines = answers.lines
    _refuse_changes(lines, stored, file.name)
    new = [
        line.answer for line in lines if (line.answer.rater_id, line.answer.item_id) not in stored
    ]
    if not dry_run and new:
        freeze(study.pk)
        _store(study, new, items)
        record(study, "answers imported", answers=len(new), file=file.name)
    raters = {rater for rater, _ in stored} | {answer.rater_id for answer in new}
    return ImportedAnswers(len(new), len(lines) - len(new), len(raters), answers.left_out)


def _stored(study: Study) -> dict[tuple[str, str], Answer]:
    """The answers imported so far, by rater and item."""
    rows = Annotation.objects.filter(
        standing=Annotation.Standing.IMPORTED, assignment__annotator__study=study
    ).values_list(
        "assignment__annotator__pseudonym",
        "assignment__item__key",
        "choice",
        "certainty",
        "active_ms",
        "assignment__shown_first",
        "answered_at",
    )
    return {(row[0], row[1]): Answer(*row) for row in rows}


def _refuse_changes(lines: list[Line], stored: dict[tuple[str, str], Answer], file: str) -> None:
    faults = []
    for line in lines:
        answer = line.answer
        before = stored.get((answer.rater_id, answer.item_id))
        if before is not None and before != answer:
            faults.append(
                Fault(
                    line.number,
                    "",
                    "other answer than imported before",
                    f"rater “{answer.rater_id}” already has another answer to “{answer.item_id}”: "
                    f"{before.choice}, certainty {before.certainty}.",
                    "Imported answers do not change. Correct the file, or use another rater_id.",
                    file=file,
                )
            )
    if faults:
        raise Refused(faults)


def _store(study: Study, answers: list[Answer], items: dict[str, int]) -> None:
    raters = _raters(study, answers)
    positions: Counter[int] = Counter(
        dict(
            Assignment.objects.filter(annotator__in=raters.values())
            .values_list("annotator")
            .annotate(last=Max("position"))
        )
    )
    assignments = []
    for answer in answers:
        rater = raters[answer.rater_id]
        positions[rater.pk] += 1
        assignments.append(
            Assignment(
                annotator=rater,
                item_id=items[answer.item_id],
                position=positions[rater.pk],
                shown_first=answer.shown_first,
                is_surplus=True,
                state=Assignment.State.ANSWERED,
            )
        )
    Assignment.objects.bulk_create(assignments, batch_size=_BATCH)
    Annotation.objects.bulk_create(
        (
            Annotation(
                assignment=assignment,
                choice=answer.choice,
                certainty=answer.certainty,
                certainty_asked=answer.certainty is not None,
                standing=Annotation.Standing.IMPORTED,
                answered_at=answer.answered_at,
                active_ms=answer.active_ms,
            )
            for assignment, answer in zip(assignments, answers, strict=True)
        ),
        batch_size=_BATCH,
    )


def _raters(study: Study, answers: list[Answer]) -> dict[str, Annotator]:
    """The imported raters by their id; creates those that do not exist yet."""
    raters = {a.pseudonym: a for a in Annotator.objects.filter(study=study, is_imported=True)}
    now = timezone.now()
    new = [
        Annotator(
            study=study,
            pseudonym=rater_id,
            is_imported=True,
            state=Annotator.State.COMPLETED,
            ended_at=now,
        )
        for rater_id in dict.fromkeys(answer.rater_id for answer in answers)
        if rater_id not in raters
    ]
    Annotator.objects.bulk_create(new, batch_size=_BATCH)
    return raters | {rater.pseudonym: rater for rater in new}
