"""The checks before a launch: blocking ones, advice, places, pay and cost."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from django.conf import settings
from django.urls import reverse

from annotation.models import ProlificStudy, QuotaGroup
from annotation.prolific.api.balance import Account, read_account
from annotation.prolific.api.client import ProlificClient, is_local
from annotation.prolific.api.types import Filter, Resolved
from annotation.prolific.launch.launch_plan import LaunchPlan, Workspace
from annotation.prolific.launch.shares import shares_of
from annotation.prolific.launch.targeting import (
    PlannedCell,
    count_cells,
    count_eligible,
    distributions,
    resolve_drafts,
)
from annotation.seats.capacity import seats
from studies.models import Study
from studies.money import format_money
from studies.services.items import ExpectedTime, expected_time
from studies.services.studies import LaunchCheck, registered_checks


def _setting(study: Study, name: str) -> str:
    """The address of a field on the settings page."""
    return f"{reverse('studies:settings', args=[study.slug])}#id_{name}"


def _planned(study: Study, name: str = "") -> str:
    """The address of the launch plan, or of one of its fields."""
    address = reverse("people:prolific-plan", args=[study.slug])
    return f"{address}#id_{name}" if name else address


def entry_checks(study: Study) -> list[LaunchCheck]:
    address = urlsplit(settings.PUBLIC_BASE_URL)
    reachable = address.scheme == "https" or is_local()
    checks = [
        LaunchCheck(
            "Recruitment is set to Prolific."
            if study.entry == Study.Entry.PROLIFIC
            else "Recruitment is not set to Prolific. Change “Recruitment” in the settings.",
            study.entry != Study.Entry.PROLIFIC,
            True,
            _setting(study, "entry"),
        ),
        LaunchCheck(
            "Participants can reach the study's address."
            if reachable
            else "Participants cannot reach the study's address. Set PUBLIC_BASE_URL to a public "
            "https address.",
            not reachable,
            True,
        ),
        state_check(study),
    ]
    if study.is_simulated and not is_local():
        words = "The study is simulated, so you cannot recruit for it with real money."
        checks.append(LaunchCheck(words, True, True))
    return checks


def state_check(study: Study) -> LaunchCheck:
    if study.state == Study.State.OPEN:
        return LaunchCheck("The study is open.", False)
    fix = reverse("studies:detail", args=[study.slug])
    return LaunchCheck("The study is not open. Open it before you publish.", True, fix=fix)


def place_checks(study: Study, plan: LaunchPlan, places: int) -> list[LaunchCheck]:
    checks = []
    fix = reverse("people:places", args=[study.slug])
    answers, places_for_answers = seats(study), places * study.items_per_annotator
    if not answers:
        imports = reverse("studies:import", args=[study.slug])
        checks.append(LaunchCheck("No item needs an answer. Import items.", True, True, imports))
    words = (
        f"The study needs {answers:,} answers. {places:,} participants with "
        f"{study.items_per_annotator} items each give {places_for_answers:,}"
    )
    if places_for_answers < answers:
        checks.append(LaunchCheck(f"{words}, so some seats stay open.", True, False, fix))
    elif places_for_answers > answers:
        words += f": {places_for_answers - answers:,} of them are not needed, but paid too."
        checks.append(LaunchCheck(words, True, False, fix))
    else:
        checks.append(LaunchCheck(f"{words}.", False, False))
    if places < 1:
        words = "The launch plan has no places. Enter the number of places."
        checks.append(LaunchCheck(words, True, True, _planned(study, "places")))
    return [*checks, *_group_checks(study, plan, places)]


def _group_checks(study: Study, plan: LaunchPlan, places: int) -> list[LaunchCheck]:
    """Compare the places of the plan with the quota groups, or with the balance."""
    edit_plan = _planned(study, "places")
    edit_quota = reverse("people:quota", args=[study.slug])
    groups: list[QuotaGroup] = list(study.quota_groups.all())
    if not groups and plan.apart:
        words = "The study has no quota groups to recruit separately."
        return [LaunchCheck(words, True, True, edit_quota)]
    if not groups:
        if not plan.balance or places % plan.groups == 0:
            return []
        words = (
            f"{places} places cannot be divided equally into {plan.groups} groups. Use a multiple "
            f"of {plan.groups} in the launch plan."
        )
        return [LaunchCheck(words, True, True, edit_plan)]
    shares = shares_of(plan, groups)
    kept = sum(shares.kept.values())
    which = "that Prolific’s filters fill " if kept else ""
    words = f"The quota groups {which}have {shares.places} places"
    rest = (
        f" {kept} more {'is' if kept == 1 else 'are'} for participants whose answers here match no "
        f"filter of the launch plan ({', '.join(shares.kept)})."
        if kept
        else ""
    )
    if shares.places == places:
        checks = [LaunchCheck(f"{words}.{rest}", False, True)]
    else:
        words += (
            f", but the launch plan has {places}. Enter {shares.places} places in the launch plan, "
            f"or change the quota groups.{rest}"
        )
        checks = [LaunchCheck(words, True, True, edit_plan)]
    if shares.problem:
        checks.append(LaunchCheck(shares.problem, True, True, edit_plan))
    free = sorted({key for group in groups for key in group.criteria if not plan.sorts_by(key)})
    if free and not plan.apart:
        words = (
            f"The launch plan does not balance {' or '.join(free)} on Prolific, so people may come "
            "for full groups. The report does not count their answers, but you pay for them."
        )
        checks.append(LaunchCheck(words, True, False, edit_plan))
    return checks + [
        LaunchCheck(f"The group “{group}” has no places.", True, True, edit_quota)
        for group in groups
        if group.target < 1 and not group.is_everyone_else
    ]


def pay_checks(study: Study, account: Account, pay: float) -> list[LaunchCheck]:
    hourly = format_money(pay, study.currency)
    currency = account.currency or study.currency
    words = f"The account and the study use {currency}."
    if currency != study.currency:
        words = (
            f"The account pays in {currency}, but the study uses {study.currency}. Change the "
            "currency and the pay in the settings."
        )
    fix = _setting(study, "currency")
    checks = [LaunchCheck(words, currency != study.currency, True, fix)]
    if account.pay_problem or account.least is None or account.recommended is None:
        problem = account.pay_problem or f"Prolific gives no minimum pay for {study.currency}."
        return [*checks, LaunchCheck(f"{problem} You pay {hourly} an hour.", True)]
    minimum = format_money(account.least, study.currency)
    recommended = format_money(account.recommended, study.currency)
    if pay < account.least:
        words = f"{hourly} an hour is less than Prolific's minimum of {minimum}. Raise it."
        return [*checks, LaunchCheck(words, True, True, _setting(study, "pay"))]
    words = (
        f"You pay {hourly} an hour. Prolific recommends {recommended}; its minimum is {minimum}."
    )
    return [*checks, LaunchCheck(words, pay < account.recommended, fix=_setting(study, "pay"))]


# The platform's minimum pay for a screen-out, in minor units.
LEAST_SCREEN_OUT = {"USD": 14, "GBP": 10}


def least_screen_out(study: Study) -> int:
    return LEAST_SCREEN_OUT.get(study.currency, max(LEAST_SCREEN_OUT.values()))


def screen_out_checks(study: Study, plan: LaunchPlan) -> list[LaunchCheck]:
    """Compare the pay for screen-outs with the platform's limits."""
    pay, slots = plan.screen_out_pay, plan.screen_out_slots
    if pay is None and slots is None:
        return []
    if pay is None or slots is None:
        words = (
            "For people who are turned away, the plan states their pay or their number, but not "
            "both."
        )
        return [LaunchCheck(words, True, True, _planned(study, "screen_out_pay"))]
    least = least_screen_out(study)
    limits = f"from {format_money(least, study.currency)} to less than the reward"
    words = f"People who are turned away get {format_money(pay, study.currency)}"
    if least <= pay < study.reward:
        return [LaunchCheck(f"{words}.", False, True)]
    words += f", but Prolific allows {limits}."
    return [LaunchCheck(words, True, True, _planned(study, "screen_out_pay"))]


