"""The token of a request, and the number of requests that it may send in a minute."""

from datetime import UTC, datetime, timedelta

from django.conf import settings
from django.db.models import Case, F, Q, Value, When
from django.http import HttpRequest

from api.problems import Problem
from studies.models import AccessToken
from studies.services.accounts.access_tokens import find_token
from studies.statements import clock

_WINDOW = timedelta(minutes=1)
_CHALLENGE = 'Bearer realm="Thirdperson"'


def authenticate(request: HttpRequest) -> AccessToken:
    """The valid token of a request. Raises `Problem` 401; cookies do not count."""
    scheme, _, sent = request.headers.get("Authorization", "").partition(" ")
    if scheme.lower() != "bearer" or not sent.strip():
        raise Problem(
            401,
            "Send an access token in the header “Authorization: Bearer TOKEN”. You make one under "
            "your name at the top right of every page.",
            headers={"WWW-Authenticate": _CHALLENGE},
        )
    token = find_token(sent.strip())
    if token is None:
        raise Problem(
            401,
            "This token is not known, has expired or was deleted. Make a new one.",
            headers={"WWW-Authenticate": f'{_CHALLENGE}, error="invalid_token"'},
        )
    return token


def count_request(token: AccessToken) -> None:
    """Count a request of a token. Raises `Problem` 429 if the token has sent too many.

    One conditional UPDATE, so that simultaneous requests count each other.
    """
    most = settings.API_REQUESTS_PER_MINUTE
    if not most:
        return
    now = clock.now()
    window = _window(now)
    is_new = Q(window_started_at=None) | Q(window_started_at__lt=window)
    counted = (
        AccessToken.objects.filter(pk=token.pk)
        .filter(is_new | Q(window_requests__lt=most))
        .update(
            window_requests=Case(When(is_new, then=Value(1)), default=F("window_requests") + 1),
            window_started_at=window,
        )
    )
    if not counted:
        wait = max(1, round((window + _WINDOW - now).total_seconds()))
        raise Problem(
            429,
            f"This token may send {most:,} requests a minute. Wait {wait} seconds.",
            headers={"Retry-After": str(wait)},
        )


def _window(now: datetime) -> datetime:
    """The start of the minute of `now`."""
    return datetime.fromtimestamp(now.timestamp() // 60 * 60, tz=UTC)
