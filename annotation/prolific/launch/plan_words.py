"""A launch plan in words: whom a study recruits, and how."""

from collections.abc import Mapping, Sequence
from typing import Any

from annotation.prolific.api.types import SEX, Filter, find_filter
from annotation.prolific.launch.launch_checks import LaunchPreview
from annotation.prolific.launch.launch_plan import DEVICES, LaunchPlan
from annotation.prolific.launch.shares import (
    weights_of,
)
from studies.models import Study
from studies.money import format_money

# How each list of Prolific's limits participants; `{}` is what it lists.
_LISTS = {
    "previous_studies_allowlist": "who took part in {}",
    "previous_studies_blocklist": "who did not take part in {}",
    "participant_group_allowlist": "in the group {}",
    "participant_group_blocklist": "not in the group {}",
    "custom_allowlist": "among {}",
    "custom_blocklist": "except {}",
}


def filter_words(stored: Mapping[str, Any], live: Sequence[Filter]) -> str:
    """A stored filter of a plan: “Diet: Vegan or Vegetarian”, “Age: 18 to 40”."""
    if stored.get("any"):
        return f"either {' or '.join(filter_words(one, live) for one in stored['any'])}"
    if stored.get("all"):
        return " and ".join(filter_words(one, live) for one in stored["all"])
    live_filter = find_filter(stored["filter"], live)
    title = live_filter.title if live_filter else stored["filter"]
    if not stored.get("labels"):
        low, high = stored.get("low"), stored.get("high")
        if low is None or high is None:
            return f"{title}: {f'at least {low}' if high is None else f'at most {high}'}"
        return f"{title}: {low} to {high}"
    if live_filter and live_filter.data_type == "ParticipantID":
        people = len(stored["labels"])
        return f"{title}: {people} participant{'' if people == 1 else 's'}"
    known = live_filter.choices if live_filter and live_filter.is_list else {}
    names = [known.get(one, one) for one in stored["labels"]]
    return f"{title}: {_either(names)}"


def _either(names: Sequence[str]) -> str:
    """Names with “or” before the last."""
    return " or ".join(filter(None, [", ".join(names[:-1]), *names[-1:]]))


def _both(names: Sequence[str]) -> str:
    return " and ".join(filter(None, [", ".join(names[:-1]), *names[-1:]]))


def _listed(stored: Mapping[str, Any], live: Sequence[Filter]) -> str:
    """A filter as a part of the sentence."""
    words = _LISTS.get(stored.get("filter", ""))
    if stored.get("any"):
        return filter_words(stored, live)
    if words is None:
        return f"with {filter_words(stored, live)}"
    return words.format(filter_words(stored, live).partition(": ")[2])


def _who(plan: LaunchPlan, live: Sequence[Filter]) -> list[str]:
    """The parts of the sentence about participants."""
    parts = []
    if plan.country:
        parts.append(f"living in {_either(plan.country.splitlines())}")
    if plan.language:
        parts.append(f"fluent in {_either(plan.language.splitlines())}")
    ages = [plan.age_low, plan.age_high]
    if None not in ages:
        parts.append(f"aged {plan.age_low} to {plan.age_high}")
    elif plan.age_low is not None:
        parts.append(f"aged {plan.age_low} or more")
    elif plan.age_high is not None:
        parts.append(f"aged {plan.age_high} or less")
    if plan.approval_rate is not None:
        parts.append(f"with an approval rate of at least {plan.approval_rate} %")
    if plan.earlier_submissions is not None:
        parts.append(f"with at least {plan.earlier_submissions:,} earlier submissions")
    return parts + [_listed(one, live) for one in plan.filters]


def who_is_asked(plan: LaunchPlan) -> str:
    """Who can take a place, in a few words and without asking Prolific."""
    if plan.filter_set:
        return "for a filter set of the workspace"
    return f"for people {', '.join(who)}" if (who := _who(plan, ())) else "for anybody on Prolific"


def _balance(study: Study, plan: LaunchPlan, places: int, live: Sequence[Filter]) -> list[str]:
    """Sentences about the places of each label."""
    if plan.apart:
        return ["Every quota group has a study of its own."]
    sentences = []
    for name, of_labels in weights_of(plan, list(study.quota_groups.all()), places).items():
        one = find_filter(name, live)
        title = one.title if one else name
        before = "in " if one and one.is_range else ""
        numbers = _both([f"{n} {before}{label}" for label, n in of_labels.items()])
        exact = sum(of_labels.values()) == places
        sentences.append(
            f"By {title if name != SEX else 'sex'}: {numbers if exact else 'equally'}."
        )
    return sentences


def plan_sentence(study: Study, plan: LaunchPlan, preview: LaunchPreview) -> str:
    """The launch plan as a sentence or a few, for the launch page and the command."""
    live = preview.live
    places = preview.places
    who = _who(plan, live)
    if plan.filter_set:
        chosen = [draft.filters.filter_set for draft in preview.drafts]
        who += [f"who match the filter set “{one.name}”" for one in chosen if one]
    people = f"{places:,} participant{'' if places == 1 else 's'}"
    devices = "" if set(plan.devices) == set(DEVICES) else f", on {_either(plan.devices)}"
    pay = format_money(study.reward, study.currency)
    first = f"{people}{' ' if who else ''}{', '.join(who)}{devices}, for {pay} each."
    rest = _balance(study, plan, places, live)
    if plan.at_once:
        rest.append(f"At most {plan.at_once:,} take part at the same time.")
    if plan.naivety is not None:
        speed = "Everybody can take part at once, so the study fills fast."
        few = f"Preference for participants with few studies: {plan.naivety:g}."
        rest.append(few if plan.naivety else speed)
    rest.append(
        "Prolific approves and pays everybody who finishes."
        if plan.approve_at_once
        else "You review every submission."
    )
    if plan.screen_out_pay and plan.screen_out_slots:
        turned_away = format_money(plan.screen_out_pay, study.currency)
        rest.append(
            f"Up to {plan.screen_out_slots:,} people who are turned away get {turned_away}."
        )
    return " ".join([first, *rest])
