"""What is looked at before a launch: what blocks, what is advice, what it costs."""

from dataclasses import dataclass
from urllib.parse import urlsplit

from django.conf import settings
from django.urls import reverse

from annotation.models import ProlificStudy, QuotaCell
from annotation.prolific.account import is_local
from annotation.prolific.client import Client
from annotation.prolific.filters import GROUP_BLOCKLIST, Resolved, resolve
from annotation.prolific.plan import Plan, cell_filters, needed_places, places_of, seats
from annotation.prolific.types import Filter
from studies.models import Item, Study
from studies.money import format_money

# From this many minutes on, the platform wants two failed checks before a rejection.
_LONG_STUDY = 5


@dataclass(frozen=True)
class Check:
    """One thing that was looked at; `fix` is the address of the page that mends it."""

    text: str
    is_open: bool
    blocks: bool
    fix: str = ""


@dataclass(frozen=True)
class Draft:
    """One study as it would be made on Prolific."""

    label: str
    places: int
    filters: Resolved
    eligible: int | None


@dataclass(frozen=True)
class Preview:
    """What a launch would do."""

    checks: list[Check]
    drafts: list[Draft]
    places: int
    needed: int
    cost: int
    rewards: int
    reward: int
    currency: str
    pay_per_hour: float

    @property
    def blocking(self) -> list[str]:
        return [check.text for check in self.checks if check.is_open and check.blocks]


def preview(study: Study, plan: Plan, client: Client) -> Preview:
    """Look at everything that a launch depends on. Reads from Prolific and changes nothing."""
    account = client.me()
    live = client.filters(workspace=plan.workspace)
    drafts = [
        Draft(label, places, resolved, _eligible(client, resolved, plan))
        for label, places, resolved in resolve_drafts(study, plan, live)
    ]
    places = sum(draft.places for draft in drafts)
    currency = str(account.get("currency_code") or study.currency).upper()
    pay = study.reward * 60 / study.minutes
    checks = [
        *_entry_checks(study),
        *_place_checks(study, plan, places),
        *_pay_checks(study, currency, pay, client.least_pay(study.currency)),
        *_filter_checks(study, drafts),
        *_content_checks(study),
    ]
    return Preview(
        checks=checks,
        drafts=drafts,
        places=places,
        needed=needed_places(study),
        cost=client.calculate_cost(reward=study.reward, places=places) if places else 0,
        rewards=study.reward * places,
        reward=study.reward,
        currency=study.currency,
        pay_per_hour=pay,
    )


def resolve_drafts(
    study: Study, plan: Plan, live: list[Filter], *, group_id: str = ""
) -> list[tuple[str, int, Resolved]]:
    """Label, places and filters of every study that the plan makes on Prolific."""
    shared = resolve(plan.wanted(), live)
    if not plan.apart:
        return [("", places_of(plan, study), shared)]
    drafts = []
    for cell in study.quota_cells.all():
        wanted, problems = cell_filters(cell, plan)
        own = resolve(wanted, live)
        filters = [*shared.filters, *own.filters]
        if group_id:
            # People enter this group with their code: nobody is paid for two groups.
            filters.append({"filter_id": GROUP_BLOCKLIST, "selected_values": [group_id]})
        found = Resolved(filters, [*shared.problems, *problems, *own.problems])
        drafts.append((str(cell), cell.target, found))
    return drafts


def _eligible(client: Client, resolved: Resolved, plan: Plan) -> int | None:
    """How many people fit, or None when the filters are not known."""
    if resolved.problems:
        return None
    plain = [{k: v for k, v in f.items() if k != "weightings"} for f in resolved.filters]
    return client.eligible(plain, workspace=plan.workspace)


def _entry_checks(study: Study) -> list[Check]:
    address = urlsplit(settings.PUBLIC_BASE_URL)
    reachable = address.scheme == "https" or is_local()
    return [
        Check(
            "The study is entered with ids from Prolific."
            if study.entry == Study.Entry.PROLIFIC
            else "The study is not entered through Prolific. Set its entry to Prolific.",
            study.entry != Study.Entry.PROLIFIC,
            True,
        ),
        Check(
            "People can reach the study's address."
            if reachable
            else "People cannot reach the study's address. Set PUBLIC_BASE_URL to a public https "
            "address.",
            not reachable,
            True,
        ),
        Check(
            "The study takes answers."
            if study.state == Study.State.OPEN
            else "The study takes no answers yet. Open it before you publish.",
            study.state != Study.State.OPEN,
            False,
            reverse("studies:detail", args=[study.slug]),
        ),
    ]


