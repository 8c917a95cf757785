"""A program's request: its token and limit, and its idempotency key.

A POST with an `Idempotency-Key` is carried out once: a repeat gets the same response. Response and
changes are one transaction, so a key is stored if and only if the changes are, even after a crash.
Of two equal simultaneous requests, the second waits and gets the first one's response. A refused
request changes nothing, so its key can be used again.
"""

import hashlib
import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from django.conf import settings
from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Case, F, Q, Value, When
from django.http import HttpRequest, HttpResponse, HttpResponseBase

from api.models import IdempotentRequest
from api.problems import Problem
from studies.models import AccessToken
from studies.services.accounts.credentials import find_token
from studies.statements import clock

_WINDOW = timedelta(minutes=1)
_CHALLENGE = 'Bearer realm="Thirdperson"'


def authenticate(request: HttpRequest) -> AccessToken:
    """The valid token of a request. Raises `Problem` 401 otherwise; cookies do not count."""
    scheme, _, sent = request.headers.get("Authorization", "").partition(" ")
    if scheme.lower() != "bearer" or not sent.strip():
        raise Problem(
            401,
            "Send an access token in the header “Authorization: Bearer TOKEN”. You can create one "
            "under your name at the top right of every page.",
            headers={"WWW-Authenticate": _CHALLENGE},
        )
    token = find_token(sent.strip())
    if token is None:
        raise Problem(
            401,
            "This token is unknown, has expired or was deleted. Create a new one.",
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
    window = datetime.fromtimestamp(now.timestamp() // 60 * 60, tz=UTC)
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


HEADER, REPLAYED = "Idempotency-Key", "Idempotency-Replayed"
KEPT_FOR = timedelta(days=1)
_KEY = re.compile(r"[!-~]{1,200}")


def answer_once(
    request: HttpRequest,
    user: User,
    answer: Callable[[], HttpResponseBase],
    authorise: Callable[[], None],
) -> HttpResponseBase:
    """The response of `answer`, or the stored response to an earlier equal request.

    `authorise` raises if the request is no longer allowed; its response is then not repeated.
    """
    key = request.headers.get(HEADER)
    if request.method != "POST" or key is None:
        return answer()
    if not _KEY.fullmatch(key):
        raise Problem(400, f"{HEADER} must be 1 to 200 visible ASCII characters.")
    digest = _digest(request)
    if (stored := _stored(user, key)) is None:
        try:
            return _first(user, key, digest, answer)
        except _Known:
            stored = _stored(user, key)
    if stored is None:
        raise Problem(
            409, "An equal request was in progress and failed. Send it again.", code="retry"
        )
    if stored.request_sha256 != digest:
        raise Problem(
            422,
            f"This {HEADER} was used for another request. Use a new key for each new request.",
            code="idempotency_key_reused",
        )
    authorise()
    return HttpResponse(
        stored.body,
        status=stored.status,
        content_type="application/json; charset=utf-8",
        headers={REPLAYED: "true"},
    )


def forget_old_requests() -> None:
    """Delete stored responses after a day. Safe to repeat."""
    IdempotentRequest.objects.filter(created_at__lt=clock.now() - KEPT_FOR).delete()


class _Known(Exception):
    """Another request with the key was stored first."""


def _first(
    user: User, key: str, digest: str, answer: Callable[[], HttpResponseBase]
) -> HttpResponseBase:
    with transaction.atomic():
        # Waits for another request with this key. If that stores a response, this adds nothing.
        IdempotentRequest.objects.bulk_create(
            [IdempotentRequest(user=user, key=key, request_sha256=digest)], ignore_conflicts=True
        )
        row = IdempotentRequest.objects.get(user=user, key=key)
        if row.status:
            raise _Known
        response = answer()
        assert isinstance(response, HttpResponse)  # noqa: S101  # no POST answers with a file
        row.status, row.body = response.status_code, response.content.decode()
        row.save(update_fields=["status", "body"])
        return response


def _stored(user: User, key: str) -> IdempotentRequest | None:
    return IdempotentRequest.objects.filter(
        user=user, key=key, created_at__gte=clock.now() - KEPT_FOR
    ).first()


def _digest(request: HttpRequest) -> str:
    digest = hashlib.sha256(f"{request.method} {request.get_full_path()}\n".encode())
    if request.content_type != "multipart/form-data":
        digest.update(request.body)
        return digest.hexdigest()
    for name in sorted(request.POST):
        digest.update(repr((name, request.POST.getlist(name))).encode())
    for name in sorted(request.FILES):
        for upload in request.FILES.getlist(name):
            digest.update(repr((name, upload.name, upload.size)).encode())
            for chunk in upload.chunks():
                digest.update(chunk)
            upload.seek(0)
    return digest.hexdigest()
