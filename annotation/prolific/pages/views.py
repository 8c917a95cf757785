"""Recruiting on Prolific, for editors: launch, monitor, end; and the webhook address."""

import datetime as dt
import logging
from collections.abc import Callable, Iterator, Mapping
from functools import wraps
from typing import Any

from django import forms
from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from annotation.models import ProlificStudy, Recruitment
from annotation.prolific.additions import PARTS
from annotation.prolific.api.balance import Account
from annotation.prolific.api.client import client_with, is_local
from annotation.prolific.api.credentials import credentials_in, knows_secret, trouble_of
from annotation.prolific.api.transport import (
    LaunchRefused,
    NotAllowed,
    NotConfigured,
    ProlificError,
)
from annotation.prolific.api.types import SCHEDULED
from annotation.prolific.launch import launch, publication
from annotation.prolific.launch.launch_checks import LaunchPreview, state_check
from annotation.prolific.launch.launch_plan import Workspace
from annotation.prolific.launch.open_places import RESTING, forecast_on_prolific, used_screen_outs
from annotation.prolific.launch.plan_words import plan_sentence
from annotation.prolific.money import with_fees
from annotation.prolific.settle.proposals import pace_of, totals
from annotation.prolific.sync.polling import OLD_AFTER
from annotation.prolific.sync.sync import follow
from annotation.prolific.sync.webhooks import BadWebhook, keep, subscribe
from annotation.tasks import handle_prolific_event
from studies.errors import OpeningRefused
from studies.models import Membership, Study
from studies.money import format_money
from studies.pages.responses import whole_number
from studies.pages.workbench import LaunchRoute, MonitorCard
from studies.selectors import get_study
from studies.services.studies import LaunchCheck, open_draft, registered_checks
from studies.statements import clock

UNPROCESSABLE = 422


