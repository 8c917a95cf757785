"""Pictures and sounds of the items that a participant was given."""

from django.http import Http404, HttpRequest, HttpResponseBase
from django.shortcuts import get_object_or_404
from django.views.decorators.http import require_safe

from annotation.models import Annotator
from annotation.participants.access import find_annotator, may_preview
from annotation.participants.added_steps import AGAIN
from annotation.seats.flow import step_of
from studies.models import Item, Study
from studies.pages.views import send

# The steps at which items are shown.
_STEPS = ("practice", "task", "feedback")


@require_safe
def media(request: HttpRequest, slug: str, sha256: str) -> HttpResponseBase:
    """Send a picture or sound of an item to a participant who was given it, or in the preview."""
    study = get_object_or_404(Study, slug=slug)
    annotator = find_annotator(request, slug)
    may_see = annotator is not None and _was_given(annotator, sha256)
    if not (may_see or may_preview(request, study)):
        raise Http404
    return send(request, study, sha256)


def _was_given(annotator: Annotator, sha256: str) -> bool:
    """Whether an item shows the file: one of the annotator's, or a practice item."""
    shown = [again.items(annotator) for again in AGAIN]
    if annotator.study.state != Study.State.CLOSED and step_of(annotator) in _STEPS:
        shown.append(Item.everything.filter(assignments__annotator=annotator))
        practice = Item.everything.filter(study=annotator.study_id, split=Item.Split.PRACTICE)
        shown.append(practice)
    whole = annotator.study.shows_whole_sets
    return any(
        each["sha256"] == sha256
        for found in shown
        for item in found.only("media", "r1", "r2", "option_set")
        for each in (item.all_media if whole else item.shown_media)
    )
