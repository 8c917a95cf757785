"""Headers of every page."""

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse
from django.utils.cache import patch_cache_control

_POLICY = {
    "default-src": "'none'",
    "script-src": "'self'",
    "style-src": "'self'",
    "img-src": "'self' data:",
    "font-src": "'self'",
    "connect-src": "'self'",
    "form-action": "'self'",
    "frame-ancestors": "'none'",
    "base-uri": "'none'",
}


def content_security_policy(
    get_response: Callable[[HttpRequest], HttpResponse],
) -> Callable[[HttpRequest], HttpResponse]:
    """Allow this site's own files and nothing else.

    A view may set a policy of its own, or change single lines of this one by an attribute
    `policy_changes` of its response.
    """

    def middleware(request: HttpRequest) -> HttpResponse:
        response = get_response(request)
        policy = _POLICY | getattr(response, "policy_changes", {})
        response.headers.setdefault(
            "Content-Security-Policy",
            "; ".join(f"{name} {value}" for name, value in policy.items()),
        )
        response.headers.setdefault(
            "Permissions-Policy", "camera=(), microphone=(), geolocation=()"
        )
        return response

    return middleware


def no_store(
    get_response: Callable[[HttpRequest], HttpResponse],
) -> Callable[[HttpRequest], HttpResponse]:
    """Let no browser and no proxy store a page: most show answers of annotators or an account.

    The site's own static files are served before this and keep their own rule.
    """

    def middleware(request: HttpRequest) -> HttpResponse:
        response = get_response(request)
        if "no-store" not in response.headers.get("Cache-Control", ""):
            patch_cache_control(response, no_store=True, private=True)
        return response

    return middleware
