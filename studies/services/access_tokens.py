"""Tokens with which a program reads as a user: `Authorization: Bearer <token>`."""

import datetime as dt
import secrets

from django.contrib.auth.models import User
from django.utils import timezone

from studies.errors import StudyError
from studies.models import AccessToken
from studies.services.team import hash_of

# Programs that search repositories for secrets know them by a fixed beginning.
_PREFIX = "thirdperson_"
_MOST = 20


def create_token(*, user: User, name: str, days: int) -> str:
    """A new token of the user, which is not kept. Raises `StudyError` if there are too many."""
    if AccessToken.objects.filter(user=user).count() >= _MOST:
        raise StudyError(f"You have {_MOST} tokens. Delete one that no program uses.")
    token = _PREFIX + secrets.token_hex(32)
    AccessToken.objects.create(
        user=user,
        name=name,
        token_sha256=hash_of(token),
        expires_at=timezone.now() + dt.timedelta(days=days),
    )
    return token


def user_of(token: str) -> User | None:
    """The active user of a token that has not expired."""
    if not token.startswith(_PREFIX):
        return None
    found = (
        AccessToken.objects.filter(
            token_sha256=hash_of(token), expires_at__gt=timezone.now(), user__is_active=True
        )
        .select_related("user")
        .first()
    )
    if found is None:
        return None
    # Once a day, so that reading does not mean writing.
    if found.used_at is None or found.used_at < timezone.now() - dt.timedelta(days=1):
        AccessToken.objects.filter(pk=found.pk).update(used_at=timezone.now())
    user: User = found.user
    return user
