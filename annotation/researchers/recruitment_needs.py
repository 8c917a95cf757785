"""Recruitment among the lines of “Needs you”: each with the one press that helps."""

from collections.abc import Callable, Iterator, Sequence

from django.urls import reverse

from annotation.models import BonusPayment, ProlificStudy, Recruitment
from annotation.prolific.api import types
from annotation.prolific.api.balance import Account
from annotation.prolific.api.credentials import trouble_of
from annotation.prolific.launch.open_places import (
    PAUSED_FULL,
    forecast_on_prolific,
    free_places,
    good_submissions,
    paused_here,
    rows_without_need,
    used_screen_outs,
)
from annotation.prolific.money import with_fees
from annotation.seats.capacity import SeatForecast
from studies.models import Study
from studies.money import format_money
from studies.pages.listing import recent_seat_groups
from studies.pages.workbench import Need
from studies.statements.kept_figures import kept

_PAUSED = "PAUSED"
# Where a researcher's workspaces are on Prolific; each has its own page “Finance”.
_FINANCE = "https://app.prolific.com/researcher/"


def recruitment_needs(study: Study, *, items: Callable[[], int]) -> Iterator[Need]:
    """What recruiting needs; `items` counts the items, because a forecast of many is kept."""
    ahead = kept(
        "monitor-forecast",
        study.pk,
        study.version,
        count=lambda: forecast_on_prolific(study, recent_seat_groups(study)),
        rows=lambda _: items(),
    )
    rows: list[ProlificStudy] = []
    if study.entry == Study.Entry.PROLIFIC:
        recruitment = (
            Recruitment.objects.filter(study=study)
            .select_related("study", "prolific_account__given_by")
            .first()
        )
        rows = list(ProlificStudy.objects.filter(study=study))
        if recruitment is not None:
            yield from _account_needs(study, recruitment)
            yield from _money_needs(study, recruitment, rows, ahead)
        recruiting = [row for row in rows if row.status in (types.ACTIVE, _PAUSED)]
        full = rows_without_need(study, recruiting, ahead) if recruiting else []
        yield from _full_needs(study, full)
        if study.state == Study.State.OPEN:
            yield from _state_needs(study, [row for row in rows if row not in full])
        if full and full == recruiting:
            return
    rests = any(row.status == _PAUSED for row in rows) and not ahead.missing
    if ahead.warning and not rests:
        yield _places_need(study, rows, ahead)


def _account_needs(study: Study, recruitment: Recruitment) -> Iterator[Need]:
    if trouble := trouble_of(recruitment):
        address = reverse("people:prolific-accounts", args=[study.slug])
        yield Need(trouble, address, "Test or replace token", is_urgent=True)
    elif recruitment.last_error:
        address = reverse("people:prolific", args=[study.slug])
        words = f"We could not read from Prolific. {recruitment.last_error}"
        yield Need(words, address, "Open Prolific", is_urgent=True)


def _money_needs(
    study: Study, recruitment: Recruitment, rows: Sequence[ProlificStudy], ahead: SeatForecast
) -> Iterator[Need]:
    """Money that is needed and not there: for publishing, for missing places, for bonuses."""
    account = Account.of(recruitment.account)
    if account.balance is None or account.currency not in ("", study.currency):
        return
    unpaid = [row for row in rows if row.status in (types.UNPUBLISHED, types.SCHEDULED)]
    publishing = sum(row.places * row.reward for row in unpaid)
    missing = ahead.missing_places * study.reward if rows and not unpaid else 0
    ready = BonusPayment.objects.filter(
        prolific_study__in=rows, state=BonusPayment.State.READY
    ).values_list("total", flat=True)
    rewards = publishing + missing
    needed = sum(ready) + ((with_fees(study, rewards) or rewards) if rewards else 0)
    if needed <= account.balance:
        return
    uses = [
        words
        for words, amount in (
            ("publishing", publishing),
            ("the places that are missing", missing),
            ("bonuses", sum(ready)),
        )
        if amount
    ]
    words = (
        f"The workspace has {format_money(account.balance, study.currency)} left, and this study "
        f"needs {format_money(needed, study.currency)} for {' and '.join(uses)}. Add money on "
        "Prolific under Finance."
    )
    yield Need(words, _FINANCE, "Add money on Prolific", is_urgent=True)


