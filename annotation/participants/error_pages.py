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
from studies.pages.addressed import UnknownButton
from studies.texts.languages import page_language

_RETRY_SECONDS = 5
UNKNOWN_BUTTON = (
    "The page does not have this button, so nothing was done. Go back, reload the page and choose "
    "again."
)
_BELOW_A_STUDY = re.compile(r"/s/([-\w]+)/")
_AWAY = (OperationalError, InterfaceError, StorageUnreachable)


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
    """Render `template` in the study's language, or in English outside a study.

    The browser's language, if the study cannot be read.
    """
    study = _study_of(request)
    is_below = _BELOW_A_STUDY.match(request.path_info) is not None
    unknown = translation.get_language_from_request(request) if is_below else "en"
    language = study.language if study else unknown
    with translation.override(page_language(language)):
        context = {"study": study, "language": language, **more}
        return render(request, template, context, status=status)


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:
    """Mention cookies only if the browser sent none."""
    return _page(request, "403_csrf.html", 403, no_cookie=reason == REASON_NO_CSRF_COOKIE)


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    words = UNKNOWN_BUTTON if isinstance(exception, UnknownButton) else ""
    return _page(request, "400.html", 400, words=words)


def permission_denied(request: HttpRequest, exception: Exception) -> HttpResponse:
    return _page(request, "403.html", 403)


def page_not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    return _page(request, "404.html", 404)


def server_error(request: HttpRequest) -> HttpResponse:
    """500, or 503 while the database or file storage is away; the page keeps what was entered."""
    if not isinstance(sys.exc_info()[1], _AWAY):
        return _page(request, "500.html", 500)
    is_post = request.method == "POST"
    context = {
        "is_participant": _BELOW_A_STUDY.match(request.path_info) is not None,
        "is_post": is_post,
        "fields": list(_sent(request)) if is_post and _may_keep(request) else [],
    }
    response = _page(request, "503.html", 503, **context)
    response.headers["Retry-After"] = str(_RETRY_SECONDS)
    if request.method == "GET":
        response.headers["Refresh"] = str(_RETRY_SECONDS)
    return response


def _may_keep(request: HttpRequest) -> bool:
    """Whether a page may repeat a form: not a secret, and a browser cannot send a file again."""
    return not getattr(request, "sensitive_post_parameters", ()) and not request.FILES


def _sent(request: HttpRequest) -> Iterator[tuple[str, str]]:
    for name, values in request.POST.lists():
        for value in values:
            yield name, str(value)