def _place_checks(study: Study, plan: Plan, places: int) -> list[Check]:
    checks = []
    detail = reverse("studies:detail", args=[study.slug])
    answers, given = seats(study), places * study.items_per_annotator
    if not answers:
        checks.append(
            Check("No item needs an answer. Import items.", True, True,
                  reverse("studies:import", args=[study.slug]))
        )  # fmt: skip
    words = (
        f"{answers:,} answers are needed; {places:,} people × {study.items_per_annotator} items "
        f"give {given:,}"
    )
    if given < answers:
        checks.append(Check(f"{words}: some seats stay open.", True, False, detail))
    elif given > answers:
        surplus = given - answers
        checks.append(
            Check(f"{words}: {surplus:,} are surplus work, paid all the same.", True, False)
        )
    else:
        checks.append(Check(f"{words}.", False, False))
    if places < 1:
        checks.append(Check("The plan has no places. Say how many people you want.", True, True))
    if not plan.apart and plan.balance and places % plan.groups:
        checks.append(
            Check(
                f"{places} places cannot be divided into {plan.groups} groups of one size. "
                f"Take a multiple of {plan.groups}.",
                True,
                True,
            )
        )
    cells: list[QuotaCell] = list(study.quota_cells.all())
    total = sum(cell.target for cell in cells)
    if cells:
        fits = total == places
        checks.append(
            Check(
                f"The study's groups hold {total} places."
                if fits
                else f"The study's groups hold {total} places, the plan asks for {places}. "
                "Make them equal with set_quotas or by changing the plan.",
                not fits,
                True,
            )
        )
        checks += [
            Check(f"The group “{cell}” has no place.", True, True)
            for cell in cells
            if cell.target < 1 and not cell.is_everyone_else
        ]
    elif plan.apart:
        checks.append(
            Check("The study has no groups to recruit apart. Set them with set_quotas.", True, True)
        )
    return checks


def _pay_checks(
    study: Study, currency: str, pay: float, least: tuple[int, int] | None
) -> list[Check]:
    hourly = format_money(pay, study.currency)
    checks = [
        Check(
            f"Account and study use {currency}."
            if currency == study.currency
            else f"The account pays in {currency}, the study says {study.currency}. "
            f"Set the study's currency and reward.",
            currency != study.currency,
            True,
        )
    ]
    if least is None:
        words = f"Prolific names no least pay for {study.currency}; you pay {hourly} an hour."
        return [*checks, Check(words, True, False)]
    minimum, recommended = (format_money(value, study.currency) for value in least)
    if pay < least[0]:
        words = f"{hourly} an hour is less than Prolific's minimum of {minimum}. Raise the reward."
        return [*checks, Check(words, True, True)]
    words = f"{hourly} an hour; Prolific recommends {recommended} and demands {minimum}."
    return [*checks, Check(words, pay < least[1], False)]


def _filter_checks(study: Study, drafts: list[Draft]) -> list[Check]:
    problems = dict.fromkeys(p for draft in drafts for p in draft.filters.problems)
    checks = [Check(problem, True, True) for problem in problems]
    if not problems:
        checks.append(Check("Prolific has every filter of the plan.", False, True))
    for draft in drafts:
        if draft.eligible is not None and draft.eligible < 5 * draft.places:
            people = f"{draft.eligible:,}" if draft.eligible else "fewer than 25"
            group = f" in {draft.label}" if draft.label else ""
            checks.append(
                Check(f"Only {people} people fit{group}; recruiting may be slow.", True, False)
            )
    if ProlificStudy.objects.filter(study=study).exclude(status__in=["", "UNPUBLISHED"]).exists():
        checks.append(Check("This study is published on Prolific already.", True, True))
    return checks


def _content_checks(study: Study) -> list[Check]:
    attention = Item.everything.filter(study=study, split=Item.Split.ATTENTION_CHECK).count()
    few = attention == 1 and study.minutes >= _LONG_STUDY
    checks = [
        Check(
            "One attention check alone is no ground for a rejection in a study of five minutes or "
            "more. Add a second one, or none."
            if few
            else f"Attention checks: {attention}.",
            few,
            False,
        ),
        Check(
            "People can write to you."
            if study.contact
            else "The consent page names no address to write to. Set the study's contact.",
            not study.contact,
            False,
        ),
    ]
    return checks
