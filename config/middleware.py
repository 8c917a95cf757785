"""Headers of every page, and accounts for the pages that have them."""

import logging
from collections.abc import Callable
from typing import Any

from django.contrib.auth.middleware import AuthenticationMiddleware
from django.contrib.messages.middleware import MessageMiddleware
from django.contrib.sessions.middleware import SessionMiddleware
from django.core.exceptions import ObjectDoesNotExist
from django.db import DatabaseError
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.middleware.gzip import GZipMiddleware
from django.shortcuts import render
from django.utils.cache import patch_cache_control
from django.utils.functional import SimpleLazyObject
from django.views.debug import SafeExceptionReporterFilter

from studies.pages.signed_in import user_of_session

logger = logging.getLogger(__name__)

_POLICY = {
    "default-src": "'none'",
    "script-src": "'self'",
    "style-src": "'self'",
    "img-src": "'self' data:",
    "media-src": "'self'",
    "font-src": "'self'",
    "connect-src": "'self'",
    "form-action": "'self'",
    "frame-ancestors": "'none'",
    "base-uri": "'none'",
}


def _line(policy: dict[str, str]) -> str:
    return "; ".join(f"{name} {value}" for name, value in policy.items())


_LINE = _line(_POLICY)


def content_security_policy(
    get_response: Callable[[HttpRequest], HttpResponse],
) -> Callable[[HttpRequest], HttpResponse]:
    """Allow this site's own files and nothing else.

    A view may set its own policy, or change single lines of this one by an attribute
    `policy_changes` of its response.
    """

    def middleware(request: HttpRequest) -> HttpResponse:
        response = get_response(request)
        changes = getattr(response, "policy_changes", None)
        line = _line(_POLICY | changes) if changes else _LINE
        response.headers.setdefault("Content-Security-Policy", line)
        response.headers.setdefault(
            "Permissions-Policy", "camera=(), microphone=(), geolocation=()"
        )
        return response

    return middleware


def no_store(
    get_response: Callable[[HttpRequest], HttpResponse],
) -> Callable[[HttpRequest], HttpResponse]:
    """Keep browsers and proxies from storing pages: most show annotators' answers or an account.

    Static files are served before this and keep their own rule. So do items' pictures and sounds,
    which never change: their responses have an attribute `may_be_kept`.
    """

    def middleware(request: HttpRequest) -> HttpResponse:
        response = get_response(request)
        if getattr(response, "may_be_kept", False):
            return response
        if "no-store" not in response.headers.get("Cache-Control", ""):
            patch_cache_control(response, no_store=True, private=True)
        return response

    return middleware


# What a server may send before the first acknowledgement: ten packets. A page of this size arrives
# as soon as a smaller one, and compressing it costs 0.1 of the 2 ms that an item page takes.
_FIRST_FLIGHT = 14_000


class Compression(GZipMiddleware):
    """Compress only the participants' pages, those that are large, for slow networks.

    If a page shows a secret next to text from its link, the compressed length reveals parts of the
    secret to the link's author (BREACH). A participant's page shows only the query string of its
    link, and is not compressed if there is one; forms have a secret token that looks different in
    each response. Django adds up to 100 random bytes.
    """

    def process_response(
        self, request: HttpRequest, response: HttpResponseBase
    ) -> HttpResponseBase:
        is_theirs = request.path_info.startswith("/s/") and not request.META.get("QUERY_STRING")
        is_text = response.headers.get("Content-Type", "").startswith("text/")
        is_large = isinstance(response, HttpResponse) and len(response.content) > _FIRST_FLIGHT
        if is_theirs and is_text and is_large:
            return super().process_response(request, response)
        return response


# The participants' pages identify people by their own signed cookie. Those that also need the
# signed-in researcher read the session themselves: `studies.pages.signed_in`. The API identifies
# programs only by token, so no cookie can act there.
_WITHOUT_ACCOUNTS = ("/s/", "/api/")


class _ForAccounts:
    """Skips the participants' pages and the API."""

    get_response: Any

    def __call__(self, request: HttpRequest) -> Any:
        if request.path_info.startswith(_WITHOUT_ACCOUNTS):
            return self.get_response(request)
        return super().__call__(request)  # type: ignore[misc]


class Sessions(_ForAccounts, SessionMiddleware):
    pass


class Accounts(_ForAccounts, AuthenticationMiddleware):
    """The user of the session, or for read-only requests that of an access token."""

    def process_request(self, request: HttpRequest) -> HttpResponse | None:  # type: ignore[override]
        request.user = SimpleLazyObject(lambda: user_of_session(request))  # type: ignore[assignment]
        scheme, _, token = request.headers.get("Authorization", "").partition(" ")
        if scheme.lower() == "bearer" and request.method in ("GET", "HEAD"):
            from django.contrib.auth.models import AnonymousUser

            from api.problems import Problem
            from api.requests import count_request
            from studies.services.accounts.credentials import find_token

            token_row = find_token(token.strip())
            if token_row is not None:
                try:
                    count_request(token_row)
                except Problem as problem:
                    return problem.response()
            reads = token_row is not None and token_row.Scope.READ in token_row.scopes
            request.user = token_row.user if token_row and reads else AnonymousUser()
            request.access_token = token_row  # type: ignore[attr-defined]
        return None


class KeptMessages(_ForAccounts, MessageMiddleware):
    pass


class Gone:
    """Say that something is gone if it was deleted while somebody changed or deleted it.

    The view found it, but the service, once it has the lock, no longer does.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        return self.get_response(request)

    def process_exception(self, request: HttpRequest, exception: Exception) -> HttpResponse | None:
        if request.method != "POST" or request.path_info.startswith(_WITHOUT_ACCOUNTS):
            return None
        if not isinstance(exception, ObjectDoesNotExist) and not _has_lost_study(
            request, exception
        ):
            return None
        logger.warning("%s: it is gone", request.path, exc_info=exception)
        return render(request, "gone.html", status=404)


def _has_lost_study(request: HttpRequest, exception: Exception) -> bool:
    """Whether a statement failed because the study of the page was deleted."""
    from studies.models import Study

    slug = request.resolver_match.kwargs.get("slug") if request.resolver_match else None
    is_of_study = isinstance(exception, DatabaseError) and slug is not None
    return is_of_study and not Study.objects.filter(slug=slug).exists()


class HideAlways(SafeExceptionReporterFilter):
    """Hides what a view marks as sensitive, also on debug pages.

    Django would show everything there, and a screenshot would contain a key.
    """

    def is_active(self, request: HttpRequest | None) -> bool:
        return True
