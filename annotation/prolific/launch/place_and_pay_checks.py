"""What stands against a launch: entry, places, pay and money."""

from urllib.parse import urlsplit

from django.conf import settings
from django.urls import reverse

from annotation.models import QuotaGroup
from annotation.prolific.api.account import Account, is_local
from annotation.prolific.launch.launch_plan import LaunchPlan, seats
from annotation.prolific.launch.workspace import Workspace
from studies.models import Study
from studies.money import format_money
from studies.services.launch_checks import LaunchCheck


def entry_checks(study: Study) -> list[LaunchCheck]:
    address = urlsplit(settings.PUBLIC_BASE_URL)
    reachable = address.scheme == "https" or is_local()
    checks = [
        LaunchCheck(
            "The study is entered with ids from Prolific."
            if study.entry == Study.Entry.PROLIFIC
            else "The study is not entered through Prolific. Set its entry to Prolific.",
            study.entry != Study.Entry.PROLIFIC,
            True,
        ),
        LaunchCheck(
            "People can reach the study's address."
            if reachable
            else "People cannot reach the study's address. Set PUBLIC_BASE_URL to a public https "
            "address.",
            not reachable,
            True,
        ),
        LaunchCheck(
            "The study takes answers."
            if study.state == Study.State.OPEN
            else "The study takes no answers yet. Open it before you publish.",
            study.state != Study.State.OPEN,
            False,
            reverse("studies:detail", args=[study.slug]),
        ),
    ]
    if study.is_simulated and not is_local():
        words = "The study is simulated: nobody is recruited for it with real money."
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
        f"{answers:,} answers are needed; {places:,} people × {study.items_per_annotator} items "
        f"give {given:,}"
    )
    if given < answers:
        checks.append(LaunchCheck(f"{words}: some seats stay open.", True, False, detail))
    elif given > answers:
        surplus = given - answers
        checks.append(
            LaunchCheck(f"{words}: {surplus:,} are surplus work, paid all the same.", True, False)
        )
    else:
        checks.append(LaunchCheck(f"{words}.", False, False))
    if places < 1:
        checks.append(
            LaunchCheck("The plan has no places. Say how many people you want.", True, True)
        )
    if not plan.apart and plan.balance and places % plan.groups:
        checks.append(
            LaunchCheck(
                f"{places} places cannot be divided into {plan.groups} groups of one size. "
                f"Take a multiple of {plan.groups}.",
                True,
                True,
            )
        )
    groups: list[QuotaGroup] = list(study.quota_groups.all())
    total = sum(group.target for group in groups)
    if groups:
        fits = total == places
        checks.append(
            LaunchCheck(
                f"The study's groups hold {total} places."
                if fits
                else f"The study's groups hold {total} places, the plan asks for {places}. "
                "Make them equal with set_quotas or by changing the plan.",
                not fits,
                True,
            )
        )
        checks += [
            LaunchCheck(f"The group “{group}” has no place.", True, True)
            for group in groups
            if group.target < 1 and not group.is_everyone_else
        ]
    elif plan.apart:
        checks.append(
            LaunchCheck(
                "The study has no groups to recruit apart. Set them with set_quotas.", True, True
            )
        )
    return checks


def pay_checks(study: Study, account: Account, pay: float) -> list[LaunchCheck]:
    hourly = format_money(pay, study.currency)
    currency = account.currency or study.currency
    checks = [
        LaunchCheck(
            f"Account and study use {currency}."
            if currency == study.currency
            else f"The account pays in {currency}, the study says {study.currency}. "
            f"Set the study's currency and reward.",
            currency != study.currency,
            True,
        )
    ]
    if account.pay_problem:
        words = f"{account.pay_problem} You pay {hourly} an hour."
        return [*checks, LaunchCheck(words, True)]
    if account.least is None or account.recommended is None:
        words = f"Prolific names no least pay for {study.currency}; you pay {hourly} an hour."
        return [*checks, LaunchCheck(words, True)]
    minimum = format_money(account.least, study.currency)
    recommended = format_money(account.recommended, study.currency)
    if pay < account.least:
        words = f"{hourly} an hour is less than Prolific's minimum of {minimum}. Raise the reward."
        return [*checks, LaunchCheck(words, True, True)]
    words = f"{hourly} an hour; Prolific recommends {recommended} and demands {minimum}."
    return [*checks, LaunchCheck(words, pay < account.recommended)]


def balance_checks(account: Account, cost: int, currency: str) -> list[LaunchCheck]:
    """Whether the workspace can pay; a wallet that is not shown is not doubted."""
    if account.balance is None:
        return [LaunchCheck(account.balance_problem, True)] if account.balance_problem else []
    held, needed = format_money(account.balance, currency), format_money(cost, currency)
    if account.balance >= cost:
        return [LaunchCheck(f"The workspace holds {held}; the study costs {needed}.", False)]
    words = f"The workspace holds {held}, the study costs {needed}. Add money on Prolific."
    return [LaunchCheck(words, True)]


def workspace_checks(workspace: Workspace | None, problem: str) -> list[LaunchCheck]:
    """Where the drafts go and what pays for them."""
    if workspace is None:
        return [LaunchCheck(problem, True, True)]
    if not workspace.project:
        words = f"The drafts go to workspace “{workspace.title}”; a project is made in it."
        return [LaunchCheck(words, False)]
    return [LaunchCheck(f"The drafts go to {workspace}; that workspace's wallet pays.", False)]