def editor_page(view: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
    """Call `view(request, study)` for users who may edit the study; others get a 404."""

    @never_cache
    @login_required
    @wraps(view)
    def wrapper(request: HttpRequest, slug: str, **kwargs: Any) -> HttpResponse:
        study = get_study(request.user, slug, role=Membership.Role.EDITOR)
        return view(request, study, **kwargs)

    return wrapper


def user_of(request: HttpRequest) -> User:
    assert isinstance(request.user, User)  # noqa: S101  editor_page lets nobody else in
    return request.user


def attempt(request: HttpRequest, action: Callable[[], Any], success: Callable[[Any], str]) -> bool:
    """Do something on Prolific and show the user the result; False if it failed."""
    try:
        result = action()
    except LaunchRefused as error:
        for problem in error.problems:
            messages.error(request, problem)
        return False
    except ProlificError as error:
        doubt = (
            " It may have been done anyway. Try again: we check first, so nothing is done twice."
        )
        messages.error(request, f"{error}{doubt if error.outcome_unknown else ''}")
        return False
    messages.success(request, success(result))
    return True


def show(
    request: HttpRequest,
    study: Study,
    page: str,
    context: Mapping[str, Any] | None = None,
    *,
    status: int = 200,
) -> HttpResponse:
    """Render a recruiting page, which says whether Prolific is simulated and has extras' parts."""
    parts = [part for part in PARTS.of(study) if part.page == page]
    added = [part.template for part in parts]
    shared: dict[str, Any] = {"study": study, "is_local": is_local(), "added": added}
    for part in parts:
        shared |= part.context(study) if part.context else {}
    template = f"annotation/prolific/{page}.html"
    return render(request, template, shared | dict(context or {}), status=status)


def to_home(study: Study) -> HttpResponse:
    return redirect("people:prolific", study.slug)


@require_http_methods(["GET"])
@editor_page
def home(request: HttpRequest, study: Study) -> HttpResponse:
    """The state of recruiting, as last read, without asking Prolific."""
    recruitment = (
        Recruitment.objects.filter(study=study).select_related("study", "prolific_account").first()
    )
    rows = list(ProlificStudy.objects.filter(study=study))
    entered = recruitment.prolific_account if recruitment else None
    account, problem = "", trouble_of(recruitment) if recruitment else ""
    if not problem:
        try:
            client = client_with(credentials_in(entered, study))
            account = f"{client.origin}, token {client.token_fragment}"
            if entered and not rows:
                account = f"workspace “{entered}”, {account}"
        except NotConfigured as error:
            problem = str(error)
    statuses = {row.status for row in rows}
    is_draft = bool(rows) and statuses <= {"", "UNPUBLISHED"}
    unmade = any(row.prolific_id is None for row in rows)
    counts = totals(study)
    context = {
        "account": account,
        "problem": problem,
        "pay": _pay(study, recruitment),
        "rows": [(row, format_money(row.reward, row.paid_in)) for row in rows],
        "is_scheduled": SCHEDULED in statuses,
        "scheduled": publication.scheduled_at(study) if SCHEDULED in statuses else None,
        "unmade": unmade,
        "is_draft": is_draft,
        "is_published": SCHEDULED not in statuses and (unmade or not is_draft),
        "may": {
            "pause": "ACTIVE" in statuses,
            "start": "PAUSED" in statuses,
            "stop": bool(statuses & {"ACTIVE", "PAUSED"}),
            "refill": bool(statuses & {*RESTING}),
        },
        "counts": sorted(counts.items()),
        **_outlook(study),
        "used_screen_outs": used_screen_outs(study, rows),
        "many_returns": any(row.many_returns_at for row in rows),
        "recruitment": recruitment,
        "workspace": Workspace.of(recruitment.workspace) if recruitment else None,
        "old_days": OLD_AFTER.days if any(_is_old(row) for row in rows) else 0,
        "webhooks": knows_secret(recruitment) if recruitment else False,
    }
    return show(request, study, "home", context)


def _outlook(study: Study) -> dict[str, Any]:
    """The seats that the remaining places cannot fill, and the cost of the missing places."""
    ahead = forecast_on_prolific(study)
    cost = with_fees(study, ahead.pay) if ahead.missing else None
    return {
        "warning": ahead.warning,
        "missing": ahead.missing,
        "missing_places": ahead.missing_places,
        "missing_cost": "" if cost is None else format_money(cost, study.currency),
    }


def _is_old(row: ProlificStudy) -> bool:
    return row.created_at < clock.now() - OLD_AFTER


def _pay(study: Study, recruitment: Recruitment | None) -> dict[str, Any]:
    """The actual hourly pay, the platform's minimum, and the balance."""
    known = Account.of(recruitment.account if recruitment else {})
    pace = pace_of(study)

    def money(amount: float | None) -> str:
        return "" if amount is None else format_money(amount, study.currency)

    return {
        "pace": pace,
        "per_hour": money(pace.per_hour if pace else None),
        "too_low": bool(pace and known.least and pace.per_hour < known.least),
        "least": money(known.least),
        "recommended": money(known.recommended),
        "balance": money(known.balance),
        "problems": known.problems,
    }


@require_http_methods(["GET", "POST"])
@editor_page
def check_and_launch(request: HttpRequest, study: Study) -> HttpResponse:
    """The current checks and cost from Prolific; the button creates the draft.

    A study that is a draft here has all this on its launch page, whose button also opens it.
    """
    is_draft = study.state == Study.State.DRAFT
    if request.method == "GET" and is_draft:
        return redirect("studies:launch", study.slug)
    if request.method == "POST":
        is_launched = attempt(
            request,
            lambda: launch.launch(study_id=study.pk, user=user_of(request)),
            lambda rows: (
                "Draft created on Prolific. Participants do not see it, and nothing is paid yet."
            ),
        )
        if is_launched and is_draft:
            try:
                open_draft(
                    study=study, reason=request.POST.get("reason", ""), user=user_of(request)
                )
            except OpeningRefused as error:
                messages.error(request, str(error))
                return redirect("studies:launch", study.slug)
        return redirect(f"people:prolific-{'publish' if is_launched else 'launch'}", study.slug)
    try:
        preview = launch.check_launch(study)
    except ProlificError as error:
        return show(request, study, "launch", {"problem": str(error)})
    return show(request, study, "launch", {"part": _launch_context(study, preview)})


def _launch_context(study: Study, preview: LaunchPreview) -> dict[str, Any]:
    """The plan in words, the cost, and the drafts."""
    money = preview.currency
    hourly = (
        format_money(preview.expected.hourly(preview.reward), money) if preview.expected else ""
    )
    return {
        "study": study,
        "is_local": is_local(),
        "preview": preview,
        "sentence": plan_sentence(study, launch.plan_of(study), preview),
        "distributions": sorted(preview.distributions.items()),
        "reward": format_money(preview.reward, money),
        "rewards": format_money(preview.rewards, money),
        "fees": format_money(preview.cost - preview.rewards, money),
        "cost": format_money(preview.cost, money),
        "per_hour": format_money(preview.pay_per_hour, money),
        "hourly": hourly,
        "trials": [
            (reverse(trial.view, args=[study.slug]), trial.button, trial.hint)
            for trial in launch.TRIALS.of(study)
        ],
    }


def launch_route(study: Study) -> Iterator[LaunchRoute]:
    """The way of a draft to Prolific, if its people come from there."""
    if study.entry != Study.Entry.PROLIFIC:
        return
    try:
        preview = launch.check_launch(study)
    except ProlificError as error:
        accounts = reverse("people:prolific-accounts", args=[study.slug])
        problem = LaunchCheck(f"You cannot recruit on Prolific now. {error}", True, fix=accounts)
        yield LaunchRoute(checks=[problem, *registered_checks(study)])
        return
    yield LaunchRoute(
        # The button opens the study too.
        checks=[check for check in preview.checks if check != state_check(study)],
        address=reverse("people:prolific-launch", args=[study.slug]),
        button="Open study and create draft on Prolific",
        parts=[
            MonitorCard(
                "launch", "annotation/prolific/_launch.html", _launch_context(study, preview)
            )
        ],
    )


@require_http_methods(["GET", "POST"])
@editor_page
def publish(request: HttpRequest, study: Study) -> HttpResponse:
    """Spend the money after the user has typed the amount."""
    if request.method == "POST":
        done = attempt(
            request,
            lambda: _publish(request, study),
            lambda at: (
                f"Study scheduled. Prolific publishes it at {at:%-d %b %Y, %H:%M %Z}."
                if at
                else "Study published. Participants can take places now."
            ),
        )
        return to_home(study) if done else redirect("people:prolific-publish", study.slug)
    context: dict[str, Any] = {}
    try:
        total, asked, workspace = publication.look_at_publishing(study)
        context |= {"total": total, "workspace": workspace, "spending": asked}
    except ProlificError as error:
        context["problem"] = str(error)
    return show(request, study, "publish", context)


def _publish(request: HttpRequest, study: Study) -> dt.datetime | None:
    """Publish for the typed sum, now or at the time that is returned."""
    try:
        at = forms.DateTimeField(required=False).clean(request.POST.get("at", ""))
    except ValidationError:
        raise NotAllowed("Enter date and time as 2026-12-31 09:30, or leave it empty.") from None
    publication.publish(study_id=study.pk, at=at, user=user_of(request), **agreed_spending(request))
    return at


def agreed_spending(request: HttpRequest) -> dict[str, Any]:
    """What a user says on a page that shows a `Spending`: the amount, and whether beyond it."""
    sent = request.POST
    return {"confirmed": sent.get("sum", ""), "beyond": sent.get("beyond") == "yes"}


_CHANGES = {
    "CANCEL_PUBLISH": "Publication cancelled. The study is a draft again.",
    "PAUSE": "Recruitment paused. Participants who are working now can continue.",
    "START": "Recruitment resumed. Participants can take places again.",
    "STOP": "Recruitment stopped. Participants who are working now can finish.",
}


@require_http_methods(["POST"])
@editor_page
def change(request: HttpRequest, study: Study) -> HttpResponse:
    """Pause, start or stop; stopping asks for confirmation."""
    action = request.POST["action"]
    if action == "STOP" and request.POST.get("sure") != "yes":
        return show(request, study, "stop")
    attempt(
        request,
        lambda: publication.change(study_id=study.pk, action=action, user=user_of(request)),
        lambda _: _CHANGES[action],
    )
    return to_home(study)


@require_http_methods(["POST"])
@editor_page
def places(request: HttpRequest, study: Study) -> HttpResponse:
    """Add places after showing their cost, the need and the balance."""
    label, extra = request.POST.get("label", ""), _number(request.POST.get("extra", ""))
    if request.POST.get("sure") == "yes":
        done = attempt(
            request,
            lambda: publication.add_places(
                study_id=study.pk,
                extra=extra,
                label=label,
                seen=_number(request.POST.get("seen", "")) or None,
                user=user_of(request),
                **agreed_spending(request),
            ),
            lambda row: f"Places added. The study now has {row.places} places.",
        )
        if done:
            return to_home(study)
    row = ProlificStudy.objects.filter(study=study, label=label).first()
    if row is None or extra < 1:
        messages.error(request, "Enter how many places to add, from 1 to 10,000.")
        return to_home(study)
    try:
        seen, asked = publication.look_at_places(row, extra=extra)
    except ProlificError as error:
        messages.error(request, str(error))
        return to_home(study)
    context = {"extra": extra, "label": label, "seen": seen, "after": seen + extra}
    return show(request, study, "places", context | {"spending": asked})


def _number(text: str) -> int:
    """A small number typed into a field; 0 for anything else."""
    return whole_number(text, most=99_999) or 0


@require_http_methods(["POST"])
@editor_page
def webhooks(request: HttpRequest, study: Study) -> HttpResponse:
    """Subscribe to Prolific's events, and show the secret to set on the server."""
    secrets: list[str] = []
    done = attempt(
        request,
        lambda: secrets.append(subscribe(study_id=study.pk, user=user_of(request))),
        lambda _: "Subscribed to notifications from Prolific.",
    )
    recruitment = Recruitment.objects.filter(study=study).select_related("prolific_account").first()
    if recruitment is not None and recruitment.prolific_account is not None:
        if done and not knows_secret(recruitment):
            messages.warning(
                request,
                "The workspace has a secret, which Prolific does not show again. Store it here.",
            )
            return redirect("people:prolific-accounts", study.slug)
        return to_home(study)
    known = bool(settings.PROLIFIC_WEBHOOK_SECRET)
    if not done or (known and secrets[0] in ("", settings.PROLIFIC_WEBHOOK_SECRET)):
        return to_home(study)
    return show(request, study, "webhooks", {"secret": secrets[0], "known": known})


@require_http_methods(["POST"])
@editor_page
def act(request: HttpRequest, study: Study) -> HttpResponse:
    """Actions that cost nothing: read again, refill returned places, delete a draft."""
    actions: dict[str, tuple[Callable[[], Any], Callable[[Any], str]]] = {
        "sync": (
            lambda: follow(study_id=study.pk),
            lambda n: f"Refreshed from Prolific: {n} submission{'' if n == 1 else 's'}.",
        ),
        "refill": (
            lambda: publication.refill(study_id=study.pk, user=user_of(request)),
            lambda n: (
                f"Study reopened for {n} more participants." if n else "No places need refilling."
            ),
        ),
        "returns": (
            lambda: publication.note_returns_seen(study_id=study.pk),
            lambda _: "Recruitment continues.",
        ),
        "forget": (
            lambda: launch.forget_drafts(study_id=study.pk, user=user_of(request)),
            lambda n: (
                "Draft deleted here and on Prolific." if n else "There is no draft to delete."
            ),
        ),
    }
    attempt(request, *actions[request.POST["action"]])
    if request.POST.get("then") == "settle":
        return redirect("people:prolific-settle", study.slug)
    return to_home(study)


logger = logging.getLogger(__name__)


@require_http_methods(["POST"])
def webhook(request: HttpRequest) -> HttpResponse:
    """Store and queue the event, and answer immediately; a repeat gets the same answer."""
    try:
        event = keep(
            timestamp=request.headers.get("X-Prolific-Request-Timestamp", ""),
            signature=request.headers.get("X-Prolific-Request-Signature", ""),
            body=request.body,
        )
    except BadWebhook as problem:
        logger.warning("a webhook was refused: %s", problem)
        return HttpResponse(status=403)
    if event is not None:
        # Without a broker, the next reading, within a minute, covers the study anyway.
        handle_prolific_event.delay_on_commit(event.pk)  # type: ignore[attr-defined]
    return HttpResponse(status=204)
