"""Prolific's answers, read tolerantly, and its filters by their labels.

If a filter or a choice is not found, the launch is refused; nothing is ever dropped.
"""

import datetime as dt
import itertools
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
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
SCHEDULED = "SCHEDULED"
SCREENED_OUT = "SCREENED OUT"
TIMED_OUT = "TIMED-OUT"
UNPUBLISHED = "UNPUBLISHED"
# What the database can store.
_LARGEST = 2**31 - 1
_LONGEST_ID, _LONGEST_STATUS = 64, 40


def minor(amount: Any) -> int:
    """An amount as Prolific writes it, with or without decimals, in whole minor units.

    >>> minor(1234.9999999), minor("12.5"), minor(None)
    (1235, 13, 0)
    """
    whole = int(Decimal(str(amount or 0)).quantize(Decimal(1), rounding=ROUND_HALF_UP))
    if abs(whole) > _LARGEST:
        raise ValueError(amount)
    return whole


def count(value: Any) -> int:
    """A number of places or a price, which is not negative."""
    if (whole := minor(value)) < 0:
        raise ValueError(value)
    return whole


def identifier(value: Any) -> str:
    """An id as a text; "" for none."""
    if not isinstance(value, str | int | None) or len(text := str(value or "")) > _LONGEST_ID:
        raise ValueError(value)
    return text


def status_name(value: Any) -> str:
    """One spelling of a status: Prolific also writes AWAITING_REVIEW and TIMED OUT."""
    name = str(value or "").upper().replace("_", " ")[:_LONGEST_STATUS]
    return TIMED_OUT if name.replace("-", " ") == "TIMED OUT" else name


def moment(value: Any) -> dt.datetime | None:
    """A time in ISO 8601; None if there is none or it cannot be read."""
    try:
        moment = dt.datetime.fromisoformat(value)
    except (TypeError, ValueError):
        return None
    if not 2000 <= moment.year <= 2999:  # others cannot be moved to another time zone
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=dt.UTC)


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
            id=identifier(body["id"]),
            internal_name=str(body.get("internal_name") or ""),
            status=status_name(body.get("status")),
            places=count(body.get("total_available_places")),
            places_taken=count(body.get("places_taken")),
            reward=count(body.get("reward")),
            currency=str(
                body.get("currency_code") or body.get("presentment_currency_code") or ""
            ).upper(),
            payload=body,
        )


@dataclass(frozen=True)
class RemoteSubmission:
    """A participant's submission; lists and single answers name its fields differently."""

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
        """Read a submission; `study_id`, that of the list, is used if the body names none."""
        return cls(
            id=identifier(body["id"]),
            participant=identifier(body.get("participant_id") or body.get("participant")),
            status=status_name(body.get("status")),
            study_id=identifier(body.get("study_id") or study_id),
            parent_study_id=identifier(body.get("parent_study_id")),
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
    low: float | str | None
    high: float | str | None
    question: str = ""
    data_type: str = "ChoiceID"
    tags: tuple[str, ...] = ()

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
            tags=tuple(map(str, body.get("tags") or ())),
        )

    @property
    def is_choice(self) -> bool:
        """Whether it has labels to choose from; other filters list studies, groups or ids."""
        return self.kind == "select" and self.data_type == "ChoiceID" and bool(self.choices)

    @property
    def is_range(self) -> bool:
        return self.kind == "range"

    @property
    def is_list(self) -> bool:
        """Whether it lists studies, participant groups or participants of the account by id."""
        return self.data_type in _LISTS


@dataclass(frozen=True)
class FilterSet:
    """A set of filters that a workspace keeps; a study uses one version of it."""

    id: str
    name: str
    version: int | None
    filters: list[dict[str, Any]]

    @classmethod
    def of(cls, body: dict[str, Any]) -> "FilterSet":
        version = body.get("version")
        return cls(
            id=str(body["id"]),
            name=str(body.get("name") or body["id"]),
            version=None if version is None else int(version),
            filters=list(body.get("filters") or []),
        )


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
        amounts = {name: count(part.get("amount")) for name, part in parts.items()}
        return cls(currency=str(parts["rewards"].get("currency") or "").upper(), **amounts)

    @property
    def total(self) -> int:
        return self.rewards + self.fees + self.tax


