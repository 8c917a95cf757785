"""Headers of every page, and accounts for the pages that have them."""

from collections.abc import Callable
from typing import Any

from django.contrib.auth.middleware import AuthenticationMiddleware
from django.contrib.messages.middleware import MessageMiddleware
from django.contrib.sessions.middleware import SessionMiddleware
from django.http import HttpRequest, HttpResponse
from django.utils.cache import patch_cache_control
from django.utils.functional import SimpleLazyObject

from studies.pages.signed_in import user_of_session

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

    A view may set a policy of its own, or change single lines of this one by an attribute
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
    """Let no browser and no proxy store a page: most show answers of annotators or an account.

    The site's own static files are served before this and keep their own rule. So do pictures and
    sounds of items, which never change: their responses have an attribute `may_be_kept`.
    """

    def middleware(request: HttpRequest) -> HttpResponse:
        response = get_response(request)
        if getattr(response, "may_be_kept", False):
            return response
        if "no-store" not in response.headers.get("Cache-Control", ""):
            patch_cache_control(response, no_store=True, private=True)
        return response

    return middleware


# The participants' pages know people by a signed cookie of their own. A page that also asks for the
# researcher who is signed in reads the session itself: `studies.pages.signed_in`.
# The API knows programs by their token alone, so no cookie can act there.
_WITHOUT_ACCOUNTS = ("/s/", "/api/")


class _ForAccounts:
    """Leaves the participants' pages and the API alone."""

    get_response: Any

    def __call__(self, request: HttpRequest) -> Any:
        if request.path_info.startswith(_WITHOUT_ACCOUNTS):
            return self.get_response(request)
        return super().__call__(request)  # type: ignore[misc]


class Sessions(_ForAccounts, SessionMiddleware):
    pass


class Accounts(_ForAccounts, AuthenticationMiddleware):
    """The user of the session; for a request that only reads, also that of an access token."""

    def process_request(self, request: HttpRequest) -> HttpResponse | None:  # type: ignore[override]
        request.user = SimpleLazyObject(lambda: user_of_session(request))  # type: ignore[assignment]
        scheme, _, token = request.headers.get("Authorization", "").partition(" ")
        if scheme.lower() == "bearer" and request.method in ("GET", "HEAD"):
            from django.contrib.auth.models import AnonymousUser

            from api.bearer import count_request
            from api.problems import Problem
            from studies.services.accounts.access_tokens import find_token

            found = find_token(token.strip())
            if found is not None:
                try:
                    count_request(found)
                except Problem as problem:
                    return problem.response()
            reads = found is not None and found.Scope.READ in found.scopes
            request.user = found.user if found and reads else AnonymousUser()
            request.access_token = found  # type: ignore[attr-defined]
        return None


class Messages(_ForAccounts, MessageMiddleware):
    pass
