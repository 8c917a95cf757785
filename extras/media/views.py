"""Pictures, sounds and films as files, for members of the study and participants who get them."""

import re

from django.contrib.auth.decorators import login_required
from django.http import FileResponse, Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import get_object_or_404
from django.views.decorators.http import require_safe

from annotation.models import Annotator
from annotation.participants.access import find_annotator, may_preview
from annotation.participants.added_steps import AGAIN
from annotation.seats.flow import step_of
from extras.media.models import MediaFile
from extras.media.storage import open_file
from studies.media import ENDINGS, sums_of
from studies.models import Item, Study
from studies.selectors import get_study

# Browsers may keep it for an hour, proxies may not; its content never changes.
_KEPT = "private, max-age=3600, immutable"
_RANGE = re.compile(r"bytes=(\d*)-(\d*)")
# The most bytes of an answer to a player, which then asks for more. A film of 50 MB would fill the
# web server's memory, and a paused player keep its thread.
_MOST_OF_A_RANGE = 8 * 1024**2
# A file that is opened directly runs nothing and loads nothing.
_POLICY = "default-src 'none'; img-src 'self'; media-src 'self'; style-src 'unsafe-inline'; sandbox"


@require_safe
@login_required
def to_members(request: HttpRequest, slug: str, sha256: str) -> HttpResponseBase:
    """Send a picture, sound or film of the study's items to its members."""
    return send(request, get_study(request.user, slug), sha256)


# The steps at which items are shown.
_STEPS = ("practice", "task", "feedback")


@require_safe
def to_participants(request: HttpRequest, slug: str, sha256: str) -> HttpResponseBase:
    """Send a file to a participant who was given its item, or to the preview."""
    study = get_object_or_404(Study, slug=slug)
    annotator = find_annotator(request, slug)
    may_see = annotator is not None and _was_given(annotator, sha256)
    if not (may_see or may_preview(request, study)):
        raise Http404
    return send(request, study, sha256)


def _was_given(annotator: Annotator, sha256: str) -> bool:
    """Whether one of the annotator's items or a practice item shows the file."""
    item_sets = [again.items(annotator) for again in AGAIN.of(annotator.study)]
    if annotator.study.state != Study.State.CLOSED and step_of(annotator) in _STEPS:
        item_sets.append(Item.everything.filter(assignments__annotator=annotator))
        practice = Item.everything.filter(study=annotator.study_id, split=Item.Split.PRACTICE)
        item_sets.append(practice)
    whole = annotator.study.shows_whole_sets
    return any(
        sha256 in sums_of(item.all_media if whole else item.shown_media)
        for items in item_sets
        for item in items.only("media", "r1", "r2", "option_set")
    )


def send(request: HttpRequest, study: Study, sha256: str) -> HttpResponseBase:
    """Send a file of a study, whole or in part, because players ask for parts; otherwise 404."""
    file = MediaFile.objects.filter(study=study, sha256=sha256).first()
    if file is None:
        raise Http404
    try:
        stream = open_file(file)
    except FileNotFoundError:
        raise Http404 from None
    response: HttpResponse | FileResponse
    if wanted := _RANGE.fullmatch(request.headers.get("Range", "")):
        with stream:
            first, last = _bounds(wanted, file.size)
            if first > last:
                response = HttpResponse(status=416)
                response.headers["Content-Range"] = f"bytes */{file.size}"
            else:
                stream.seek(first)
                response = HttpResponse(stream.read(last - first + 1), status=206)
                response.headers["Content-Range"] = f"bytes {first}-{last}/{file.size}"
    else:
        response = FileResponse(stream)
        response.headers["Content-Length"] = str(file.size)
    for name, value in {
        "Content-Type": file.type,
        "Content-Disposition": f'inline; filename="{sha256[:16]}.{ENDINGS[file.type]}"',
        "X-Content-Type-Options": "nosniff",
        "Content-Security-Policy": _POLICY,
        "Accept-Ranges": "bytes",
        "Cache-Control": _KEPT,
    }.items():
        response.headers[name] = value
    response.may_be_kept = True  # type: ignore[union-attr]
    return response


def _bounds(wanted: re.Match[str], size: int) -> tuple[int, int]:
    """The first and the last byte; the first is higher if the file has none of the range."""
    start, end = wanted.groups()
    if not start:  # the last bytes
        return (max(0, size - int(end)), size - 1) if end and int(end) else (1, 0)
    last = min(int(end), size - 1) if end else size - 1
    return int(start), min(last, int(start) + _MOST_OF_A_RANGE - 1)