def _state_needs(study: Study, rows: Sequence[ProlificStudy]) -> Iterator[Need]:
    """An open study that nobody can find, that rests on Prolific, or that many return."""
    if not study.annotators.exists() and all(row.status in ("", types.UNPUBLISHED) for row in rows):
        page = "people:prolific" if rows else "people:prolific-plan"
        words = "Nobody can find the study yet: it is not published on Prolific."
        yield Need(words, reverse(page, args=[study.slug]), "Recruit on Prolific")
    change = reverse("people:prolific", args=[study.slug])
    reported = [row for row in rows if row.many_returns_at and row.status == types.ACTIVE]
    if reported:
        returned = sum(row.submissions.filter(status=types.RETURNED).count() for row in reported)
        so_far = sum(row.submissions.count() for row in reported)
        words = (
            f"Prolific reports that unusually many people return this study: {returned:,} of "
            f"{so_far:,} so far. Pause it, or go on from the page “Prolific”."
        )
        yield Need(words, change, "Pause recruitment", is_urgent=True, sends={"action": "PAUSE"})
    if paused := [row for row in rows if row.status == _PAUSED]:
        yield _paused_need(study, paused, change)


def _full_needs(study: Study, rows: Sequence[ProlificStudy]) -> Iterator[Need]:
    """Stop recruiting where nobody else is needed: the places that are open, and their money."""
    change = reverse("people:prolific", args=[study.slug])
    free = free_places(rows)
    if not free:
        return
    rewards = sum(free_places([row]) * row.reward for row in rows)
    cost = format_money(with_fees(study, rewards) or rewards, study.currency)
    names = ", ".join(f"“{row.label}”" for row in rows if row.label)
    why = f"Full: {names}." if names else "All answers are in."
    places = "1 place is" if free == 1 else f"{free:,} places are"
    if any(row.status == types.ACTIVE for row in rows):
        words = f"{why} {places} still open on Prolific, and people there would be paid {cost}."
        yield Need(words, change, "Pause recruitment", is_urgent=True, sends={"action": "PAUSE"})
        return
    words = f"{why} Recruitment is paused on Prolific. {places} left there, worth {cost}."
    yield Need(words, change, "Stop recruitment", sends={"action": "STOP"})


def _paused_need(study: Study, paused: Sequence[ProlificStudy], change: str) -> Need:
    resume = {"action": "START"}
    if paused_here(study):
        words = "Recruitment on Prolific is paused, and this study is open."
        return Need(words, change, "Resume recruitment", sends=resume)
    if paused_here(study, PAUSED_FULL):
        words = "Recruitment was paused when all answers were in. Some are missing again."
        return Need(words, change, "Resume recruitment", is_urgent=True, sends=resume)
    if used := used_screen_outs(study, paused):
        words = f"Prolific paused the study: all {used:,} paid screen-outs are used."
        return Need(words, change, "Resume recruitment", is_urgent=True, sends=resume)
    free = sum(max(0, row.places - good_submissions(row)) for row in paused)
    if free:
        places = "1 place is" if free == 1 else f"{free:,} places are"
        words = f"Prolific paused the study. {places} free again after returns or rejections."
        act = reverse("people:prolific", args=[study.slug])
        button = "Refill 1 place" if free == 1 else f"Refill {free:,} places"
        return Need(words, act, button, is_urgent=True, sends={"action": "refill"})
    words = "The study is paused on Prolific, and not from here."
    return Need(words, change, "Resume recruitment", is_urgent=True, sends=resume)


def _places_need(study: Study, rows: Sequence[ProlificStudy], ahead: SeatForecast) -> Need:
    """Seats that the remaining places cannot fill; the press shows the cost of more places."""
    published = [row for row in rows if row.status not in ("", types.UNPUBLISHED)]
    if ahead.to_start and not ahead.missing:
        address = reverse("people:prolific", args=[study.slug])
        return Need(ahead.warning, address, "Refill places", sends={"action": "refill"})
    if ahead.missing_places and not ahead.missing_room and len(published) == 1:
        sends = {
            "action": "places",
            "extra": str(ahead.missing_places),
            "label": published[0].label,
        }
        address = reverse("people:prolific", args=[study.slug])
        button = f"Add {ahead.missing_places:,} place{'s' if ahead.missing_places > 1 else ''}"
        return Need(ahead.warning, address, button, sends=sends)
    return Need(ahead.warning, reverse("people:places", args=[study.slug]), "Places and quota")
