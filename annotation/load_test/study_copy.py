"""A copy of a study for simulated annotators, which is deleted afterwards."""

import os
import secrets
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from django.db import IntegrityError, transaction

from annotation.errors import AnnotationError
from annotation.models import ComprehensionQuestion, QuotaGroup
from studies.models import Item, Study, StudyLog
from studies.services.studies import record
from studies.services.whole_studies.copies import copy_study
from studies.services.whole_studies.removal import delete_rows

_EVENT = "copied for a load test"
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
            delete_rows(study)
            return
        except IntegrityError:
            if attempt == _ATTEMPTS:
                raise
            time.sleep(1)


@transaction.atomic
def _create(study: Study) -> Copy:
    if not Item.objects.filter(study=study, seats_needed__gt=0).exists():
        raise NoItemsToCopy(f"“{study.slug}” has no items for annotators. Import items first.")
    copy = copy_study(
        study_id=study.pk,
        slug=f"load-test-{secrets.token_hex(4)}",
        title=f"Load test of “{study.slug}”"[:200],
        with_items=True,
        entry=Study.Entry.PROLIFIC,
        is_simulated=True,
    )
    record(copy, _EVENT, of=study.slug, host=socket.gethostname(), pid=os.getpid())
    Study.objects.filter(pk=copy.pk).update(state=Study.State.OPEN)
    copy.state = Study.State.OPEN
    QuotaGroup.objects.filter(study=copy).update(target=_PLACES)
    questions = ComprehensionQuestion.objects.filter(study=copy)
    return Copy(copy, [question.right for question in questions])


def _runs(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True
