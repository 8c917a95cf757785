"""Pictures and sounds of items, for the members of their study and for participants."""

import re

from django.contrib.auth.decorators import login_required
from django.http import FileResponse, Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.views.decorators.http import require_safe

from studies.media.content import ENDINGS
from studies.media.storage import open_file
from studies.models import MediaFile, Study
from studies.selectors import get_study

# A browser may keep it for an hour, nobody in between may, and its content never changes.
_KEPT = "private, max-age=3600, immutable"
_RANGE = re.compile(r"bytes=(\d*)-(\d*)")
# A file that is opened by itself runs nothing and loads nothing.
_POLICY = "default-src 'none'; img-src 'self'; media-src 'self'; style-src 'unsafe-inline'; sandbox"


@require_safe
@login_required
def media(request: HttpRequest, slug: str, sha256: str) -> HttpResponseBase:
    """Send a picture or sound of the study's items to its members."""
    return send(request, get_study(request.user, slug), sha256)


def send(request: HttpRequest, study: Study, sha256: str) -> HttpResponseBase:
    """Send a file of a study, whole or in part; players ask for parts. 404 if it has no such."""
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
    """The first and the last byte; the first is higher if the file has none of them."""
    start, end = wanted.groups()
    if not start:  # the last bytes
        return (max(0, size - int(end)), size - 1) if end and int(end) else (1, 0)
    last = min(int(end), size - 1) if end else size - 1
    return int(start), last
