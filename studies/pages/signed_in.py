"""The user who is signed in, on pages that have no sessions otherwise."""

from django.contrib.auth.middleware import AuthenticationMiddleware
from django.contrib.auth.models import AnonymousUser, User
from django.contrib.sessions.middleware import SessionMiddleware
from django.http import HttpRequest, HttpResponse

_session = SessionMiddleware(lambda request: HttpResponse())
_account = AuthenticationMiddleware(lambda request: HttpResponse())


def signed_in(request: HttpRequest) -> User | AnonymousUser:
    """The request's user, read from the session if no middleware did."""
    if not hasattr(request, "user"):
        _session.process_request(request)
        _account.process_request(request)
    return request.user
