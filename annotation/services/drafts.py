"""What is entered and not yet sent, so that it stands on the person's next device too."""

from django.db import transaction

from annotation.errors import AlreadyEnded, DraftChanged, InvalidAnswer
from annotation.models import Annotator, Assignment, Draft
from annotation.services.answers import ANSWERING
from studies.models import Choice


def stamp_of(assignment: Assignment) -> str:
    """What stands at an item now: the answer's revision and the draft's version.

    It only ever grows, so a page that comes late is always known by the stamp it carries.
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
) -> Draft:
    """Keep what the person has entered so far, in content terms and as it was typed.

    `stamp` is what the page was made from or the last save returned: nothing that another tab
    has saved since is overwritten unseen. Raises `DraftChanged` then, `Assignment.DoesNotExist`
    (not this annotator's), `AlreadyEnded`, `InvalidAnswer`.
    """
    if choice not in ("", *Choice.values):
        raise InvalidAnswer(f"choice {choice!r} is not offered")
    with transaction.atomic():
        # Whoever stores the answer to this item waits for this lock, and this for them.
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
        draft.version += 1
        draft.save()
        assignment.draft = draft
    return draft
