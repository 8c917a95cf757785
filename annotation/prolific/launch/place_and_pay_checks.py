"""Launch checks of entry, places, pay and balance."""

from urllib.parse import urlsplit

from django.conf import settings
from django.urls import reverse

from annotation.models import QuotaGroup
from annotation.prolific.api.account import Account, is_local
from annotation.prolific.launch.launch_plan import LaunchPlan, seats, shares_of
from annotation.prolific.launch.workspace import Workspace
from studies.models import Study
from studies.money import format_money
from studies.services.items.expected_time import ExpectedTime
from studies.services.launch_checks import LaunchCheck


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
            f"{reverse('studies:settings', args=[study.slug])}#id_entry",
        ),
        LaunchCheck(
            "Participants can reach the study's address."
            if reachable
            else "Participants cannot reach the study's address. Set PUBLIC_BASE_URL to a public "
            "https address.",
            not reachable,
            True,
        ),
        LaunchCheck(
            "The study is open."
            if study.state == Study.State.OPEN
            else "The study is not open. Open it before you publish.",
            study.state != Study.State.OPEN,
            False,
            reverse("studies:detail", args=[study.slug]),
        ),
    ]
    if study.is_simulated and not is_local():
        words = "The study is simulated, so you cannot recruit for it with real money."
        checks.append(LaunchCheck(words, True, True))
    return checks


def place_checks(study: Study, plan: LaunchPlan, places: int) -> list[LaunchCheck]:
    checks = []
    detail = reverse("studies:detail", args=[study.slug])
    answers, given = seats(study), places * study.items_per_annotator
    if not answers:
        checks.append(
            LaunchCheck(
                "No item needs an answer. Import items.",
                True,
                True,
                reverse("studies:import", args=[study.slug]),
            )
        )
    words = (
        f"The study needs {answers:,} answers. {places:,} participants with "
        f"{study.items_per_annotator} items each give {given:,}"
    )
    if given < answers:
        checks.append(LaunchCheck(f"{words}, so some seats stay open.", True, False, detail))
    elif given > answers:
        surplus = given - answers
        checks.append(
            LaunchCheck(f"{words}: {surplus:,} are surplus work, paid all the same.", True, False)
        )
    else:
        checks.append(LaunchCheck(f"{words}.", False, False))
    if places < 1:
        checks.append(
            LaunchCheck(
                "The launch plan has no places. Enter the number of places.",
                True,
                True,
                reverse("people:prolific-plan", args=[study.slug]),
            )
        )
    return [*checks, *_group_checks(study, plan, places)]


def _group_checks(study: Study, plan: LaunchPlan, places: int) -> list[LaunchCheck]:
    """Whether the places of the plan are those of the quota groups, or divide into the balance."""
    edit_plan = reverse("people:prolific-plan", args=[study.slug])
    edit_quota = reverse("people:quota", args=[study.slug])
    groups: list[QuotaGroup] = list(study.quota_groups.all())
    if not groups and plan.apart:
        words = "The study has no quota groups, so there is nothing to recruit separately."
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
        checks = [
            LaunchCheck(
                f"{words}, but the launch plan has {places}. Enter {shares.places} places in the "
                f"launch plan, or change the quota groups.{rest}",
                True,
                True,
                edit_plan,
            )
        ]
    if shares.problem:
        checks.append(LaunchCheck(shares.problem, True, True, edit_plan))
    free = sorted({key for group in groups for key in group.criteria if not plan.sorts_by(key)})
    if free and not plan.apart:
        checks.append(
            LaunchCheck(
                f"The launch plan does not balance {' or '.join(free)} on Prolific, so people may "
                "come for groups that are full. Their answers are surplus, and you pay them.",
                True,
                False,
                edit_plan,
            )
        )
    return checks + [
        LaunchCheck(f"The group “{group}” has no place.", True, True, edit_quota)
        for group in groups
        if group.target < 1 and not group.is_everyone_else
    ]


def pay_checks(study: Study, account: Account, pay: float) -> list[LaunchCheck]:
    hourly = format_money(pay, study.currency)
    currency = account.currency or study.currency
    checks = [
        LaunchCheck(
            f"The account and the study use {currency}."
            if currency == study.currency
            else f"The account pays in {currency}, but the study uses {study.currency}. "
            f"Change the currency and the pay in the settings.",
            currency != study.currency,
            True,
        )
    ]
    if account.pay_problem:
        words = f"{account.pay_problem} You pay {hourly} an hour."
        return [*checks, LaunchCheck(words, True)]
    if account.least is None or account.recommended is None:
        words = f"Prolific gives no minimum pay for {study.currency}. You pay {hourly} an hour."
        return [*checks, LaunchCheck(words, True)]
    minimum = format_money(account.least, study.currency)
    recommended = format_money(account.recommended, study.currency)
    if pay < account.least:
        words = f"{hourly} an hour is less than Prolific's minimum of {minimum}. Raise it."
        return [*checks, LaunchCheck(words, True, True)]
    words = (
        f"You pay {hourly} an hour. Prolific recommends {recommended}; its minimum is {minimum}."
    )
    return [*checks, LaunchCheck(words, pay < account.recommended)]


# The platform's least pay of somebody who is screened out, in minor units.
LEAST_SCREEN_OUT = {"USD": 14, "GBP": 10}


def least_screen_out(study: Study) -> int:
    return LEAST_SCREEN_OUT.get(study.currency, max(LEAST_SCREEN_OUT.values()))


def screen_out_checks(study: Study, plan: LaunchPlan) -> list[LaunchCheck]:
    """Compare the pay of people who are turned away with the platform's limits."""
    pay, slots = plan.screen_out_pay, plan.screen_out_slots
    if pay is None and slots is None:
        return []
    if pay is None or slots is None:
        words = "The plan has a pay for people who are turned away, or their number, but not both."
        return [LaunchCheck(words, True, True)]
    least = least_screen_out(study)
    limits = f"from {format_money(least, study.currency)} to less than the reward"
    words = f"People who are turned away get {format_money(pay, study.currency)}"
    if least <= pay < study.reward:
        return [LaunchCheck(f"{words}.", False, True)]
    return [LaunchCheck(f"{words}, but Prolific allows {limits}.", True, True)]


def time_checks(study: Study, account: Account, expected: ExpectedTime | None) -> list[LaunchCheck]:
    """Compare the pay for the expected time with the minimum, which holds for the actual time."""
    if expected is None:
        return []
    pay = expected.hourly(study.reward)
    words = f"{expected.words}. If they take that long, you pay {_hourly(pay, study)}"
    if account.least is None or pay >= account.least:
        return [LaunchCheck(f"{words}.", False)]
    return [
        LaunchCheck(
            f"{words}, less than Prolific's minimum of {_hourly(account.least, study)}, which "
            f"holds for the time that participants take. Set the duration to "
            f"{expected.whole_minutes} minutes or more, and raise the pay.",
            True,
            fix=f"{reverse('studies:settings', args=[study.slug])}#id_minutes",
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


def workspace_checks(workspace: Workspace | None, problem: str) -> list[LaunchCheck]:
    """Check which workspace and project hold the drafts and pay for them."""
    if workspace is None:
        return [LaunchCheck(problem, True, True)]
    if not workspace.project:
        words = f"The drafts go to the workspace “{workspace.title}”. We create a project in it."
        return [LaunchCheck(words, False)]
    return [
        LaunchCheck(f"The drafts go to {workspace}. The balance of this workspace pays.", False)
    ]
