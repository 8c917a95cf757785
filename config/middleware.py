"""Headers that every page carries."""

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse

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
