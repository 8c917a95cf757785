"""The checks before a launch: what blocks, what is advice, and the cost."""

from dataclasses import dataclass
from typing import Any

from annotation.models import ProlificStudy
from annotation.prolific.api.account import Account, read_account
from annotation.prolific.api.client import ProlificClient
from annotation.prolific.api.filters import (
    GROUP_BLOCKLIST,
    STUDY_BLOCKLIST,
    Resolved,
    find_filter,
    resolve,
)
from annotation.prolific.api.types import Filter
from annotation.prolific.launch.launch_plan import (
    LaunchPlan,
    group_filters,
    needed_places,
    places_of,
    shares_of,
)
from annotation.prolific.launch.place_and_pay_checks import (
    balance_checks,
    entry_checks,
    pay_checks,
    place_checks,
    screen_out_checks,
    time_checks,
    workspace_checks,
)
from annotation.prolific.launch.workspace import Workspace
from studies.models import Study
from studies.services.items.expected_time import ExpectedTime, expected_time
from studies.services.launch_checks import LaunchCheck, registered_checks


@dataclass(frozen=True)
class LaunchDraft:
    """One study as it would be created on Prolific."""

    label: str
    places: int
    filters: Resolved
    eligible: int | None


@dataclass(frozen=True)
class LaunchPreview:
    """The effects of a launch."""

    checks: list[LaunchCheck]
    drafts: list[LaunchDraft]
    places: int
    needed: int
    cost: int
    rewards: int
    reward: int
    currency: str
    pay_per_hour: float
    expected: ExpectedTime | None
    account: Account
    workspace: Workspace | None

    @property
    def blocking(self) -> list[str]:
        return [check.text for check in self.checks if check.is_open and check.blocks]


def preview(
    study: Study,
    plan: LaunchPlan,
    client: ProlificClient,
    workspace: Workspace | None,
    problem: str = "",
) -> LaunchPreview:
    """Check everything that a launch depends on. Reads from Prolific and changes nothing.

    Without a workspace `problem` gives the reason, and blocks.
    """
    where = workspace.id if workspace else ""
    account = read_account(client, study.currency, where) if where else Account()
    live = client.filters(workspace=where)
    drafts = [
        LaunchDraft(label, places, resolved, _eligible(client, resolved, where))
        for label, places, resolved in resolve_drafts(study, plan, live)
    ]
    places = sum(draft.places for draft in drafts)
    cost = client.calculate_cost(reward=study.reward, places=places) if places else 0
    pay = study.reward * 60 / study.minutes
    expected = expected_time(study)
    checks = [
        *workspace_checks(workspace, problem),
        *entry_checks(study),
        *place_checks(study, plan, places),
        *pay_checks(study, account, pay),
        *screen_out_checks(study, plan),
        *time_checks(study, account, expected),
        *balance_checks(account, cost, study.currency),
        *_filter_checks(study, drafts),
        *registered_checks(study),
    ]
    return LaunchPreview(
        checks=sorted(checks, key=_urgency),
        drafts=drafts,
        places=places,
        needed=needed_places(study),
        cost=cost,
        rewards=study.reward * places,
        reward=study.reward,
        currency=study.currency,
        pay_per_hour=pay,
        expected=expected,
        account=account,
        workspace=workspace,
    )


def _urgency(check: LaunchCheck) -> int:
    """The sort order: blocking checks first, then advice, then passed checks."""
    return 2 if not check.is_open else 0 if check.blocks else 1


def resolve_drafts(
    study: Study, plan: LaunchPlan, live: list[Filter], *, group_id: str = ""
) -> list[tuple[str, int, Resolved]]:
    """Label, places and filters of every study that the plan creates on Prolific."""
    weights = shares_of(plan, list(study.quota_groups.all())).weights
    shared = resolve(plan.wanted(weights), live)
    shared.filters.extend(_without_related(study, live))
    if not plan.apart:
        return [("", places_of(plan, study), shared)]
    drafts = []
    for group in study.quota_groups.all():
        wanted, problems = group_filters(group, plan)
        own = resolve(wanted, live)
        filters = [*shared.filters, *own.filters]
        if group_id:
            # Participants are added to this group with their code: nobody is paid for two groups.
            filters.append({"filter_id": GROUP_BLOCKLIST, "selected_values": [group_id]})
        found = Resolved(filters, [*shared.problems, *problems, *own.problems])
        drafts.append((str(group), group.target, found))
    return drafts


def _without_related(study: Study, live: list[Filter]) -> list[dict[str, Any]]:
    """The filter that keeps people of related studies away before they take a place."""
    known = (
        ProlificStudy.objects.filter(
            study__in=study.related_studies.values("related"),
            study__is_simulated=study.is_simulated,
        )
        .exclude(status__in=["", "UNPUBLISHED"])
        .order_by("pk")
    )
    ids = [str(row.prolific_id) for row in known if row.prolific_id]
    if not ids or find_filter(STUDY_BLOCKLIST, live) is None:
        return []
    return [{"filter_id": STUDY_BLOCKLIST, "selected_values": ids}]


def _eligible(client: ProlificClient, resolved: Resolved, workspace: str) -> int | None:
    """How many participants match, or None when the filters are not known."""
    if resolved.problems:
        return None
    plain = [{k: v for k, v in f.items() if k != "weightings"} for f in resolved.filters]
    return client.eligible(plain, workspace=workspace)


def _filter_checks(study: Study, drafts: list[LaunchDraft]) -> list[LaunchCheck]:
    problems = dict.fromkeys(p for draft in drafts for p in draft.filters.problems)
    checks = [LaunchCheck(problem, True, True) for problem in problems]
    if not problems:
        checks.append(LaunchCheck("Prolific has every filter of the plan.", False, True))
    for draft in drafts:
        if draft.eligible is not None and draft.eligible < 5 * draft.places:
            people = f"{draft.eligible:,}" if draft.eligible else "fewer than 25"
            group = f" in {draft.label}" if draft.label else ""
            checks.append(
                LaunchCheck(
                    f"Only {people} people fit{group}; recruiting may be slow.", True, False
                )
            )
    if ProlificStudy.objects.filter(study=study).exclude(status__in=["", "UNPUBLISHED"]).exists():
        checks.append(LaunchCheck("This study is published on Prolific already.", True, True))
    return checks
