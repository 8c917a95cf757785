"""Browser sessions and access tokens, which let somebody act as a user, and how they end."""

import datetime as dt
import re
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY
from django.contrib.auth.models import User
from django.contrib.auth.password_validation import CommonPasswordValidator
from django.core.exceptions import ValidationError
from django.utils.crypto import constant_time_compare, salted_hmac

from studies.errors import StudyError
from studies.models import AccessToken
from studies.services.accounts.team import hash_of
from studies.statements import clock

# Keys of session data besides Django's own.
BEGUN, SEEN, BROWSER, ADDRESS = "begun", "seen", "browser", "address"
# A session ends this long after its last page, and this long after signing in.
IDLE = dt.timedelta(hours=24)
LONGEST = dt.timedelta(days=14)
_OWN_WORDS = ("thirdperson",)


@dataclass(frozen=True)
class OpenSession:
    """A signed-in browser; times may be missing in old sessions.

    `public_id` identifies the session to its owner and gives no access.
    """

    public_id: str
    begun: dt.datetime | None
    seen: dt.datetime | None
    browser: str
    address: str
    is_this: bool


def open_sessions(user: User, *, this: str = "") -> list[OpenSession]:
    """The browsers in which the user is signed in, the last used first; `this` is a session key."""
    sessions = [
        OpenSession(
            public_id=_public_id(key),
            begun=_moment(data.get(BEGUN)),
            seen=_moment(data.get(SEEN)),
            browser=str(data.get(BROWSER, "")),
            address=str(data.get(ADDRESS, "")),
            is_this=key == this,
        )
        for key, data in _sessions_of(user)
        if constant_time_compare(data.get(HASH_SESSION_KEY, ""), user.get_session_auth_hash())
        and not is_over(data)
    ]
    return sorted(
        sessions, key=lambda session: (session.is_this, session.seen or clock.now()), reverse=True
    )


def end_session(*, user: User, public_id: str) -> bool:
    """Sign the user out of one browser; return whether there was one."""
    return _delete([key for key, _ in _sessions_of(user) if _public_id(key) == public_id])


def end_all(*, user: User, keep_session: str = "") -> None:
    """Sign the user out of all browsers but `keep_session`, and delete the access tokens."""
    AccessToken.objects.filter(user=user).delete()
    _delete([key for key, _ in _sessions_of(user) if key != keep_session])


def is_over(session: Any) -> bool:
    """Whether a session has been idle, or open, for too long."""
    now = clock.now()
    begun, seen = _moment(session.get(BEGUN)), _moment(session.get(SEEN))
    return (seen is not None and seen < now - IDLE) or (begun is not None and begun < now - LONGEST)


def _sessions_of(user: User) -> list[tuple[str, dict[str, Any]]]:
    """Key and content of the user's sessions: only researchers have any, so they are few."""
    # `thirdperson check` has no table of sessions.
    from django.contrib.sessions.models import Session

    rows = Session.objects.filter(expire_date__gt=clock.now())
    decoded = ((row.session_key, row.get_decoded()) for row in rows.iterator())
    return [
        (key, data)
        for key, data in decoded
        if data.get(SESSION_KEY) == str(user.pk) and BACKEND_SESSION_KEY in data
    ]


def _delete(keys: list[str]) -> bool:
    from django.contrib.sessions.models import Session

    return bool(Session.objects.filter(session_key__in=keys).delete()[0])


def _public_id(key: str) -> str:
    return salted_hmac("studies.sessions", key, algorithm="sha256").hexdigest()[:20]


def _moment(seconds: Any) -> dt.datetime | None:
    return dt.datetime.fromtimestamp(seconds, tz=dt.UTC) if isinstance(seconds, int) else None


class PasswordRules:
    """Refuse names of the account or site in a password, and common passwords with digits around.

    Django calls `password_changed` however a password changes: existing tokens end then. Sessions
    end by themselves, because each holds a hash of the password.
    """

    def validate(self, password: str, user: Any = None) -> None:
        written = password.casefold()
        core = re.sub(r"^[\W\d_]+|[\W\d_]+$", "", written)
        if core != written and core in CommonPasswordValidator().passwords:
            raise ValidationError(
                f"This password is the common “{core}” with digits or symbols around it, which "
                "attackers try early. Use several unrelated words.",
                code="password_common_core",
            )
        for word in _words_of(user):
            # Short names occur inside of other words by chance.
            pattern = re.escape(word) if len(word) > 3 else rf"(?<![a-z]){re.escape(word)}(?![a-z])"
            if len(word) > 1 and re.search(pattern, written):
                raise ValidationError(
                    f"This password contains “{word}” from your name, your address or the name of "
                    "this site. Leave it out.",
                    code="password_own_word",
                )

    def get_help_text(self) -> str:
        return "Your password must not contain your name or the name of this site."

    def password_changed(self, password: str, user: Any = None) -> None:
        if user is not None and user.pk is not None:
            AccessToken.objects.filter(user=user.pk).delete()


def _words_of(user: Any) -> list[str]:
    """Words that attackers try first: from the account, the site and its address."""
    email = str(getattr(user, "email", "") or "")
    name, _, domain = email.partition("@")
    host = urlsplit(settings.PUBLIC_BASE_URL).hostname or ""
    texts = [
        *(str(getattr(user, field, "") or "") for field in ("username", "first_name", "last_name")),
        name,
        *domain.split(".")[:-1],
        *host.split(".")[:-1],
        *_OWN_WORDS,
    ]
    return list(dict.fromkeys(text.casefold().strip() for text in texts if text.strip()))


# Programs that search repositories for secrets know them by a fixed beginning.
_PREFIX = "thirdperson_"
_MOST = 20


def create_token(*, user: User, name: str, days: int, scopes: Sequence[str]) -> str:
    """A new token, of which only a hash is stored. Raises `StudyError` if there are too many."""
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
    token_row = (
        AccessToken.objects.filter(
            token_sha256=hash_of(token), expires_at__gt=clock.now(), user__is_active=True
        )
        .select_related("user")
        .first()
    )
    if token_row is None:
        return None
    # Once a day, so that not every request writes.
    if token_row.used_at is None or token_row.used_at < clock.now() - dt.timedelta(days=1):
        AccessToken.objects.filter(pk=token_row.pk).update(used_at=clock.now())
    return token_row
