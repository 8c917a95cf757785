"""Who may take part: a plan's filters as Prolific has them, and how many people match them."""

import contextlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from annotation.models import ProlificStudy
from annotation.prolific.api.client import ProlificClient, is_local
from annotation.prolific.api.transport import NotFound, ProlificError
from annotation.prolific.api.types import (
    GROUP_BLOCKLIST,
    STUDY_BLOCKLIST,
    Filter,
    Resolved,
    WantedFilter,
    find_filter,
    resolve,
)
from annotation.prolific.launch.launch_plan import LaunchPlan
from annotation.prolific.launch.shares import (
    cells_of,
    group_filters,
    places_of,
    weights_of,
)
from studies.models import Study


def resolve_drafts(
    study: Study,
    plan: LaunchPlan,
    client: ProlificClient,
    workspace: str,
    *,
    group_id: str = "",
    live: list[Filter] | None = None,
) -> list[tuple[str, int, Resolved]]:
    """Label, places and filters of every study that the plan creates on Prolific.

    The filters are found in the workspace's list, which is read unless `live` is it.
    """
    if plan.filter_set:
        return [("", places_of(plan, study), _of_set(client, plan))]
    live = client.filters(workspace=workspace) if live is None else live
    groups, places = list(study.quota_groups.all()), places_of(plan, study)
    shared = resolve(plan.wanted(weights_of(plan, groups, places)), live)
    shared.filters.extend(_without_related(study, live))
    if not plan.apart:
        return [("", places, shared)]
    drafts = []
    for group in groups:
        wanted, problems = group_filters(group, plan)
        own = resolve(wanted, live)
        filters = [*shared.filters, *own.filters]
        if group_id:
            # Their completion code adds participants to this group, so that nobody is paid for two
            # groups.
            filters.append({"filter_id": GROUP_BLOCKLIST, "selected_values": [group_id]})
        resolved = Resolved(filters, [*shared.problems, *problems, *own.problems])
        drafts.append((str(group), group.target, resolved))
    return drafts


def _of_set(client: ProlificClient, plan: LaunchPlan) -> Resolved:
    """The filters of the plan's set, and why they cannot be used with the rest of the plan."""
    problems = []
    if plan.wanted() or plan.balance or plan.apart:
        problems.append(
            "Prolific accepts a filter set only without other filters, but the launch plan has "
            "some. Choose no filter set, or remove all filters, balances and ages from the plan."
        )
    try:
        stored = client.filter_set(plan.filter_set)
    except NotFound:
        missing = f"The workspace has no filter set {plan.filter_set}. Choose another one."
        return Resolved([], [*problems, missing])
    return Resolved(stored.filters, problems, stored)


def _without_related(study: Study, live: list[Filter]) -> list[dict[str, Any]]:
    """The filter that keeps people of related studies from taking a place."""
    related = ProlificStudy.objects.filter(study__in=study.related_studies.values("related"))
    known = related.exclude(status__in=["", "UNPUBLISHED"]).order_by("pk")
    if not is_local():
        known = known.filter(study__is_simulated=False)
    ids = [str(row.prolific_id) for row in known if row.prolific_id]
    if not ids or find_filter(STUDY_BLOCKLIST, live) is None:
        return []
    return [{"filter_id": STUDY_BLOCKLIST, "selected_values": ids}]


@dataclass(frozen=True)
class PlannedCell:
    """A combination of balanced labels: its places, and how many people match.

    `eligible` None means that it was not counted, 0 that fewer than 25 match.
    """

    label: str
    places: float
    eligible: int | None


# More combinations than these are not counted one by one.
_MOST_CELLS = 24


def count_eligible(client: ProlificClient, resolved: Resolved, workspace: str) -> int | None:
    """How many participants match; None if a filter is unknown."""
    if resolved.problems:
        return None
    plain = [{k: v for k, v in f.items() if k != "weightings"} for f in resolved.filters]
    return client.eligible(plain, workspace=workspace)


def count_cells(
    client: ProlificClient,
    study: Study,
    plan: LaunchPlan,
    live: list[Filter],
    places: int,
    resolved: Resolved,
    workspace: str,
) -> list[PlannedCell]:
    """The combinations of balanced labels; the people in each are counted if they are few."""
    weights = weights_of(plan, list(study.quota_groups.all()), places)
    if resolved.problems or not weights or plan.filter_set:
        return []
    places_of = cells_of(weights, places)
    unweighted = [one for one in resolved.filters if "weightings" not in one]
    cells = []
    for labels, in_cell in places_of.items():
        eligible = None
        if len(places_of) <= _MOST_CELLS:
            wanted = [
                WantedFilter(name, [label]) for name, label in zip(weights, labels, strict=True)
            ]
            own = resolve(wanted, live).filters
            # These counts are advice: one that cannot be read stops no launch.
            with contextlib.suppress(ProlificError):
                eligible = client.eligible([*unweighted, *own], workspace=workspace)
        cells.append(PlannedCell(", ".join(labels), in_cell, eligible))
    return cells


def distributions(
    client: ProlificClient, plan: LaunchPlan, live: list[Filter], workspace: str
) -> dict[str, Mapping[str, int]]:
    """How the people of the plan's custom groups are distributed over its balanced filters.

    By “group: filter”, the number of people of each label. Prolific counts them only for filters
    with the right tags. It is advice: what cannot be read is left out.
    """
    known = {one.id: one for one in live}
    named = [one.get("filter", "") for one in plan.filters]
    groups = [known[n] for n in named if n in known and "custom-group" in known[n].tags]
    asked = [n for n in plan.balance if n in known and "allow-distribution" in known[n].tags]
    people: dict[str, Mapping[str, int]] = {}
    for group in groups if asked else ():
        try:
            counts = client.distribution(group.id, asked, workspace=workspace)
        except ProlificError:
            continue
        for name in set(asked) & counts.keys():
            labels = {known[name].choices.get(key, key): n for key, n in counts[name].items()}
            people[f"{group.title}: {known[name].title}"] = labels
    return people


def targeting_of(draft: Mapping[str, Any]) -> Any:
    """What decides who may take part: the version of a filter set, otherwise the filters."""
    if draft.get("filter_set_id"):
        return draft["filter_set_id"], draft.get("filter_set_version")
    return essence(draft.get("filters"))


def planned_targeting(resolved: Resolved) -> Any:
    """What `targeting_of` a draft of these filters is."""
    chosen = resolved.filter_set
    return (chosen.id, chosen.version) if chosen else essence(resolved.filters)


def essence(filters: Any) -> list[Any]:
    """The meaning of a list of filters, ignoring order and added defaults."""
    return sorted(
        (
            str(one.get("filter_id")),
            sorted(map(str, one.get("selected_values") or [])),
            sorted((k, _number(v)) for k, v in (one.get("selected_range") or {}).items()),
            sorted((k, _number(v)) for k, v in (one.get("weightings") or {}).items()),
            essence(one.get("selected_filters")),
        )
        for one in filters or []
    )


def _number(value: Any) -> str:
    """A number in one spelling; a date as it is; a weighted part of a range with its bounds."""
    if isinstance(value, dict):
        part = value.get("selected_range") or {}
        numbers = (part.get("lower"), part.get("upper"), value.get("weighting"))
        return " ".join(map(_number, numbers))
    try:
        return repr(float(value))
    except (TypeError, ValueError):
        return str(value)
