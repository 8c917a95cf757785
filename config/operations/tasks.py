"""Deletions that are due by studies' retention dates, run once an hour."""

import logging

from celery import shared_task

from annotation.files.study_parts import content_of
from annotation.models import ProlificIdentity
from annotation.services.identities import purge_identities
from studies.errors import StudyError
from studies.models import Retention, Study
from studies.services.studies import record
from studies.services.whole_studies import archive, backups_sentence, delete_study, identities_due
from studies.statements import clock

logger = logging.getLogger(__name__)


@shared_task
def carry_out_retention() -> None:
    """Delete what is due. Obstacles are stored and shown, and the deletion is tried again."""
    today = clock.now().date()
    for retention in Retention.objects.select_related("study").order_by("pk"):
        study = retention.study
        obstacle = ""
        if retention.delete_on is not None and retention.delete_on <= today:
            obstacle = _delete(study)
            if not obstacle:
                continue
        due = identities_due(study, retention)
        if due is not None and due <= today:
            obstacle = _purge(study) or obstacle
        if obstacle != retention.obstacle:
            Retention.objects.filter(pk=retention.pk).update(obstacle=obstacle)


def _delete(study: Study) -> str:
    """Delete a study that is closed to participants; return the obstacle, if any."""
    if study.is_under_way:
        return "The study is open. Close it, then it will be deleted."
    backups = backups_sentence(study)
    try:
        if study.archived_at is None and study.state == Study.State.CLOSED:
            archive(study_id=study.pk, by=None)
        delete_study(study_id=study.pk, by=None)
    except StudyError as error:
        return str(error)
    logger.warning("The study “%s” was deleted on its date. %s", study.slug, backups)
    return ""


def _purge(study: Study) -> str:
    if not ProlificIdentity.objects.filter(annotator__study=study).exists():
        return ""
    if obstacles := content_of(study).obstacles:
        return " ".join(obstacles)
    people = purge_identities(study_id=study.pk)
    record(study, "retention carried out", people=people)
    logger.warning("Ids of %s annotators of “%s” were deleted.", people, study.slug)
    return ""
