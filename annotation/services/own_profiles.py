"""Consent of annotators to be shown to others, and taking it back."""

from collections.abc import Collection

from django.db import transaction

from annotation.content.own_profile import shown_profile
from annotation.errors import InvalidAnswer, WrongStep
from annotation.models import Annotator, AnnotatorEvent, Assignment, OwnProfile
from annotation.seats import flow
from studies.models import Study
from studies.services.whole_studies.shown_people import remove_personas
from studies.statements import clock

State = Annotator.State


@transaction.atomic
def decide_profile(
    *, annotator_id: int, is_shown: bool, text: str = "", version: str = ""
) -> OwnProfile:
    """Store whether others may see the annotator's profile; only what they saw can be agreed to.

    `version` is that of the profile on the page. Raises `InvalidAnswer` if the profile is another
    one or empty, `WrongStep` before the items and, for consent, after the end.
    """
    annotator = flow.lock(annotator_id)
    if annotator.state == State.COMPLETED:
        if is_shown:
            raise WrongStep("consent is asked for before the end")
        return hide_profile(annotator)
    if not flow.is_finished(annotator) or not annotator.study.asks_own_answers:
        raise WrongStep(f"annotator {annotator_id} is {annotator.state}")
    if not is_shown:
        return hide_profile(annotator)
    shown = shown_profile(annotator, text)
    if shown.is_empty or shown.version != version:
        raise InvalidAnswer("the profile is empty, or not the one that was shown")
    return _store(
        annotator,
        is_shown=True,
        features=shown.features,
        text=shown.text,
        examples=annotator.study.show_history,
    )


def hide_profile(annotator: Annotator) -> OwnProfile:
    """Remove the profile of a locked annotator from every study that shows it."""
    if profile := OwnProfile.objects.filter(annotator=annotator, is_shown=True).first():
        remove_personas(profile.persona_key)
    return _store(annotator, is_shown=False, features=[], text="", examples=0)


def forget_profile(annotator: Annotator) -> None:
    """Remove the profile of a locked annotator who withdraws, and the decision about it."""
    if profile := OwnProfile.objects.filter(annotator=annotator).first():
        remove_personas(profile.persona_key)
        profile.delete()


def wait_for_answers(study: Study, items: Collection[int]) -> None:
    """Lock seats at items that are deleted: an answer that is being stored comes first."""
    seats = Assignment.objects.select_for_update(no_key=False).filter(item__in=items).order_by("pk")
    list(seats.values_list("pk"))


def _store(annotator: Annotator, **decision: object) -> OwnProfile:
    profile, _ = OwnProfile.objects.update_or_create(
        annotator=annotator, defaults={**decision, "decided_at": clock.now()}
    )
    AnnotatorEvent.objects.create(
        annotator=annotator, event="profile", detail={"shown": profile.is_shown}
    )
    return profile
