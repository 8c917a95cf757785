"""Error pages, for participants in the language of their study."""

import re

from django.db import DatabaseError
from django.http import HttpRequest, HttpResponse
from django.middleware.csrf import REASON_NO_CSRF_COOKIE
from django.shortcuts import render
from django.utils import translation

from studies.models import Study

_BELOW_A_STUDY = re.compile(r"/s/([-\w]+)/")


def _study_of(request: HttpRequest) -> Study | None:
    """The study in the address; also None when the database does not answer."""
    match = _BELOW_A_STUDY.match(request.path_info)
    if match is None:
        return None
    try:
        return Study.objects.only("slug", "language", "contact").filter(slug=match[1]).first()
    except DatabaseError:
        return None


def _page(request: HttpRequest, template: str, status: int, **context: object) -> HttpResponse:
    """Render `template` in the study's language, or in English outside a study."""
    study = _study_of(request)
    language = study.language if study else "en"
    with translation.override(language):
        context |= {"study": study, "language": language}
        return render(request, template, context, status=status)


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:
    """Cookies are named where the browser sent none, and only there."""
    return _page(request, "403_csrf.html", 403, no_cookie=reason == REASON_NO_CSRF_COOKIE)


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    return _page(request, "400.html", 400)


def permission_denied(request: HttpRequest, exception: Exception) -> HttpResponse:
    return _page(request, "403.html", 403)


def page_not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    return _page(request, "404.html", 404)


def server_error(request: HttpRequest) -> HttpResponse:
    return _page(request, "500.html", 500)
