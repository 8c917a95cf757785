"""A workspace's balance and the least pay: advice, never required."""

import datetime as dt
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, TypeVar

from annotation.prolific.api.client import ProlificClient
from annotation.prolific.api.transport import ProlificError
from studies.statements import clock

Read = TypeVar("Read")
_NO_WORKSPACE = "Choose the plan's workspace first."
_ACCOUNT_KEEPS = dt.timedelta(minutes=10)


@dataclass(frozen=True)
class Account:
    """A workspace's balance and the platform's minimum pay, in minor units; None if unknown.

    All are advisory: a value that could not be read becomes a sentence, and blocks nothing.
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
    """The balance of the workspace's wallet, and the minimum hourly pay in `currency`.

    Never raises a `ProlificError`: a value that cannot be read is a problem of the account.
    """
    held, balance_problem = _held(client, workspace)
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


def read_balance(client: ProlificClient, workspace: str, currency: str) -> tuple[int | None, str]:
    """What the workspace has now in minor units, or None and a sentence with the reason."""
    held, problem = _held(client, workspace)
    balance, wallet_currency = held or (None, currency)
    if wallet_currency not in ("", currency):
        return None, f"The workspace's balance is in {wallet_currency}, not in {currency}."
    return balance, problem


def _held(client: ProlificClient, workspace: str) -> tuple[tuple[int | None, str] | None, str]:
    words = "The workspace's balance could not be read."
    return _advice(words, workspace, lambda: client.balance(workspace))


def _advice(words: str, workspace: str, read: Callable[[], Read]) -> tuple[Read | None, str]:
    """The value that was read, or None and a sentence with the reason."""
    if not workspace:
        return None, f"{words} {_NO_WORKSPACE}"
    try:
        return read(), ""
    except ProlificError as error:
        return None, f"{words} {error}"
