"""Who sends a request: its network address, and the signed-in user while a session lasts."""

import datetime as dt
import ipaddress
from typing import Any

from django.conf import settings
from django.contrib.auth import get_user
from django.contrib.auth.models import AnonymousUser, User
from django.contrib.sessions.middleware import SessionMiddleware
from django.http import HttpRequest, HttpResponse

from studies.services.accounts.credentials import ADDRESS, BEGUN, BROWSER, SEEN, is_over
from studies.statements import clock

UNKNOWN = "unknown"
_session = SessionMiddleware(lambda request: HttpResponse())
# A page view is stored at most this often, so that not every read writes.
_NOTED_EVERY = dt.timedelta(minutes=10)
# For this long after signing in, pages do not ask for the password again.
_FRESH = dt.timedelta(minutes=15)


def client_address(request: HttpRequest) -> str:
    """The address that sent the request, in the form that limits use.

    Any client can write X-Forwarded-For, so only the last `TRUSTED_PROXIES` entries count, which
    the installation's own proxies wrote. IPv6 addresses are cut to their network of 64 bits, which
    belongs to one connection.
    """
    connection = request.META.get("REMOTE_ADDR", "")
    if settings.TRUSTED_PROXIES:
        written = request.META.get("HTTP_X_FORWARDED_FOR", "").split(",")
        if len(written) >= settings.TRUSTED_PROXIES:
            return _counted(written[-settings.TRUSTED_PROXIES]) or _counted(connection) or UNKNOWN
    return _counted(connection) or UNKNOWN


def _counted(text: str) -> str:
    """The address in the form that limits use; empty if `text` is not an address."""
    try:
        address = ipaddress.ip_address(text.strip())
    except ValueError:
        return ""
    if isinstance(address, ipaddress.IPv4Address):
        return str(address)
    if address.ipv4_mapped:
        return str(address.ipv4_mapped)
    return str(ipaddress.ip_network((int(address), 64), strict=False))


def begin_session(request: HttpRequest, **sent: Any) -> None:
    """Note in a new session when and where it began; a receiver of `user_logged_in`."""
    now = int(clock.now().timestamp())
    request.session[BEGUN] = request.session[SEEN] = now
    request.session[BROWSER] = request.headers.get("User-Agent", "")[:200]
    request.session[ADDRESS] = client_address(request)


def user_of_session(request: HttpRequest) -> User | AnonymousUser:
    """The user of the request's session, which ends if it was idle or open for too long."""
    user = get_user(request)
    if not user.is_authenticated:
        return AnonymousUser()
    if is_over(request.session):
        request.session.flush()
        return AnonymousUser()
    now = int(clock.now().timestamp())
    if now - request.session.get(SEEN, 0) > _NOTED_EVERY.total_seconds():
        request.session.setdefault(BEGUN, now)
        request.session[SEEN] = now
    return user


def has_just_signed_in(request: HttpRequest) -> bool:
    """Whether the password was typed in this browser a few minutes ago."""
    age = clock.now().timestamp() - request.session.get(BEGUN, 0)
    return age < _FRESH.total_seconds()


def signed_in(request: HttpRequest) -> User | AnonymousUser:
    """The request's user, read from the session if no middleware did."""
    if not hasattr(request, "user"):
        _session.process_request(request)
        request.user = user_of_session(request)
    return request.user
