"""Error pages, for participants in the language of their study."""

import re
import sys
from collections.abc import Iterator
from typing import Any

from django.db import DatabaseError, InterfaceError, OperationalError
from django.http import HttpRequest, HttpResponse
from django.middleware.csrf import REASON_NO_CSRF_COOKIE
from django.shortcuts import render
from django.utils import translation

from studies.file_storage.storage import StorageUnreachable
from studies.models import Study

_RETRY_SECONDS = 5
_BELOW_A_STUDY = re.compile(r"/s/([-\w]+)/")


def _study_of(request: HttpRequest) -> Study | None:
    """The study in the address; also None when the database does not answer."""
    match = _BELOW_A_STUDY.match(request.path_info)
    if match is None:
        return None
    try:
        return Study.objects.only("slug", "language", "contact").filter(slug=match[1]).first()
    except (DatabaseError, InterfaceError):
        return None


def _page(request: HttpRequest, template: str, status: int, **more: Any) -> HttpResponse:
    """Render `template` in the study's language, or in English outside a study."""
    study = _study_of(request)
    language = study.language if study else "en"
    with translation.override(language):
        context = {"study": study, "language": language, **more}
        return render(request, template, context, status=status)


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:
    """Mention cookies only if the browser sent none."""
    return _page(request, "403_csrf.html", 403, no_cookie=reason == REASON_NO_CSRF_COOKIE)


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    return _page(request, "400.html", 400)


def permission_denied(request: HttpRequest, exception: Exception) -> HttpResponse:
    return _page(request, "403.html", 403)


def page_not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    return _page(request, "404.html", 404)


def server_error(request: HttpRequest) -> HttpResponse:
    """500, or 503 while the database or file storage is down; participants keep their input."""
    away = OperationalError | InterfaceError | StorageUnreachable
    if not isinstance(sys.exc_info()[1], away):
        return _page(request, "500.html", 500)
    is_participant = _BELOW_A_STUDY.match(request.path_info) is not None
    # Participants' forms may be sent twice. Other users must first look at what was stored.
    fields = list(_sent(request)) if is_participant and request.method == "POST" else []
    response = _page(request, "500.html", 503, fields=fields)
    response.headers["Retry-After"] = str(_RETRY_SECONDS)
    if is_participant and request.method == "GET":
        response.headers["Refresh"] = str(_RETRY_SECONDS)
    return response


def _sent(request: HttpRequest) -> Iterator[tuple[str, str]]:
    for name, values in request.POST.lists():
        for value in values:
            yield name, str(value)