@dataclass(frozen=True)
class BonusSetup:
    """A payment that is set up but not sent; minor units, None if Prolific states none."""

    id: str
    amount: int
    total: int
    fees: int | None
    tax: int | None

    @classmethod
    def of(cls, body: dict[str, Any]) -> "BonusSetup":
        amount = count(body.get("amount"))
        total = count(body["total_amount"]) if body.get("total_amount") else amount
        fees, tax = (
            None if body.get(name) is None else count(body[name]) for name in ("fees", "vat")
        )
        return cls(identifier(body["id"]), amount, total, fees, tax)


COUNTRY = "current-country-of-residence"
LANGUAGE = "fluent-languages"
AGE = "age"
APPROVAL_RATE = "approval_rate"
EARLIER_SUBMISSIONS = "approval_numbers"
SEX = "sex"
POLITICS = "us-political-affiliation"
STUDY_BLOCKLIST = "previous_studies_blocklist"
GROUP_BLOCKLIST = "participant_group_blocklist"

# What the values of a filter are, other than choices with a label.
_LISTS = ("StudyID", "ParticipantGroupID", "ParticipantID")
_ID = re.compile(r"[0-9a-f]{24}")

# The title to look for if the list no longer has the filter's id.
_TITLES = {
    COUNTRY: "Current country of residence",
    LANGUAGE: "Fluent languages",
    AGE: "Age",
    APPROVAL_RATE: "Approval rate",
    EARLIER_SUBMISSIONS: "Number of previous submissions",
    SEX: "Sex",
    POLITICS: "U.S. political affiliation",
}


Bound = int | float | str


@dataclass(frozen=True)
class WantedFilter:
    """A filter in the researcher's terms: labels, or a range; `weights` balance the labels.

    The labels of a list are titles or ids, those of a range are parts of it, such as 18-39 or 75+.
    `any_of` are filters of which one must apply, `all_of` those that must apply together; such a
    filter has no `filter_id`. The bounds of a range of dates are ISO dates.
    """

    filter_id: str
    labels: Sequence[str] = ()
    low: Bound | None = None
    high: Bound | None = None
    weights: Mapping[str, int] = field(default_factory=dict)
    any_of: "Sequence[WantedFilter]" = ()
    all_of: "Sequence[WantedFilter]" = ()

    @classmethod
    def of(cls, stored: Mapping[str, Any]) -> "WantedFilter":
        """A filter as a launch plan stores it."""
        return cls(
            filter_id=stored.get("filter", ""),
            labels=stored.get("labels", ()),
            low=stored.get("low"),
            high=stored.get("high"),
            any_of=[cls.of(one) for one in stored.get("any", ())],
            all_of=[cls.of(one) for one in stored.get("all", ())],
        )


@dataclass(frozen=True)
class Resolved:
    """The filters to send, and sentences about those that could not be found.

    With a `filter_set`, these are its filters, and only the set is sent.
    """

    filters: list[dict[str, Any]]
    problems: list[str]
    filter_set: "FilterSet | None" = None


def resolve(wanted: Sequence[WantedFilter], live: Sequence[Filter]) -> Resolved:
    filters, problems = [], []
    for one in wanted:
        if one.any_of or one.all_of:
            inner = resolve([*one.any_of, *one.all_of], live)
            problems += inner.problems
            if not inner.problems:
                group = "or" if one.any_of else "and"
                filters.append({"filter_id": group, "selected_filters": inner.filters})
            continue
        problem, selected = _leaf(one, live)
        if problem:
            problems.append(problem)
        else:
            filters.append(selected)
    return Resolved(filters, problems)


def _leaf(one: WantedFilter, live: Sequence[Filter]) -> tuple[str, dict[str, Any]]:
    """A filter to send, or the sentence why it cannot be."""
    live_filter = find_filter(one.filter_id, live)
    if live_filter is None:
        return (
            f"Prolific has no filter “{_TITLES.get(one.filter_id, one.filter_id)}” any more. "
            "Remove it from the plan, or create the study on Prolific itself."
        ), {}
    if not one.labels:
        problem, selected = _range(one, live_filter)
        return problem, {"filter_id": live_filter.id, "selected_range": selected}
    if live_filter.is_range:
        return _bands(one, live_filter)
    ids, missing = _choices(one.labels, live_filter)
    if not missing:
        return "", _select(one, live_filter, ids)
    named = f"Prolific's filter “{live_filter.title}” has no choice “{'”, “'.join(missing)}”."
    if live_filter.data_type == "ParticipantID":
        named = (
            f"“{live_filter.title}” takes participants' ids of 24 characters, not all that it has."
        )
    offered = ", ".join(sorted(live_filter.choices.values())[:12])
    return f"{named} It offers: {offered}." if offered else named, {}


