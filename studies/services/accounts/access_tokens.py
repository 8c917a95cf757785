"""Tokens with which a program acts as a user: `Authorization: Bearer <token>`."""

import datetime as dt
import secrets
from collections.abc import Sequence

from django.contrib.auth.models import User

from studies.errors import StudyError
from studies.models import AccessToken
from studies.services.accounts.team import hash_of
from studies.statements import clock

# Programs that search repositories for secrets know them by a fixed beginning.
_PREFIX = "thirdperson_"
_MOST = 20


def create_token(*, user: User, name: str, days: int, scopes: Sequence[str]) -> str:
    """A new token of the user, which is not kept. Raises `StudyError` if there are too many."""
    if AccessToken.objects.filter(user=user).count() >= _MOST:
        raise StudyError(f"You have {_MOST} tokens. Delete one that no program uses.")
    token = _PREFIX + secrets.token_hex(32)
    AccessToken.objects.create(
        user=user,
        name=name,
        token_sha256=hash_of(token),
        scopes=[scope for scope in AccessToken.Scope.values if scope in scopes],
        expires_at=clock.now() + dt.timedelta(days=days),
    )
    return token


def find_token(token: str) -> AccessToken | None:
    """The token that was sent, if it is valid and its user is active."""
    if not token.startswith(_PREFIX):
        return None
    found = (
        AccessToken.objects.filter(
            token_sha256=hash_of(token), expires_at__gt=clock.now(), user__is_active=True
        )
        .select_related("user")
        .first()
    )
    if found is None:
        return None
    # Once a day, so that reading does not mean writing.
    if found.used_at is None or found.used_at < clock.now() - dt.timedelta(days=1):
        AccessToken.objects.filter(pk=found.pk).update(used_at=clock.now())
    return found
