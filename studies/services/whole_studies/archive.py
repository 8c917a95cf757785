"""Archived studies: kept with everything, but out of the way."""

from django.contrib.auth.models import User
from django.db import transaction

from studies.errors import StudyError
from studies.models import Study
from studies.services.studies import lock_study, record
from studies.statements import clock


@transaction.atomic
def archive(*, study_id: int, by: User | None) -> None:
    """Hide a study from the list. Raises `StudyError` while people can take part in it."""
    study = lock_study(study_id)
    if study.state in (Study.State.OPEN, Study.State.PAUSED):
        raise StudyError("Close the study before you archive it: people can still take part.")
    if study.archived_at is None:
        Study.objects.filter(pk=study.pk).update(archived_at=clock.now())
        record(study, "archived", user=by)


@transaction.atomic
def restore(*, study_id: int, by: User) -> None:
    study = lock_study(study_id)
    if study.archived_at is not None:
        Study.objects.filter(pk=study.pk).update(archived_at=None)
        record(study, "taken out of the archive", user=by)