def pace_checks(study: Study, plan: LaunchPlan) -> list[LaunchCheck]:
    fix = _planned(study)
    problems = []
    if plan.at_once is not None and plan.at_once < 1:
        problems.append("Participants at the same time: enter 1 or more in the launch plan.")
    if plan.naivety is not None and not 0 <= plan.naivety <= 1:
        problems.append("Preference for few studies: enter 0 to 1 in the launch plan.")
    return [LaunchCheck(problem, True, True, fix) for problem in problems]


def approval_checks(plan: LaunchPlan) -> list[LaunchCheck]:
    if not plan.approve_at_once:
        return []
    words = (
        "Prolific approves and pays everybody who enters the completion code, at once. You cannot "
        "look at their answers first, and cannot reject anybody who finished."
    )
    return [LaunchCheck(words, True)]


def time_checks(study: Study, account: Account, expected: ExpectedTime | None) -> list[LaunchCheck]:
    """Compare the pay for the expected time with the minimum, which applies to the actual time."""
    if expected is None:
        return []
    pay = expected.hourly(study.reward)
    words = f"{expected.words}. If they do, you pay {_hourly(pay, study)}"
    if account.least is None or pay >= account.least:
        return [LaunchCheck(f"{words}.", False)]
    return [
        LaunchCheck(
            f"{words}, less than Prolific's minimum of {_hourly(account.least, study)}, which "
            "applies to the time that participants take. Set the duration to "
            f"{expected.whole_minutes} minutes or more, and raise the pay.",
            True,
            fix=_setting(study, "minutes"),
        )
    ]


