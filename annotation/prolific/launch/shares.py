"""How a plan's places are divided: by the quota groups, over Prolific's filters and their cells."""

import itertools
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from annotation.models import QuotaGroup
from annotation.prolific.api.types import WantedFilter
from annotation.prolific.launch.launch_plan import LaunchPlan, label_for, question_of
from annotation.seats.capacity import needed_places
from studies.models import Study


def places_of(plan: LaunchPlan, study: Study) -> int:
    """The places to request: those of the plan, otherwise those of the quota groups.

    Of these only places that Prolific's filters fill count. Without groups they are as many as the
    items need, rounded to the balance.
    """
    if plan.places is not None:
        return plan.places
    if groups := list(study.quota_groups.all()):
        return shares_of(plan, groups).places
    return math.ceil(needed_places(study) / plan.groups) * plan.groups


@dataclass(frozen=True)
class FilterShares:
    """How Prolific must divide the places so that participants fit the quota groups.

    `weights` gives the places of each label of a balanced filter, `places` the places that Prolific
    fills. `kept` are the places of groups that no filter recruits, for participants whose answers
    here differ from those on Prolific. `problem` says why Prolific cannot divide the places like
    the groups; empty if it can.
    """

    weights: Mapping[str, Mapping[str, int]]
    places: int
    kept: Mapping[str, int] = field(default_factory=dict)
    problem: str = ""


def shares_of(plan: LaunchPlan, groups: Sequence[QuotaGroup]) -> FilterShares:
    """The shares of a study's quota groups in the filters that the plan balances.

    Prolific crosses balanced filters: the share of a combination is the product of the shares of
    its labels, so one study cannot have groups of other sizes.
    """
    total = sum(group.target for group in groups)
    labels = {group.pk: _balanced_labels(group, plan) for group in groups}
    matched = {tuple(matches) for matches in labels.values() if matches}
    if plan.apart or not matched:
        return FilterShares({}, total)
    filters = max(matched, key=len)
    cells: Counter[tuple[str, ...]] = Counter()
    kept = {}
    for group in groups:
        own = labels[group.pk]
        if tuple(own) == filters and all(own.values()):
            cells[tuple(own.values())] += group.target
        elif group.target:
            kept[str(group)] = group.target
    sums = {name: Counter[str]() for name in filters}
    for cell, places in cells.items():
        for name, label in zip(filters, cell, strict=True):
            sums[name][label] += places
    places = cells.total()
    weights = {
        name: {label: sums[name][label] for label in balanced}
        for name, balanced in plan.balance.items()
        if name in filters and all(sums[name][label] for label in balanced)
    }
    return FilterShares(weights, places, kept, _undivided(plan, filters, cells, sums))


def weights_of(
    plan: LaunchPlan, groups: Sequence[QuotaGroup], places: int
) -> dict[str, dict[str, int]]:
    """The places of each label of every filter that one study balances.

    Those of the quota groups; a filter that they do not name is divided equally, by shares if the
    places leave a remainder.
    """
    if plan.apart:
        return {}
    of_groups = shares_of(plan, groups).weights
    weights = {}
    for name, labels in plan.balance.items():
        equal = 1 if places % len(labels) else max(1, places // len(labels))
        weights[name] = dict(of_groups.get(name) or dict.fromkeys(labels, equal))
    return weights


def cells_of(weights: Mapping[str, Mapping[str, int]], places: int) -> dict[tuple[str, ...], float]:
    """The places of each combination of labels, as Prolific crosses balanced filters."""
    cells = {}
    for labels in itertools.product(*weights.values()):
        shares = [
            Fraction(of_filter[label], sum(of_filter.values()))
            for of_filter, label in zip(weights.values(), labels, strict=True)
        ]
        cells[labels] = float(places * math.prod(shares))
    return cells


def _balanced_labels(group: QuotaGroup, plan: LaunchPlan) -> dict[str, str]:
    """Prolific's label of a group in each balanced filter; empty if the filter has none."""
    labels = {}
    for key, value in group.criteria.items():
        filter_id, label = _filter_of(key, value, plan)
        if filter_id and filter_id in plan.balance:
            labels[filter_id] = label if label and label in plan.balance[filter_id] else ""
    return {name: labels[name] for name in plan.balance if name in labels}


def _undivided(
    plan: LaunchPlan,
    filters: Sequence[str],
    cells: Counter[tuple[str, ...]],
    sums: Mapping[str, Counter[str]],
) -> str:
    """Why Prolific cannot divide its places like the groups; empty if it can."""
    for name in filters:
        if empty := [label for label in plan.balance[name] if not sums[name][label]]:
            return (
                f"The launch plan recruits “{'”, “'.join(empty)}”, but no quota group has places "
                "for them. Remove them from the launch plan, or give their group places."
            )
    total = cells.total()
    for cell in itertools.product(*(plan.balance[name] for name in filters)):
        shares = [Fraction(sums[n][label], total) for n, label in zip(filters, cell, strict=True)]
        sent = total * math.prod(shares)
        if sent != cells[cell]:
            return (
                "Prolific cannot divide one study like the quota groups, because it balances each "
                f"filter separately: of “{', '.join(cell)}” it would send {float(sent):.3g} "
                f"participants, and the group has {cells[cell]} places. Choose “One study for each "
                "group” in the launch plan, or change the quota groups."
            )
    return ""


def _filter_of(key: str, value: str, plan: LaunchPlan) -> tuple[str | None, str | None]:
    """The filter that matches our question, and its label for a value."""
    if match := plan.matches.get(key):
        return match["filter"], match["labels"].get(value)
    filter_id = next((f for f in plan.balance if question_of(f, {key}) == key), None)
    return filter_id, filter_id and label_for(value, plan.balance[filter_id])


def group_filters(group: QuotaGroup, plan: LaunchPlan) -> tuple[list[WantedFilter], list[str]]:
    """The filters that admit only this group, and the problems found."""
    if group.is_everyone_else:
        return [], [
            "The group “everyone else” cannot be recruited by a filter. "
            "Recruit all groups in one study, or remove it."
        ]
    filters, problems = [], []
    for key, value in group.criteria.items():
        filter_id, label = _filter_of(key, value, plan)
        if filter_id and label:
            filters.append(WantedFilter(filter_id, [label]))
        else:
            problems.append(
                f"No filter of the plan has the group “{key}: {value}”. Balance a filter that has "
                "it, with Prolific's label."
            )
    return filters, problems
