"""Prolific's answers, read tolerantly: the same value has several names in several places."""

import datetime as dt
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal
from typing import Any

ACTIVE = "ACTIVE"
APPROVED = "APPROVED"
AWAITING_REVIEW = "AWAITING REVIEW"
COMPLETED = "COMPLETED"
PARTIALLY_APPROVED = "PARTIALLY APPROVED"
REJECTED = "REJECTED"
RESERVED = "RESERVED"
RETURNED = "RETURNED"
SCREENED_OUT = "SCREENED OUT"
TIMED_OUT = "TIMED-OUT"
UNPUBLISHED = "UNPUBLISHED"


def minor(amount: Any) -> int:
    """An amount as Prolific writes it, with or without decimals, in whole minor units.

    >>> minor(1234.9999999), minor("12.5"), minor(None)
    (1235, 13, 0)
    """
    return int(Decimal(str(amount or 0)).quantize(Decimal(1), rounding=ROUND_HALF_UP))


def status_name(value: Any) -> str:
    """One spelling of a status: Prolific also writes AWAITING_REVIEW and TIMED OUT."""
    name = str(value or "").upper().replace("_", " ")
    return TIMED_OUT if name.replace("-", " ") == "TIMED OUT" else name


def moment(value: Any) -> dt.datetime | None:
    """A time in ISO 8601; None if there is none or it cannot be read."""
    try:
        found = dt.datetime.fromisoformat(value)
    except (TypeError, ValueError):
        return None
    return found if found.tzinfo else found.replace(tzinfo=dt.UTC)


@dataclass(frozen=True)
class RemoteStudy:
    """A study as Prolific stores it."""

    id: str
    internal_name: str
    status: str
    places: int
    places_taken: int
    reward: int
    currency: str
    payload: dict[str, Any]

    @classmethod
    def of(cls, body: dict[str, Any]) -> "RemoteStudy":
        return cls(
            id=str(body["id"]),
            internal_name=str(body.get("internal_name") or ""),
            status=status_name(body.get("status")),
            places=int(body.get("total_available_places") or 0),
            places_taken=int(body.get("places_taken") or 0),
            reward=minor(body.get("reward")),
            currency=str(
                body.get("currency_code") or body.get("presentment_currency_code") or ""
            ).upper(),
            payload=body,
        )


@dataclass(frozen=True)
class RemoteSubmission:
    """A participant's submission; the list and the single answer name its fields differently."""

    id: str
    participant: str
    status: str
    study_id: str
    parent_study_id: str
    started_at: dt.datetime | None
    completed_at: dt.datetime | None
    code: str
    bonuses: tuple[int, ...]
    return_requested: dt.datetime | None
    payload: dict[str, Any]

    @classmethod
    def of(cls, body: dict[str, Any], *, study_id: str = "") -> "RemoteSubmission":
        """Read a submission; `study_id` is the study of the list, used if the body names none."""
        return cls(
            id=str(body["id"]),
            participant=str(body.get("participant_id") or body.get("participant") or ""),
            status=status_name(body.get("status")),
            study_id=str(body.get("study_id") or study_id),
            parent_study_id=str(body.get("parent_study_id") or ""),
            started_at=moment(body.get("started_at")),
            completed_at=moment(body.get("completed_at")),
            code=str(body.get("entered_code") or body.get("study_code") or ""),
            bonuses=tuple(minor(amount) for amount in body.get("bonus_payments") or ()),
            return_requested=moment(body.get("return_requested")),
            payload=body,
        )


@dataclass(frozen=True)
class Filter:
    """A filter of the live list, with its choices by id."""

    id: str
    title: str
    kind: str
    choices: dict[str, str]
    low: float | None
    high: float | None
    question: str = ""
    data_type: str = "ChoiceID"

    @classmethod
    def of(cls, body: dict[str, Any]) -> "Filter":
        return cls(
            id=str(body["filter_id"]),
            title=str(body.get("title") or ""),
            kind=str(body.get("type") or ""),
            choices={str(k): str(v) for k, v in (body.get("choices") or {}).items()},
            low=body.get("min"),
            high=body.get("max"),
            question=str(body.get("question") or ""),
            data_type=str(body.get("data_type") or ""),
        )

    @property
    def is_choice(self) -> bool:
        """Whether participants chose one of its labels; others list studies, groups or ids."""
        return self.kind == "select" and self.data_type == "ChoiceID" and bool(self.choices)

    def everybody(self) -> dict[str, Any]:
        """The filter in the form that excludes nobody."""
        if self.kind == "range":
            return {"filter_id": self.id, "selected_range": {"lower": self.low, "upper": self.high}}
        return {"filter_id": self.id, "selected_values": list(self.choices)}


@dataclass(frozen=True)
class StudyCost:
    """Rewards or bonuses with Prolific's fees and their tax, in minor units of `currency`."""

    rewards: int = 0
    fees: int = 0
    tax: int = 0
    currency: str = ""

    @classmethod
    def of(cls, body: dict[str, Any] | None) -> "StudyCost":
        parts = {name: (body or {}).get(name) or {} for name in ("rewards", "fees", "tax")}
        amounts = {name: minor(part.get("amount")) for name, part in parts.items()}
        return cls(currency=str(parts["rewards"].get("currency") or "").upper(), **amounts)

    @property
    def total(self) -> int:
        return self.rewards + self.fees + self.tax


@dataclass(frozen=True)
class Costs:
    """The cost of a study: rewards for its places, and bonuses."""

    rewards: StudyCost
    bonuses: StudyCost

    @classmethod
    def of(cls, body: dict[str, Any]) -> "Costs":
        return cls(StudyCost.of(body["rewards"]), StudyCost.of(body.get("bonuses")))


@dataclass(frozen=True)
class BonusSetup:
    """A payment that is set up but not sent; minor units, None where Prolific states none."""

    id: str
    amount: int
    total: int
    fees: int | None
    tax: int | None

    @classmethod
    def of(cls, body: dict[str, Any]) -> "BonusSetup":
        amount = minor(body.get("amount"))
        total = minor(body["total_amount"]) if body.get("total_amount") else amount
        fees, tax = (
            None if body.get(name) is None else minor(body[name]) for name in ("fees", "vat")
        )
        return cls(str(body["id"]), amount, total, fees, tax)
