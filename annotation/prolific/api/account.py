"""The single researcher's account that this installation uses."""

import datetime as dt
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import Any, TypeVar
from urllib.parse import urlsplit

from django.conf import settings
from django.db.models import Q, QuerySet

from annotation.models import Recruitment
from annotation.prolific.api.client import ProlificClient
from annotation.prolific.api.errors import NotAllowed, ProlificError
from studies.statements import clock

Read = TypeVar("Read")

IN_WORKER = 60.0
_NO_WORKSPACE = "Choose the plan's workspace first."
_LOOPBACK = {"localhost", "127.0.0.1", "::1"}
# A claim ends by itself after a crash. It is renewed before each request.
_CLAIM, _RENEWED_AFTER = dt.timedelta(minutes=3), dt.timedelta(seconds=30)
_ACCOUNT_KEEPS = dt.timedelta(minutes=10)


def connect(*, patience: float | None = None) -> ProlificClient:
    """A client with the token of the settings. Raises `NotConfigured` without a token."""
    return ProlificClient(
        base_url=settings.PROLIFIC_BASE_URL,
        token=settings.PROLIFIC_API_TOKEN,
        patience=settings.PROLIFIC_PATIENCE if patience is None else patience,
        timeout=settings.PROLIFIC_TIMEOUT,
        referer=settings.PUBLIC_BASE_URL,
    )


def is_local() -> bool:
    """Whether the server that we use is on this machine, and so a simulated one."""
    return urlsplit(settings.PROLIFIC_BASE_URL).hostname in _LOOPBACK


@dataclass(frozen=True)
class Account:
    """A workspace's balance and the platform's least pay, in minor units; None where unknown.

    Both are advice: a value that could not be read becomes a sentence, and stops nothing.
    """

    currency: str = ""
    balance: int | None = None
    least: int | None = None
    recommended: int | None = None
    read_at: str = ""
    pay_problem: str = ""
    balance_problem: str = ""

    @classmethod
    def of(cls, stored: Mapping[str, Any]) -> "Account":
        return cls(**stored) if stored else cls()

    @property
    def problems(self) -> list[str]:
        return [problem for problem in (self.balance_problem, self.pay_problem) if problem]

    def stored(self) -> dict[str, Any]:
        return asdict(self)

    @property
    def is_fresh(self) -> bool:
        return bool(self.read_at) and not clock.is_long_ago(
            dt.datetime.fromisoformat(self.read_at), _ACCOUNT_KEEPS
        )


def read_account(client: ProlificClient, currency: str, workspace: str) -> Account:
    """The balance of the workspace's wallet, and the least hourly pay in `currency`.

    Never raises a `ProlificError`: a value that cannot be read is a problem of the account.
    """
    held, balance_problem = _advice(
        "The workspace's balance could not be read.",
        workspace,
        lambda: client.balance(workspace),
    )
    pay, pay_problem = _advice(
        f"Prolific's recommended pay in {currency} could not be read.",
        workspace,
        lambda: client.least_pay(currency, workspace=workspace),
    )
    balance, wallet_currency = held or (None, "")
    least, recommended = pay or (None, None)
    return Account(
        currency=wallet_currency,
        balance=balance,
        least=least,
        recommended=recommended,
        read_at=clock.now().isoformat(),
        pay_problem=pay_problem,
        balance_problem=balance_problem,
    )


def _advice(words: str, workspace: str, read: Callable[[], Read]) -> tuple[Read | None, str]:
    """The value that was read, or None and a sentence with the reason."""
    if not workspace:
        return None, f"{words} {_NO_WORKSPACE}"
    try:
        return read(), ""
    except ProlificError as error:
        return None, f"{words} {error}"


class AccountClaim:
    """The exclusive right to change a study on Prolific. It lasts three minutes and is renewed."""

    def __init__(self, recruitment_id: int, until: dt.datetime) -> None:
        self._recruitment_id = recruitment_id
        self._until = until

    def renew(self) -> None:
        """Hold the claim for another three minutes.

        Raises `NotAllowed` when it has ended and somebody else has taken it: the request that was
        about to be sent must then not be sent.
        """
        now = clock.now()
        if self._until - now > _CLAIM - _RENEWED_AFTER:
            return
        until = now + _CLAIM
        if not self._holders().update(busy_until=until):
            raise NotAllowed(
                "This took so long that somebody else could have continued it. Nothing more was "
                "sent. Look at what was done, then try again."
            )
        self._until = until

    def end(self) -> None:
        self._holders().update(busy_until=None)

    def _holders(self) -> QuerySet[Recruitment]:
        return Recruitment.objects.filter(pk=self._recruitment_id, busy_until=self._until)


@contextmanager
def alone(
    study_id: int, client: ProlificClient | None = None, *, what: str = "this study"
) -> Iterator[Recruitment]:
    """Claim a study's recruitment while something is sent that must not be sent twice.

    No transaction is open meanwhile: the claim is a time in the row, so that a claim left by a
    crash ends by itself. Every request of `client` renews it first, so that it holds however long
    the work takes. Raises `NotAllowed` while somebody else holds it.
    """
    recruitment, _ = Recruitment.objects.get_or_create(study_id=study_id)
    until = clock.now() + _CLAIM
    # One conditional UPDATE: if two arrive at once, only one changes the row.
    claimed = Recruitment.objects.filter(
        Q(busy_until=None) | clock.has_ended("busy_until", _CLAIM), pk=recruitment.pk
    ).update(busy_until=until)
    if not claimed:
        raise NotAllowed(
            f"Something is being changed on Prolific for {what} right now. "
            "Wait a moment, look at what it did, then try again."
        )
    claim = AccountClaim(recruitment.pk, until)
    if client is not None:
        client.before_request = claim.renew
    try:
        yield Recruitment.objects.select_related("study").get(pk=recruitment.pk)
    finally:
        if client is not None:
            client.before_request = None
        claim.end()