def find_filter(filter_id: str, live: Sequence[Filter]) -> Filter | None:
    """The filter by its id, or if that is gone, the only one with its title."""
    for one in live:
        if one.id == filter_id:
            return one
    title = _fold(_TITLES.get(filter_id, ""))
    named = [one for one in live if title and _fold(one.title) == title]
    return named[0] if len(named) == 1 else None


def _choices(labels: Sequence[str], live_filter: Filter) -> tuple[dict[str, str], list[str]]:
    """The id of each label, and the labels that match no choice or more than one."""
    ids, missing = {}, []
    for label in labels:
        matching = [key for key, text in live_filter.choices.items() if _fold(text) == _fold(label)]
        if live_filter.is_list and (label in live_filter.choices or _ID.fullmatch(label)):
            matching = [label]
        if len(matching) == 1:
            ids[label] = matching[0]
        else:
            missing.append(label)
    return ids, missing


def _select(one: WantedFilter, live_filter: Filter, ids: Mapping[str, str]) -> dict[str, Any]:
    selected: dict[str, Any] = {"filter_id": live_filter.id, "selected_values": list(ids.values())}
    if one.weights:
        selected["weightings"] = {ids[label]: weight for label, weight in one.weights.items()}
    return selected


# A part of a range: two numbers, or the lowest one.
BAND = re.compile(r"(\d+)\s*(?:[-–]\s*(\d+)|\+)")


def _bands(one: WantedFilter, live_filter: Filter) -> tuple[str, dict[str, Any]]:
    """A range that is divided into its parts, which must not overlap."""
    bands = {}
    for label in one.labels:
        parts = BAND.fullmatch(label.strip())
        if parts is None:
            return f"“{live_filter.title}” takes parts such as 18-39 or 75+, not “{label}”.", {}
        problem, bands[label] = _range(
            WantedFilter(live_filter.id, low=parts[1], high=parts[2]), live_filter
        )
        if problem:
            return problem, {}
    ordered = sorted(bands.values(), key=lambda band: float(band["lower"]))
    if any(a["upper"] >= b["lower"] for a, b in itertools.pairwise(ordered)):  # type: ignore[operator]
        return f"The parts of “{live_filter.title}” overlap: {', '.join(one.labels)}.", {}
    whole = {"lower": ordered[0]["lower"], "upper": ordered[-1]["upper"]}
    selected: dict[str, Any] = {"filter_id": live_filter.id, "selected_range": whole}
    if one.weights:
        selected["weightings"] = {
            str(number): {"selected_range": bands[label], "weighting": one.weights[label]}
            for number, label in enumerate(one.labels)
        }
    return "", selected


def _range(one: WantedFilter, live_filter: Filter) -> tuple[str, dict[str, Bound]]:
    """The bounds to send; an open end uses the filter's own bound."""
    low = one.low if one.low is not None else live_filter.low
    high = one.high if one.high is not None else live_filter.high
    if not live_filter.is_range or low is None or high is None:
        return f"Prolific's filter “{live_filter.title}” no longer takes a range.", {}
    try:
        bounds = [_bound(value, live_filter) for value in (low, high)]
        limits = [
            None if v is None else _bound(v, live_filter)
            for v in (live_filter.low, live_filter.high)
        ]
    except ValueError:
        units = {"date": "dates such as 2026-03-31", "float": "numbers"}
        unit = units.get(live_filter.data_type, "whole numbers")
        return f"“{live_filter.title}” takes {unit}, not {low} to {high}.", {}
    ordered = [bound for bound in (limits[0], *bounds, limits[1]) if bound is not None]
    if ordered != sorted(ordered):
        allowed = f"from {live_filter.low} to {live_filter.high}"
        return f"“{live_filter.title}” allows {allowed}, not {low} to {high}.", {}
    return "", {"lower": bounds[0], "upper": bounds[1]}


def _bound(value: Bound, live_filter: Filter) -> Bound:
    """A bound in the filter's type. Raises `ValueError`."""
    if live_filter.data_type == "date":
        return dt.date.fromisoformat(str(value)[:10]).isoformat()
    number = float(value)
    if not math.isfinite(number) or (live_filter.data_type != "float" and not number.is_integer()):
        raise ValueError(value)
    return number if live_filter.data_type == "float" else int(number)


def _fold(text: str) -> str:
    return " ".join(text.replace(".", "").casefold().split())
