"""Limits on attempts to sign in and similar, counted in the database that all servers share."""

import datetime as dt
import logging
import math
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.contrib.auth import get_user_model
from django.db.models import QuerySet
from django.utils.crypto import salted_hmac

from studies.errors import TooManyAttempts
from studies.models import SignIn
from studies.statements import clock


@dataclass(frozen=True)
class Limit:
    """How many attempts are allowed within a time; the next one waits."""

    attempts: int
    within: dt.timedelta

    def wait(self, attempts: QuerySet[Any]) -> dt.timedelta | None:
        """The time until another attempt is allowed; None if one is allowed now.

        `attempts` are rows with a `created_at`.
        """
        now = clock.now()
        recent = attempts.filter(created_at__gt=now - self.within).order_by("-created_at")
        decisive = recent.values_list("created_at", flat=True)[self.attempts - 1 : self.attempts]
        return next((moment + self.within - now for moment in decisive), None)


def minutes(wait: dt.timedelta) -> int:
    """The time to wait in whole minutes, at least one."""
    return max(1, math.ceil(wait.total_seconds() / 60))


logger = logging.getLogger(__name__)

_KEPT_FOR = dt.timedelta(days=90)


# One account from one address; one address for all accounts, because a university may share it; one
# account from all addresses.
PAIR = Limit(5, dt.timedelta(minutes=15))
ADDRESS = Limit(50, dt.timedelta(minutes=15))
ACCOUNT = Limit(100, dt.timedelta(hours=1))
CODE = "code\0"  # a prefix of account names: no name has this character
# Limit on password reset links, so that no mailbox is flooded.
RESET_ACCOUNT = Limit(3, dt.timedelta(hours=1))
RESET_ADDRESS = Limit(20, dt.timedelta(hours=1))


def begin(*, name: str, address: str, factor: str = "") -> SignIn:
    """Store an attempt to sign in as `name`; it counts as failed until `succeed`.

    Each `factor`, the password or `CODE`, is counted separately: knowing one does not reset the
    count of guesses at the other. It is stored before the password is checked, so that simultaneous
    attempts count each other. Raises `TooManyAttempts`; a refused attempt does not count, so that
    the wait always ends.
    """
    attempt = SignIn.objects.create(
        account=_account(factor + name),
        user=get_user_model().objects.filter(username=name).first(),
        address=address,
    )
    if wait := _wait(attempt):
        attempt.delete()
        logger.warning(
            "sign-in refused, too many attempts: account %s, address %s", _named(attempt), address
        )
        raise TooManyAttempts(wait)
    return attempt


def succeed(attempt: SignIn) -> None:
    """Mark an attempt as a sign-in, and delete old attempts."""
    attempt.outcome = SignIn.Outcome.SUCCEEDED
    attempt.save(update_fields=["outcome"])
    SignIn.objects.filter(created_at__lt=clock.now() - _KEPT_FOR).delete()


def forget(attempt: SignIn) -> None:
    """Do not count an attempt whose password was right and whose code was wrong."""
    attempt.delete()


def fail(attempt: SignIn) -> None:
    """Log an attempt with a wrong password or code."""
    logger.warning("sign-in failed: account %s, address %s", _named(attempt), attempt.address)


def may_ask_for_reset(*, email: str, address: str) -> bool:
    """Whether a password reset link can be sent now; counts the request if so."""
    asked = SignIn.objects.filter(outcome=SignIn.Outcome.RESET)
    account = _account(email)
    if RESET_ACCOUNT.wait(asked.filter(account=account)) or RESET_ADDRESS.wait(
        asked.filter(address=address)
    ):
        logger.warning("reset link refused, too many requests: address %s", address)
        return False
    SignIn.objects.create(account=account, address=address, outcome=SignIn.Outcome.RESET)
    return True


def sentence(wait: dt.timedelta) -> str:
    """The message for a user who has to wait."""
    number = minutes(wait)
    time = "1 minute" if number == 1 else f"{number} minutes"
    return f"Too many failed attempts to sign in. Wait {time}, then try again."


def _wait(attempt: SignIn) -> dt.timedelta | None:
    others = SignIn.objects.exclude(pk=attempt.pk)
    failed = others.filter(outcome=SignIn.Outcome.FAILED)
    signed_in = others.filter(
        outcome=SignIn.Outcome.SUCCEEDED, account=attempt.account, address=attempt.address
    )
    last = signed_in.order_by("-created_at").first()
    pair = failed.filter(account=attempt.account, address=attempt.address)
    if last is not None:
        return PAIR.wait(pair.filter(created_at__gt=last.created_at))
    return (
        PAIR.wait(pair)
        or ADDRESS.wait(failed.filter(address=attempt.address))
        or ACCOUNT.wait(failed.filter(account=attempt.account))
    )


def _account(name: str) -> str:
    """The keyed hash of a name; all spellings of an account give the same hash."""
    return salted_hmac(
        "studies.sign_ins", name.strip().casefold(), secret=settings.SECRET_KEY, algorithm="sha256"
    ).hexdigest()


def _named(attempt: SignIn) -> str:
    return str(attempt.user_id) if attempt.user_id else "unknown"
