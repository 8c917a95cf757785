"""Drafts: input that is not yet sent, stored so that the annotator sees it on every device."""

from collections.abc import Mapping

from django.db import transaction

from annotation.errors import AlreadyEnded, DraftChanged, InvalidAnswer
from annotation.models import Annotator, Assignment, Draft
from annotation.services.answers import ANSWERING
from studies.models import Choice


def stamp_of(assignment: Assignment) -> str:
    """The stamp of an item's current content: the answer's revision and the draft's version.

    It only ever grows, so an outdated page is always recognised by the stamp it carries.
    """
    revision = getattr(getattr(assignment, "annotation", None), "revision", 0)
    version = getattr(getattr(assignment, "draft", None), "version", 0)
    return f"{revision}.{version}"


def save_draft(
    *,
    annotator_id: int,
    assignment_id: int,
    stamp: str,
    choice: str = "",
    certainty: str = "",
    active_ms: int = 0,
    places: Mapping[str, int] | None = None,
) -> Draft:
    """Store the annotator's current input, in content terms and as it was typed.

    Where a whole set is shown, `places` are those of its responses so far, by number.

    `stamp` is the one that the page was made from or that the last save returned: input that
    another tab has saved since is not overwritten unseen. Raises `DraftChanged` in that case,
    `Assignment.DoesNotExist` (not this annotator's), `AlreadyEnded`, `InvalidAnswer`.
    """
    if choice not in ("", *Choice.values):
        raise InvalidAnswer(f"choice {choice!r} is not offered")
    with transaction.atomic():
        # A transaction that stores the answer to this item waits for this lock, and this one for
        # it.
        annotator = (
            Annotator.objects.select_for_update(no_key=True).only("state").get(pk=annotator_id)
        )
        if annotator.state not in ANSWERING:
            raise AlreadyEnded(f"annotator {annotator_id} is {annotator.state}")
        assignment = Assignment.objects.select_related("annotation", "draft").get(
            pk=assignment_id, annotator=annotator
        )
        if stamp != stamp_of(assignment):
            raise DraftChanged(f"assignment {assignment_id} has changed")
        draft = getattr(assignment, "draft", None) or Draft(assignment=assignment, version=0)
        draft.choice, draft.certainty, draft.active_ms = choice, certainty, active_ms
        draft.places = None if places is None else dict(places)
        draft.version += 1
        draft.save()
        assignment.draft = draft
    return draft
