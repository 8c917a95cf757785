"""Filters by their labels: ids of the live list change without notice, labels do not.

If a filter or a choice is not found, the launch is refused; nothing is ever dropped.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from annotation.prolific.api.types import Filter

COUNTRY = "current-country-of-residence"
LANGUAGE = "fluent-languages"
AGE = "age"
APPROVAL_RATE = "approval_rate"
EARLIER_SUBMISSIONS = "approval_numbers"
SEX = "sex"
POLITICS = "us-political-affiliation"
STUDY_BLOCKLIST = "previous_studies_blocklist"
GROUP_BLOCKLIST = "participant_group_blocklist"

# The title to look for when the filter's id is not in the list any more.
_TITLES = {
    COUNTRY: "Current country of residence",
    LANGUAGE: "Fluent languages",
    AGE: "Age",
    APPROVAL_RATE: "Approval rate",
    EARLIER_SUBMISSIONS: "Number of previous submissions",
    SEX: "Sex",
    POLITICS: "U.S. political affiliation",
}


@dataclass(frozen=True)
class WantedFilter:
    """A filter in the researcher's terms: labels, or a range; `weights` balance the labels."""

    filter_id: str
    labels: Sequence[str] = ()
    low: int | None = None
    high: int | None = None
    weights: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Resolved:
    """The filters to send, and sentences about those that could not be found."""

    filters: list[dict[str, Any]]
    problems: list[str]


def resolve(wanted: Sequence[WantedFilter], live: Sequence[Filter]) -> Resolved:
    filters, problems = [], []
    for one in wanted:
        found = find_filter(one.filter_id, live)
        if found is None:
            problems.append(
                f"Prolific has no filter “{_TITLES.get(one.filter_id, one.filter_id)}” any more. "
                "Remove it from the plan, or draw the study up on Prolific itself."
            )
        elif one.labels:
            ids, missing = _choices(one.labels, found)
            if missing:
                offered = ", ".join(sorted(found.choices.values())[:12])
                problems.append(
                    f"Prolific's filter “{found.title}” has no choice “{'”, “'.join(missing)}”. "
                    f"It offers: {offered}."
                )
            else:
                filters.append(_select(one, found, ids))
        else:
            problem, selected = _range(one, found)
            if problem:
                problems.append(problem)
            else:
                filters.append({"filter_id": found.id, "selected_range": selected})
    return Resolved(filters, problems)


def find_filter(filter_id: str, live: Sequence[Filter]) -> Filter | None:
    """The filter by its id, or if that is gone by its title, if exactly one has it."""
    for one in live:
        if one.id == filter_id:
            return one
    title = _fold(_TITLES.get(filter_id, ""))
    named = [one for one in live if title and _fold(one.title) == title]
    return named[0] if len(named) == 1 else None


def _choices(labels: Sequence[str], found: Filter) -> tuple[dict[str, str], list[str]]:
    """The id of each label, and the labels that match no choice or more than one."""
    ids, missing = {}, []
    for label in labels:
        matching = [key for key, text in found.choices.items() if _fold(text) == _fold(label)]
        if len(matching) == 1:
            ids[label] = matching[0]
        else:
            missing.append(label)
    return ids, missing


def _select(one: WantedFilter, found: Filter, ids: Mapping[str, str]) -> dict[str, Any]:
    selected: dict[str, Any] = {"filter_id": found.id, "selected_values": list(ids.values())}
    if one.weights:
        selected["weightings"] = {ids[label]: weight for label, weight in one.weights.items()}
    return selected


def _range(one: WantedFilter, found: Filter) -> tuple[str, dict[str, int]]:
    """The bounds to send; an open end uses the filter's own bound."""
    low = one.low if one.low is not None else found.low
    high = one.high if one.high is not None else found.high
    if found.kind != "range" or low is None or high is None:
        return f"Prolific's filter “{found.title}” takes no range any more.", {}
    too_low = found.low is not None and low < found.low
    too_high = found.high is not None and high > found.high
    if too_low or too_high or low > high:
        allowed = f"from {found.low} to {found.high}"
        return f"“{found.title}” allows {allowed}, not {low} to {high}.", {}
    return "", {"lower": int(low), "upper": int(high)}


def _fold(text: str) -> str:
    return " ".join(text.replace(".", "").casefold().split())
