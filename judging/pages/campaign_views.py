"""Pages of campaigns: plan, probe, start, follow."""

from datetime import timedelta
from typing import Any, cast

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from judging.errors import JudgingError
from judging.models import Campaign, Judge, JudgeRun, Jury
from judging.pages.campaign_forms import CampaignForm
from judging.pages.workbench import JURY_ACTIONS
from judging.runs import campaigns, lifecycle
from judging.runs.costs import (
    CampaignEstimate,
    RunEstimate,
    estimate_cells,
    estimate_plan,
    estimate_rest,
    probes_of,
)
from judging.selectors import (
    RunProgress,
    RunRow,
    campaign_use,
    get_campaign,
    may_edit,
    run_rows,
)
from studies.errors import StudyError
from studies.media import media_types
from studies.models import Membership
from studies.selectors import get_study
from studies.services.studies import forbids_providers
from studies.statements import clock

_UNTAKEN = timedelta(seconds=30)  # after which a page says that no worker has started the run
_CHANGES = {
    "pause": lifecycle.pause_run,
    "resume": lifecycle.resume_run,
    "cancel": lifecycle.cancel_run,
}
_AFTER_PROBE = {
    "start": campaigns.start_after_probe,
    "refuse": campaigns.refuse_after_probe,
    "probe": campaigns.probe_again,
}


@login_required
@require_http_methods(["GET", "POST"])
def new_campaign(request: HttpRequest, slug: str) -> HttpResponse:
    """Plan a campaign, show its cost, then start it; nothing is sent before the cost is shown."""
    study = get_study(request.user, slug, role=Membership.Role.EDITOR)
    like = get_campaign(study, request.GET["like"]) if "like" in request.GET else None
    name = campaigns.free_name(study)
    judge = _preselected(request.GET.get("judge", ""))
    form = CampaignForm(study, request.POST or None, name=name, like=like, judge=judge)
    # A link to a missing run chooses it.
    chosen = {key: request.GET.getlist(key) for key in ("judges", "settings", "features")}
    form.initial.update({key: values for key, values in chosen.items() if values})
    estimate = None
    if form.is_valid():
        try:
            plan = form.plan()
            estimate = estimate_plan(study, plan, user=cast(User, request.user))
            if form.may_start:
                campaign = campaigns.start_campaign(
                    study_id=study.pk,
                    plan=plan,
                    probe=request.POST["start"] == "probe",
                    change=like is not None and plan.name == like.name,
                    user=cast(User, request.user),
                )
                return redirect("judging:campaign", slug, campaign.public_id)
        except (JudgingError, StudyError) as error:
            form.show(error)
    context = {
        "study": study,
        "form": form,
        "estimate": estimate,
        "like": like,
        "asked_in": form["language"].value() or "",
        "has_media": bool(media_types(study)),
        "has_changed": "start" in request.POST and not form.errors,
        "forbids_providers": forbids_providers(study),
    }
    return render(request, "judging/new.html", context, status=422 if form.errors else 200)


def _preselected(text: str) -> str:
    """The judge named in a link; empty if there is none."""
    if not text.isdecimal() or len(text) > 9:
        return ""
    return Judge.objects.filter(pk=text).values_list("name", flat=True).first() or ""


@login_required
@require_GET
def campaign_page(
    request: HttpRequest, slug: str, campaign_id: str, *, template: str = "judging/campaign.html"
) -> HttpResponse:
    """Show a campaign as a page, or the part that is refreshed while runs are active."""
    study = get_study(request.user, slug)
    campaign = get_campaign(study, campaign_id)
    rows = run_rows(study, campaign.runs.all())
    under_way = [row.run for row in rows if not row.run.probe_first]
    context = {
        "study": study,
        "campaign": campaign,
        "asked_in": campaigns.plan_of(campaign).language,
        "progress": sum((row.progress for row in rows), start=RunProgress()),
        "use": campaign_use(campaign),
        "rows": rows,
        "speed": sum(row.speed for row in rows),
        "retries": sum(row.run.retries for row in rows),
        "probing": _probing(campaign, rows),
        "is_active": any(run.is_active for run in under_way),
        "is_resumable": any(run.is_resumable for run in under_way),
        "juries": _juries(campaign),
        "may_edit": may_edit(request.user, slug),
    }
    return render(request, template, context)


def _juries(campaign: Campaign) -> list[tuple[Jury, list[str]]]:
    names = campaign.plan.get("juries", ())
    juries = campaign.study.juries.filter(name__in=names).prefetch_related("judges")
    return [
        (
            jury,
            [
                action.template
                for action in JURY_ACTIONS.of(campaign.study)
                if action.is_open(campaign, jury)
            ],
        )
        for jury in juries
    ]


def _probing(campaign: Campaign, rows: list[RunRow]) -> dict[str, Any] | None:
    """Test questions of runs that wait for confirmation, and the cost of starting these runs."""
    waiting = [row for row in rows if row.run.awaits_yes]
    if not waiting:
        return None
    probes = probes_of([row.run for row in waiting])
    under_way = [row.run for row in waiting if row.run.is_active]
    ended = len(waiting) - len(under_way)
    estimate = None
    if probes and not under_way:
        rest = [
            estimate_rest(row.run, probes[row.run.pk]) for row in waiting if row.run.pk in probes
        ]
        estimate = CampaignEstimate(rest + _estimates_of_others(campaign, rows))
    return {
        "probes": [(row, probes.get(row.run.pk)) for row in waiting],
        "ended": ended,
        "is_silent": len(probes) < ended,
        "is_untaken": any(_is_untaken(run) for run in under_way),
        "estimate": estimate,
    }


def _estimates_of_others(campaign: Campaign, rows: list[RunRow]) -> list[RunEstimate]:
    if all(row.run.probe_first for row in rows):
        return []
    cells = campaigns.ready_after_probe(campaign)
    others = [cell for cell in cells if not cell.run.probe_first]
    return estimate_cells(others).rows


def _is_untaken(run: JudgeRun) -> bool:
    asked_at = run.touched_at or run.created_at
    return run.state == JudgeRun.State.QUEUED and asked_at < clock.now() - _UNTAKEN


@login_required
@require_POST
def change_all(request: HttpRequest, slug: str, campaign_id: str) -> HttpResponse:
    """Pause, resume or cancel all runs of a campaign."""
    study = get_study(request.user, slug, role=Membership.Role.EDITOR)
    campaign = get_campaign(study, campaign_id)
    user, action = cast(User, request.user), request.POST["action"]
    try:
        if action in _AFTER_PROBE:
            changed = _AFTER_PROBE[action](campaign_id=campaign.pk, user=user)
        else:
            changed = campaigns.change_campaign(
                campaign_id=campaign.pk, change=_CHANGES[action], user=user
            )
    except (JudgingError, StudyError) as error:
        messages.error(request, str(error))
    else:
        if not changed:
            messages.info(
                request, "Nothing was changed, because the state of the runs has changed meanwhile."
            )
    return redirect("judging:campaign", slug, campaign_id)
