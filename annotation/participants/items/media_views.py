"""Pictures and sounds of the items that a participant was given."""

from django.http import Http404, HttpRequest, HttpResponseBase
from django.shortcuts import get_object_or_404
from django.views.decorators.http import require_safe

from annotation.models import Annotator
from annotation.participants.access import find_annotator, may_preview
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
    if annotator.study.state == Study.State.CLOSED or step_of(annotator) not in _STEPS:
        return False
    whole = annotator.study.shows_whole_sets
    items = Item.everything.only("media", "r1", "r2", "option_set")
    own = items.filter(assignments__annotator=annotator)
    practice = items.filter(study=annotator.study_id, split=Item.Split.PRACTICE)
    return any(
        each["sha256"] == sha256
        for found in (own, practice)
        for item in found
        for each in (item.all_media if whole else item.shown_media)
    )
