"""Deleting who people are, while what they answered stays."""

from django.db import transaction

from annotation.models import Invitation, ProlificEvent, ProlificIdentity, ProlificSubmission
from studies.services import lock_study, record


@transaction.atomic
def purge_identities(*, study_id: int) -> int:
    """Delete the platform's ids of everybody in a study and return of how many.

    The keyed hash stays, so that nobody enters a second time. It cannot be undone: bonuses and
    messages through the platform are impossible afterwards.
    """
    study = lock_study(study_id)
    submissions = ProlificSubmission.objects.filter(prolific_study__study=study)
    ProlificEvent.objects.filter(resource_id__in=submissions.values("submission_id")).delete()
    submissions.delete()
    Invitation.objects.filter(study=study).delete()
    purged, _ = ProlificIdentity.objects.filter(annotator__study=study).delete()
    if purged:
        record(study, "identities purged", people=purged)
    return purged
