"""Delete annotators' identities; their answers stay."""

from django.db import transaction

from annotation.models import (
    Annotator,
    AnnotatorEvent,
    Invitation,
    ProlificEvent,
    ProlificIdentity,
    ProlificSubmission,
)
from studies.services.studies import lock_study, record


@transaction.atomic
def purge_identities(*, study_id: int) -> int:
    """Delete the platform's ids of every annotator in a study; return the number of annotators.

    The keyed hash stays, so that nobody takes part twice. This cannot be undone: bonuses and
    messages through the platform become impossible.
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


@transaction.atomic
def note_same_browser(*, annotator_id: int, other_id: int) -> None:
    """Record that two annotators of a study used one browser, in the log of both; once."""
    both = Annotator.objects.in_bulk([annotator_id, other_id])
    if len(both) < 2 or len({each.study_id for each in both.values()}) > 1:
        return
    for own, other in ((annotator_id, other_id), (other_id, annotator_id)):
        log = AnnotatorEvent.objects.filter(annotator=own, event=AnnotatorEvent.SAME_BROWSER)
        name = both[other].pseudonym
        if not log.filter(detail__with=name).exists():
            AnnotatorEvent.objects.create(
                annotator=both[own], event=AnnotatorEvent.SAME_BROWSER, detail={"with": name}
            )


def forget_person(annotator: Annotator) -> None:
    """Delete an annotator's identity and the texts they wrote, when they withdraw.

    Two things stay: the keyed hash, so that they cannot take part again, and their submission id,
    which is needed to pay them.
    """
    annotator.feedback, annotator.demographics = "", {}
    annotator.save(update_fields=["feedback", "demographics"])
    annotator.prolific_submissions.update(participant="", demographics={})
    ProlificIdentity.objects.filter(annotator=annotator).delete()


def forget_withdrawn(study_id: int) -> None:
    """Delete data that a platform has sent since annotators withdrew."""
    ProlificSubmission.objects.filter(
        prolific_study__study=study_id, annotator__state=Annotator.State.WITHDREW
    ).exclude(participant="", demographics={}).update(participant="", demographics={})
