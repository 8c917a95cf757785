"""Signing in with a second step: codes of an authenticator app (RFC 6238), and recovery codes."""

import logging
import secrets
import time
from typing import TYPE_CHECKING

from django.contrib.auth.hashers import check_password, make_password
from django.contrib.auth.models import User
from django.core.signing import BadSignature, TimestampSigner
from django.db import transaction

from studies.errors import StudyError
from studies.models import SecondStep
from studies.sealing import cipher
from studies.services.accounts.credentials import end_all
from studies.services.accounts.team import hash_of

if TYPE_CHECKING:
    from pyotp import TOTP

logger = logging.getLogger(__name__)

_PURPOSE = b"second steps"
_ISSUER = "Thirdperson"
# How long the page may wait for the first code.
_HOUR = 60 * 60
_RECOVERY_CODES, _RECOVERY_LENGTH = 8, 10
_UNREADABLE = (
    "The second step of this account cannot be checked, because the server has a new secret key. "
    "Ask its administrator to remove it."
)


def new_secret() -> str:
    """A secret for an app, which is not stored before `switch_on`."""
    import pyotp

    return pyotp.random_base32()


def address_for_app(*, user: User, secret: str) -> str:
    """The otpauth:// address of a secret, which apps read from a QR code."""
    return _codes(secret).provisioning_uri(name=user.get_username(), issuer_name=_ISSUER)


def signed(*, user: User, secret: str) -> str:
    """The secret for a hidden field of its page, signed so that nobody else can use it."""
    return _signer(user).sign(secret)


def read_signed(*, user: User, text: str) -> str | None:
    """The secret of `signed`; None if it is from another user or more than an hour old."""
    try:
        return _signer(user).unsign(text, max_age=_HOUR)
    except BadSignature:
        return None


def switch_on(*, user: User, secret: str, code: str, keep_session: str = "") -> list[str]:
    """Store the secret if `code` is current; return the recovery codes, shown once.

    Other sessions and access tokens, which the password alone opened, end.

    Raises `StudyError` for another code, and if a second step is on already.
    """
    period = _period_of(_codes(secret), _plain(code))
    if period is None:
        raise StudyError(
            "This is not the app’s current code. Type the six digits that the app shows now, and "
            "check that the phone’s clock is right."
        )
    recovery = [secrets.token_hex(_RECOVERY_LENGTH // 2) for _ in range(_RECOVERY_CODES)]
    _, is_new = SecondStep.objects.get_or_create(
        user=user,
        defaults={
            "secret": cipher(_PURPOSE).encrypt(secret.encode()).decode(),
            "recovery_sha256": [make_password(hash_of(plain)) for plain in recovery],
            "last_period": period,
        },
    )
    if not is_new:
        raise StudyError("The second step is on already. Switch it off to set up another app.")
    end_all(user=user, keep_session=keep_session)
    logger.info("second step of signing in switched on: account %s", user.pk)
    return [f"{code[:5]}-{code[5:]}" for code in recovery]


def is_on(user: User) -> bool:
    return SecondStep.objects.filter(user=user).exists()


def accepts(*, user: User, code: str) -> bool:
    """Whether `code` is right: the app's current code, or an unused recovery code.

    Both work once. Users without a second step need none. Raises `StudyError` if the stored secret
    cannot be read.
    """
    step = SecondStep.objects.filter(user=user).first()
    if step is None:
        return True
    code = _plain(code)
    period = _period_of(_codes(_secret_of(step)), code)
    if period is not None:
        # Of two requests with the same code, one succeeds.
        newer = SecondStep.objects.filter(pk=step.pk, last_period__lt=period)
        return bool(newer.update(last_period=period))
    # The slow hashes are compared before the row is locked.
    is_long = len(code) == _RECOVERY_LENGTH
    used = [
        stored
        for stored in step.recovery_sha256
        if is_long and check_password(hash_of(code), stored)
    ]
    return bool(used) and _use_up(step, used[0])


@transaction.atomic
def _use_up(step: SecondStep, used: str) -> bool:
    """Use up a recovery code; False if another request has just used it."""
    locked = SecondStep.objects.select_for_update(no_key=True).filter(pk=step.pk).first()
    if locked is None or used not in locked.recovery_sha256:
        return False
    locked.recovery_sha256.remove(used)
    locked.save(update_fields=["recovery_sha256"])
    logger.warning("recovery code used to sign in: account %s", step.user_id)
    return True


def switch_off(*, user: User, keep_session: str = "") -> bool:
    """Remove the second step, end other sessions and tokens; return whether there was one."""
    removed = bool(SecondStep.objects.filter(user=user).delete()[0])
    if removed:
        end_all(user=user, keep_session=keep_session)
        logger.warning("second step of signing in switched off: account %s", user.pk)
    return removed


def _secret_of(step: SecondStep) -> str:
    from cryptography.fernet import InvalidToken

    try:
        return cipher(_PURPOSE).decrypt(step.secret.encode()).decode()
    except InvalidToken as error:
        raise StudyError(_UNREADABLE) from error


def _period_of(codes: "TOTP", code: str) -> int | None:
    """The half minute whose code this is: the current one, or a neighbour, because clocks differ.

    All three are compared, so that timing does not reveal which one it was.
    """
    now = int(time.time()) // codes.interval
    match = None
    for period in (now - 1, now, now + 1):
        if secrets.compare_digest(codes.generate_otp(period), code):
            match = period
    return match


def _codes(secret: str) -> "TOTP":
    import pyotp

    return pyotp.TOTP(secret)


def _plain(code: str) -> str:
    return "".join(letter for letter in code.lower() if letter.isascii() and letter.isalnum())


def _signer(user: User) -> TimestampSigner:
    return TimestampSigner(salt=f"studies.second_steps:{user.pk}")
