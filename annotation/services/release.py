"""Release seats and places of annotators who have not answered, when a researcher asks."""

from django.contrib.auth.models import User
from django.db import transaction

from annotation.errors import PlacesError
from annotation.models import Annotator
from annotation.seats import first_answers, flow
from studies.models import Study
from studies.services.studies import lock_study, record
from studies.statements import clock


@transaction.atomic
def release_unanswered(*, study_id: int, user: User | None = None) -> int:
    """Release the seats and places of annotators who never answered; return how many annotators.

    They may continue: with their first answer they take seats again, if those are free. Raises
    `PlacesError` on a platform, where every annotator has their own place and time.
    """
    study = lock_study(study_id)
    if study.entry == Study.Entry.PROLIFIC:
        raise PlacesError("On Prolific the platform decides how long people have their place.")
    people = first_answers.never_answered(study)
    seats = first_answers.seats_held(people)
    found = list(people.select_for_update(no_key=True, skip_locked=True, of=("self",)))
    for annotator in found:
        annotator.study = study
        annotator.first_answer_by = annotator.first_answer_by or clock.now()
        annotator.save(update_fields=["first_answer_by"])
        flow.end(annotator, Annotator.State.TIMED_OUT, user=user, never_answered=True)
    if found:
        record(study, "unanswered seats released", user=user, people=len(found), seats=seats)
    return len(found)