def _hourly(pay: float, study: Study) -> str:
    return f"{format_money(pay, study.currency)} an hour"


def balance_checks(account: Account, cost: int, currency: str) -> list[LaunchCheck]:
    """Check whether the workspace can pay; an unknown balance is not a problem."""
    if account.balance is None:
        return [LaunchCheck(account.balance_problem, True)] if account.balance_problem else []
    held, needed = format_money(account.balance, currency), format_money(cost, currency)
    if account.balance >= cost:
        return [LaunchCheck(f"The workspace's balance is {held}. The study costs {needed}.", False)]
    words = (
        f"The workspace's balance is {held}, but the study costs {needed}. Add money on Prolific."
    )
    return [LaunchCheck(words, True)]


def workspace_checks(study: Study, workspace: Workspace | None, problem: str) -> list[LaunchCheck]:
    """Check which workspace and project hold the drafts and pay for them."""
    if workspace is None:
        return [LaunchCheck(problem, True, True, _planned(study, "workspace"))]
    if not workspace.project:
        words = f"The drafts go to the workspace “{workspace.title}”. We create a project in it."
        return [LaunchCheck(words, False)]
    return [
        LaunchCheck(f"The drafts go to {workspace}. The balance of this workspace pays.", False)
    ]


@dataclass(frozen=True)
class LaunchDraft:
    """One study as it would be created on Prolific."""

    label: str
    places: int
    filters: Resolved
    eligible: int | None
    cells: list[PlannedCell] = field(default_factory=list)


@dataclass(frozen=True)
class LaunchPreview:
    """The effects of a launch."""

    checks: list[LaunchCheck]
    drafts: list[LaunchDraft]
    places: int
    cost: int
    rewards: int
    reward: int
    currency: str
    pay_per_hour: float
    expected: ExpectedTime | None
    account: Account
    workspace: Workspace | None
    live: list[Filter]
    distributions: Mapping[str, Mapping[str, int]]

    @property
    def blocking(self) -> list[str]:
        return [check.text for check in self.checks if check.is_open and check.blocks]


