"""The one rule for every press that spends money on Prolific.

Nothing is bought beyond the need unless somebody says so, nothing that the balance does not cover,
and whoever spends more than the study needs, or more than it has spent so far, types the amount.
"""

import re
from dataclasses import dataclass

from django.db.models import F, Sum
from django.db.models.functions import Coalesce

from annotation.models import BonusPayment, ProlificReservation
from annotation.prolific.api.balance import read_balance
from annotation.prolific.api.client import ProlificClient
from annotation.prolific.api.transport import NotAllowed
from studies.models import Study
from studies.money import format_money, major_units


@dataclass(frozen=True)
class PlacesNeeded:
    """How many more people a study needs on Prolific, and why, in a sentence."""

    people: int
    why: str


class BeyondNeed(NotAllowed):
    """More would be bought than the study needs, and nobody said that this is meant."""


@dataclass(frozen=True)
class Spending:
    """An amount that a press spends, in minor units with fees and tax, and what it is for.

    `people` is how many places it buys; 0 for bonuses, which pay for work that was done. `spent` is
    what the study has spent so far, `balance` what its workspace has now, None if it is unknown.
    """

    amount: int
    currency: str
    need: PlacesNeeded
    people: int = 0
    spent: int = 0
    balance: int | None = None
    balance_problem: str = ""
    workspace: str = ""

    def __str__(self) -> str:
        return format_money(self.amount, self.currency)

    @property
    def plain(self) -> str:
        """The number as users type it."""
        return f"{major_units(self.amount, self.currency):f}"

    @property
    def beyond(self) -> int:
        """How many of the places the study does not need."""
        return max(0, self.people - self.need.people) if self.people else 0

    @property
    def must_type(self) -> bool:
        return bool(self.beyond) or self.amount > self.spent

    @property
    def held(self) -> str:
        return "" if self.balance is None else format_money(self.balance, self.currency)

    @property
    def shortage(self) -> str:
        """How much is missing and where to add it; empty if the balance is enough or unknown."""
        if self.balance is None or self.balance >= self.amount:
            return ""
        missing = format_money(self.amount - self.balance, self.currency)
        named = f" of the workspace “{self.workspace}”" if self.workspace else ""
        return (
            f"This costs {self}, but the balance{named} is {self.held}: {missing} are missing. Add "
            f"{missing} or more to this workspace on Prolific, under Finance, then try again."
        )

    @property
    def excess(self) -> str:
        """What would be bought beyond the need; empty if nothing."""
        if not self.beyond:
            return ""
        places = "1 place is" if self.beyond == 1 else f"{self.beyond:,} places are"
        return f"{self.need.why} {places} more than it needs."

    def check(self, *, confirmed: str, beyond: bool) -> None:
        """Raise `NotAllowed` unless the rule allows to spend this.

        `confirmed` is the amount that a user typed; `beyond` says that more than the need is meant.
        """
        if self.excess and not beyond:
            raise BeyondNeed(f"{self.excess} Buy no more than {self.need.people:,}.")
        if self.shortage:
            raise NotAllowed(self.shortage)
        if self.must_type and not _is_amount(confirmed, self.plain):
            raise NotAllowed(f"This costs {self}. Type {self.plain} to confirm.")


def spending(
    client: ProlificClient,
    study: Study,
    amount: int,
    currency: str,
    need: PlacesNeeded,
    *,
    people: int = 0,
    spent: int | None = None,
    workspace: tuple[str, str],
) -> Spending:
    """What would be spent, with the balance of the workspace (id and title) read now.

    `spent` is by default what the study has spent so far.
    """
    balance, problem = read_balance(client, workspace[0], currency)
    return Spending(
        amount,
        currency,
        need,
        people=people,
        spent=spent_so_far(study) if spent is None else spent,
        balance=balance,
        balance_problem=problem,
        workspace=workspace[1],
    )


def spent_so_far(study: Study) -> int:
    """The money that a study's places and bonuses have cost, in minor units, as far as known."""
    places = ProlificReservation.objects.filter(prolific_study__study=study).aggregate(
        total=Sum(F("rewards") + Coalesce("fees", 0))
    )
    sent = [BonusPayment.State.SENT, BonusPayment.State.PAID]
    bonuses = BonusPayment.objects.filter(prolific_study__study=study, state__in=sent).aggregate(
        total=Sum("total")
    )
    return int(places["total"] or 0) + int(bonuses["total"] or 0)


def _is_amount(typed: str, plain: str) -> bool:
    return re.sub(r"[^\d.]", "", typed.replace(",", "")) == plain
