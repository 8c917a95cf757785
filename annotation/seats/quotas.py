"""Quota places. Every change happens under the lock of the Study row."""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from django.db import transaction
from django.db.models import F, QuerySet

from annotation.errors import QuotaError
from annotation.models import Annotator, DemographicQuestion, QuotaCell
from studies.models import Study
from studies.services.studies import lock_study, record


def matching_cell(cells: Sequence[QuotaCell], demographics: Mapping[str, str]) -> QuotaCell | None:
    """The first cell whose criteria all hold, otherwise the one for everyone else."""
    for cell in cells:
        if not cell.is_everyone_else and all(
            demographics.get(key) == value for key, value in cell.criteria.items()
        ):
            return cell
    return next((cell for cell in cells if cell.is_everyone_else), None)


def find_group(annotator: Annotator) -> None:
    """Store which cell the annotator belongs to, without taking a place there."""
    cells = list(QuotaCell.objects.filter(study_id=annotator.study_id))
    annotator.quota_cell = matching_cell(cells, annotator.demographics)
    annotator.save(update_fields=["quota_cell"])


def reserve(annotator: Annotator) -> bool:
    """Reserve a place in the annotator's cell; False when it is full or there is none for them.

    A study without cells has room for everybody.
    """
    cells = list(QuotaCell.objects.filter(study_id=annotator.study_id))
    if not cells:
        return True
    annotator.quota_cell = matching_cell(cells, annotator.demographics)
    taken = annotator.quota_cell is not None and QuotaCell.objects.filter(
        pk=annotator.quota_cell.pk, target__gt=F("reserved") + F("completed")
    ).update(reserved=F("reserved") + 1)
    annotator.quota = Annotator.Quota.RESERVED if taken else Annotator.Quota.NONE
    annotator.save(update_fields=["quota_cell", "quota"])
    return bool(taken)


def _cell(annotator: Annotator) -> QuerySet[QuotaCell]:
    return QuotaCell.objects.filter(annotators=annotator)


def fill(annotator: Annotator) -> None:
    """Turn the place that the annotator reserved into a completed one."""
    if annotator.quota != Annotator.Quota.RESERVED:
        return
    _cell(annotator).update(reserved=F("reserved") - 1, completed=F("completed") + 1)
    annotator.quota = Annotator.Quota.COMPLETED
    annotator.save(update_fields=["quota"])


def release(annotator: Annotator) -> None:
    """Give back the place that the annotator holds, if any."""
    if annotator.quota == Annotator.Quota.NONE:
        return
    counter = annotator.quota  # The states are named like the counters.
    _cell(annotator).update(**{counter: F(counter) - 1})
    annotator.quota = Annotator.Quota.NONE
    annotator.save(update_fields=["quota"])


@dataclass(frozen=True)
class Question:
    """A question of “About you”: its key, its words, and value → label in order."""

    key: str
    label: str
    options: Mapping[str, str]


@dataclass(frozen=True)
class Cell:
    """Places for people who match `criteria` (question key → value); none means everyone else."""

    target: int
    criteria: Mapping[str, str] = field(default_factory=dict)


@transaction.atomic
def set_quotas(
    *, study_id: int, questions: Sequence[Question], cells: Sequence[Cell]
) -> list[QuotaCell]:
    """Give a study its questions and quota cells; the same plan again changes nothing.

    Cells keep their places: targets may change at any time, but never below the places taken,
    and questions and criteria only while nobody has entered. Raises `QuotaError`.
    """
    study = lock_study(study_id)
    _check_plan(questions, cells)
    known = {_criteria_key(cell.criteria): cell for cell in study.quota_cells.all()}
    planned = {_criteria_key(cell.criteria): cell for cell in cells}
    if set(known) != set(planned) or not _same_questions(study, questions):
        if study.annotators.filter(is_imported=False).exists():
            raise QuotaError(
                f"People have entered “{study.slug}”: its questions and groups are fixed. "
                "Change the targets only, or make a new study."
            )
        study.quota_cells.all().delete()
        study.demographic_questions.all().delete()
        _create_plan(study, questions, cells)
        record(study, "groups set", cells=len(cells), places=sum(cell.target for cell in cells))
    else:
        _retarget(study, known, planned)
    return list(study.quota_cells.all())


def grid(questions: Sequence[Question], targets: Mapping[tuple[str, ...], int]) -> list[Cell]:
    """One cell for each combination of values that has a target, in the questions' order."""
    keys = [question.key for question in questions]
    combinations = itertools.product(*(question.options for question in questions))
    return [
        Cell(targets[values], dict(zip(keys, values, strict=True)))
        for values in combinations
        if values in targets
    ]


def _criteria_key(criteria: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    return tuple(sorted(criteria.items()))


def _check_plan(questions: Sequence[Question], cells: Sequence[Cell]) -> None:
    options = {question.key: question.options for question in questions}
    seen = set()
    for cell in cells:
        for key, value in cell.criteria.items():
            if key not in options:
                raise QuotaError(f"A group asks for “{key}”, but no question has that key.")
            if value not in options[key]:
                raise QuotaError(
                    f"A group asks for {key} “{value}”. The question offers: "
                    f"{', '.join(options[key])}."
                )
        if _criteria_key(cell.criteria) in seen:
            raise QuotaError(f"Two groups have the same criteria: {dict(cell.criteria)}.")
        seen.add(_criteria_key(cell.criteria))


def _same_questions(study: Study, questions: Sequence[Question]) -> bool:
    stored = [(q.key, q.label, q.options) for q in study.demographic_questions.all()]
    return stored == [(q.key, q.label, _stored_options(q)) for q in questions]


def _stored_options(question: Question) -> list[dict[str, str]]:
    return [{"value": value, "label": label} for value, label in question.options.items()]


def _create_plan(study: Study, questions: Sequence[Question], cells: Sequence[Cell]) -> None:
    DemographicQuestion.objects.bulk_create(
        DemographicQuestion(
            study=study,
            key=question.key,
            label=question.label,
            options=_stored_options(question),
            position=position,
        )
        for position, question in enumerate(questions, start=1)
    )
    QuotaCell.objects.bulk_create(
        QuotaCell(
            study=study,
            criteria=dict(cell.criteria),
            is_everyone_else=not cell.criteria,
            target=cell.target,
            position=position,
        )
        for position, cell in enumerate(cells, start=1)
    )


def _retarget(
    study: Study,
    known: Mapping[tuple[tuple[str, str], ...], QuotaCell],
    planned: Mapping[tuple[tuple[str, str], ...], Cell],
) -> None:
    for key, cell in known.items():
        target = planned[key].target
        if target == cell.target:
            continue
        if target < cell.reserved + cell.completed:
            raise QuotaError(
                f"The group “{cell}” has {cell.reserved + cell.completed} places taken; "
                f"its target cannot become {target}."
            )
        record(study, "group's places", group=str(cell), before=cell.target, after=target)
        QuotaCell.objects.filter(pk=cell.pk).update(target=target)