def preview(
    study: Study,
    plan: LaunchPlan,
    client: ProlificClient,
    workspace: Workspace | None,
    problem: str = "",
    *,
    counts_cells: bool = True,
) -> LaunchPreview:
    """Check everything that a launch depends on. Reads from Prolific, changes nothing.

    Without a workspace `problem` gives the reason, and blocks. The people in each cell, which is
    advice and many requests, are counted only if `counts_cells`.
    """
    where = workspace.id if workspace else ""
    account = read_account(client, study.currency, where) if where else Account()
    live = client.filters(workspace=where)
    drafts = [
        LaunchDraft(
            label,
            places,
            resolved,
            count_eligible(client, resolved, where),
            count_cells(client, study, plan, live, places, resolved, where) if counts_cells else [],
        )
        for label, places, resolved in resolve_drafts(study, plan, client, where, live=live)
    ]
    places = sum(draft.places for draft in drafts)
    cost = client.calculate_cost(reward=study.reward, places=places) if places else 0
    pay = study.reward * 60 / study.minutes
    expected = expected_time(study)
    checks = [
        *workspace_checks(study, workspace, problem),
        *entry_checks(study),
        *place_checks(study, plan, places),
        *pay_checks(study, account, pay),
        *screen_out_checks(study, plan),
        *pace_checks(study, plan),
        *approval_checks(plan),
        *time_checks(study, account, expected),
        *balance_checks(account, cost, study.currency),
        *_filter_checks(study, drafts),
        *_set_checks(study, plan),
        *registered_checks(study),
    ]
    return LaunchPreview(
        checks=sorted(checks, key=_urgency),
        drafts=drafts,
        places=places,
        cost=cost,
        rewards=study.reward * places,
        reward=study.reward,
        currency=study.currency,
        pay_per_hour=pay,
        expected=expected,
        account=account,
        workspace=workspace,
        live=live,
        distributions=distributions(client, plan, live, where) if where and counts_cells else {},
    )


def _urgency(check: LaunchCheck) -> int:
    """The sort order: blocking checks first, then advice, then passed checks."""
    return 2 if not check.is_open else 0 if check.blocks else 1


def _filter_checks(study: Study, drafts: list[LaunchDraft]) -> list[LaunchCheck]:
    problems = dict.fromkeys(p for draft in drafts for p in draft.filters.problems)
    checks = [LaunchCheck(problem, True, True, _planned(study)) for problem in problems]
    if not problems:
        checks.append(LaunchCheck("Prolific has every filter of the plan.", False, True))
    for draft in drafts:
        if draft.eligible is not None and draft.eligible < 5 * draft.places:
            people = f"{draft.eligible:,}" if draft.eligible else "fewer than 25"
            group = f" in {draft.label}" if draft.label else ""
            words = f"Only {people} people match{group}; recruiting may be slow."
            checks.append(LaunchCheck(words, True))
        checks += [
            LaunchCheck(
                f"{f'Only {cell.eligible:,}' if cell.eligible else 'Fewer than 25'} people match "
                f"“{cell.label}”, which has {cell.places:g} places and may never fill. Widen the "
                "filters, or give the group fewer places.",
                True,
            )
            for cell in draft.cells
            if cell.eligible is not None and cell.eligible < 5 * max(cell.places, 5)
        ]
    if ProlificStudy.objects.filter(study=study).exclude(status__in=["", "UNPUBLISHED"]).exists():
        checks.append(LaunchCheck("This study is published on Prolific already.", True, True))
    return checks


def _set_checks(study: Study, plan: LaunchPlan) -> list[LaunchCheck]:
    """What a filter set leaves undone, because Prolific accepts no other filter with it."""
    if not plan.filter_set or not study.related_studies.exists():
        return []
    words = (
        "With a filter set, people of related studies cannot be kept away on Prolific. Those who "
        "arrive are turned away, and settling proposes a bonus for their time."
    )
    return [LaunchCheck(words, True)]
