"""The one researcher's account that this installation speaks for."""

import datetime as dt
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.db.models import Q
from django.utils import timezone

from annotation.models import Recruitment
from annotation.prolific.client import Client
from annotation.prolific.errors import NotAllowed

IN_WORKER = 60.0
_LOOPBACK = {"localhost", "127.0.0.1", "::1"}
_CLAIM = dt.timedelta(minutes=3)
_ACCOUNT_KEEPS = dt.timedelta(minutes=10)


def connect(*, patience: float | None = None) -> Client:
    """A client with the token of the settings. Raises `NotConfigured` without one."""
    return Client(
        base_url=settings.PROLIFIC_BASE_URL,
        token=settings.PROLIFIC_API_TOKEN,
        patience=settings.PROLIFIC_PATIENCE if patience is None else patience,
        timeout=settings.PROLIFIC_TIMEOUT,
        referer=settings.PUBLIC_BASE_URL,
    )


def is_local() -> bool:
    """Whether the server that we speak with is on this machine, and so a simulated one."""
    return urlsplit(settings.PROLIFIC_BASE_URL).hostname in _LOOPBACK


@dataclass(frozen=True)
class Account:
    """The account's money and the platform's floor, in minor units; None where it says nothing."""

    currency: str = ""
    balance: int | None = None
    least: int | None = None
    recommended: int | None = None
    read_at: str = ""

    @classmethod
    def of(cls, stored: Mapping[str, Any]) -> "Account":
        return cls(**stored) if stored else cls()

    def stored(self) -> dict[str, Any]:
        return asdict(self)

    @property
    def is_fresh(self) -> bool:
        return bool(self.read_at) and (
            timezone.now() - dt.datetime.fromisoformat(self.read_at) < _ACCOUNT_KEEPS
        )


def read_account(client: Client, currency: str) -> Account:
    """What the account holds, and what an hour has to pay at least in `currency`."""
    me = client.me()
    least, recommended = client.least_pay(currency) or (None, None)
    balance = me.get("available_balance", me.get("balance"))
    return Account(
        currency=str(me.get("currency_code") or "").upper(),
        balance=round(balance) if isinstance(balance, int | float) else None,
        least=least,
        recommended=recommended,
        read_at=timezone.now().isoformat(),
    )


@contextmanager
def alone(study_id: int) -> Iterator[Recruitment]:
    """Hold a study's recruitment while something is sent that must not be sent twice.

    No transaction is open meanwhile: the claim is a time in the row, so that what a crash leaves
    behind ends by itself. Raises `NotAllowed` while somebody else holds it.
    """
    recruitment, _ = Recruitment.objects.get_or_create(study_id=study_id)
    now = timezone.now()
    until = now + _CLAIM
    # One conditional UPDATE: of two who come at once, one changes the row.
    claimed = Recruitment.objects.filter(
        Q(busy_until=None) | Q(busy_until__lt=now), pk=recruitment.pk
    ).update(busy_until=until)
    if not claimed:
        raise NotAllowed(
            "Something is being changed on Prolific for this study right now. "
            "Wait a moment, look at what it did, then try again."
        )
    try:
        yield Recruitment.objects.get(pk=recruitment.pk)
    finally:
        Recruitment.objects.filter(pk=recruitment.pk, busy_until=until).update(busy_until=None)
