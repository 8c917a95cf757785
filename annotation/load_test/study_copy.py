"""A copy of a study for simulated annotators, which is deleted afterwards."""

import os
import secrets
import socket
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import Model, ProtectedError

from annotation.errors import AnnotationError
from annotation.models import (
    Annotation,
    AnnotationRevision,
    Annotator,
    AnnotatorEvent,
    Assignment,
    CompletionCode,
    ComprehensionAnswer,
    ComprehensionQuestion,
    DemographicQuestion,
    Draft,
    ProlificIdentity,
    QuotaGroup,
)
from studies.models import Item, Persona, Study, StudyLog
from studies.services.studies import record

_EVENT = "copied for a load test"
_CHUNK = 1000
_PLACES = 1_000_000  # in each quota group of the copy, so that nobody is turned away
_ATTEMPTS = 5  # at deleting the copy, while a server still stores a last answer


class NoItemsToCopy(AnnotationError):
    """The study has no items for annotators."""


@dataclass(frozen=True)
class Copy:
    """An open copy of a study, and the right option of each of its comprehension questions."""

    study: Study
    quiz: list[int]


@contextmanager
def copied(study: Study) -> Iterator[Copy]:
    """A copy of the study, which is deleted at the end, also after an error or Ctrl-C.

    It takes nothing from the study: it has seats, quota places, settings, texts and questions of
    its own, and no connection to Prolific. Copies that a killed load test left are deleted first.
    """
    delete_leftovers()
    copy = _create(study)
    try:
        yield copy
    finally:
        delete(copy.study)


def delete_leftovers() -> None:
    """Delete copies of load tests on this machine that are no longer running."""
    for entry in StudyLog.objects.filter(event=_EVENT).select_related("study"):
        if entry.detail["host"] == socket.gethostname() and not _runs(entry.detail["pid"]):
            delete(entry.study)


def delete(study: Study) -> None:
    """Delete a copy with everything that simulated annotators stored in it."""
    Study.objects.filter(pk=study.pk).update(state=Study.State.CLOSED)
    for attempt in range(1, _ATTEMPTS + 1):
        try:
            _delete_rows(study)
            return
        except (IntegrityError, ProtectedError):
            if attempt == _ATTEMPTS:
                raise
            time.sleep(1)


@transaction.atomic
def _create(study: Study) -> Copy:
    if not Item.objects.filter(study=study, seats_needed__gt=0).exists():
        raise NoItemsToCopy(f"“{study.slug}” has no items for annotators. Import items first.")
    copy = Study(
        **_fields(study, without={"slug", "frozen_at", "content_hash", "version"})
        | {
            "slug": f"load-test-{secrets.token_hex(4)}",
            "title": f"Load test of “{study.slug}”"[:200],
            "state": Study.State.OPEN,
            "entry": Study.Entry.PROLIFIC,
            "is_simulated": True,
        }
    )
    copy.save(force_insert=True)
    record(copy, _EVENT, of=study.slug, host=socket.gethostname(), pid=os.getpid())
    _copy_items(study, copy)
    _copy_rows(DemographicQuestion.objects.filter(study=study), study_id=copy.pk)
    _copy_rows(
        QuotaGroup.objects.filter(study=study),
        study_id=copy.pk,
        target=_PLACES,
        reserved=0,
        completed=0,
    )
    questions = list(ComprehensionQuestion.objects.filter(study=study))
    _copy_rows(questions, study_id=copy.pk)
    return Copy(copy, [question.right for question in questions])


def _copy_items(study: Study, copy: Study) -> None:
    personas = list(Persona.objects.filter(study=study).order_by("pk"))
    copies = _copy_rows(personas, study_id=copy.pk)
    new = {old.pk: copied.pk for old, copied in zip(personas, copies, strict=True)}
    rows: list[Item] = []
    for item in Item.everything.filter(study=study).order_by("pk").iterator(_CHUNK):
        fields = _fields(item) | {
            "study_id": copy.pk,
            "persona_id": new[item.persona_id],
            "seats_taken": 0,
            "answered": 0,
        }
        rows.append(Item(**fields))
    Item.everything.bulk_create(rows, batch_size=_CHUNK)


def _copy_rows(rows: Iterable[Any], **changes: Any) -> list[Any]:
    """Store copies of rows of one model, with other values for some fields."""
    rows = list(rows)
    if not rows:
        return []
    copies = [type(row)(**_fields(row) | changes) for row in rows]
    stored: list[Any] = type(rows[0])._base_manager.bulk_create(copies, batch_size=_CHUNK)
    return stored


def _fields(row: Model, *, without: Iterable[str] = ()) -> dict[str, Any]:
    """The values of a row without its key, by column: `study_id`, not `study`."""
    return {
        field.attname: getattr(row, field.attname)
        for field in row._meta.concrete_fields
        if not field.primary_key and field.name not in without
    }


@transaction.atomic
def _delete_rows(study: Study) -> None:
    """Delete from the rows that nothing refers to up to the study."""
    people = {"annotator__study": study}
    for model, of_the_study in (
        (AnnotationRevision, {"annotation__assignment__annotator__study": study}),
        (Draft, {"assignment__annotator__study": study}),
        (Annotation, {"assignment__annotator__study": study}),
        (Assignment, people),
        (ComprehensionAnswer, people),
        (AnnotatorEvent, people),
        (ProlificIdentity, people),
        (Annotator, {"study": study}),
        (CompletionCode, {"study": study}),
        (QuotaGroup, {"study": study}),
        (DemographicQuestion, {"study": study}),
        (ComprehensionQuestion, {"study": study}),
        (Item, {"study": study}),
        (Persona, {"study": study}),
        (StudyLog, {"study": study}),
    ):
        model._base_manager.filter(**of_the_study).delete()
    Study.objects.filter(pk=study.pk).delete()


def _runs(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True
