"""A study's judges: how far their runs are, what they cost, and every reply beside its reading."""

import hashlib
from dataclasses import dataclass, replace
from typing import Any, cast

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import User
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from judging.errors import JudgingError
from judging.forms import CampaignForm, JudgmentFilter
from judging.models import Judge, JudgeRun, Judgment
from judging.selectors import (
    campaign_progress,
    campaign_use,
    get_campaign,
    get_run,
    judgments_page,
    last_requests,
    run_cost,
    run_progress,
    run_rows,
    speeds_of,
)
from judging.services.campaigns import change_campaign, start_campaign
from judging.services.estimates import estimate_plan
from judging.services.runs import cancel_run, pause_run, resume_run, retry_failed
from studies.errors import StudyError
from studies.models import Membership, Study
from studies.prompts import build_prompt
from studies.selectors import get_study, studies_for

PER_PAGE = 20
_ACTIONS = {"pause": pause_run, "resume": resume_run, "cancel": cancel_run, "retry": retry_failed}


@dataclass(frozen=True)
class ShownJudgment:
    """A judgment with the text that was sent for it, rebuilt."""

    judgment: Judgment
    prompt: str
    prompt_differs: bool


@login_required
@require_GET
def panel(request: HttpRequest, slug: str) -> HttpResponse:
    """The part of a study's home that is about judges."""
    study = get_study(request.user, slug)
    context = {
        "study": study,
        "rows": run_rows(study),
        "campaigns": study.campaigns.all(),
        "has_judges": Judge.objects.exists(),
        "may_edit": _may_edit(request, slug),
    }
    return render(request, "judging/_panel.html", context)


@login_required
@require_http_methods(["GET", "POST"])
def new_campaign(request: HttpRequest, slug: str) -> HttpResponse:
    """Plan a campaign, see what it will take, start it; nothing is asked before that was seen."""
    study = get_study(request.user, slug, role=Membership.Role.EDITOR)
    like = get_campaign(study, request.GET["like"]) if "like" in request.GET else None
    form = CampaignForm(study, request.POST or None, name=_free_name(study), like=like)
    estimate = None
    if form.is_valid():
        try:
            plan = form.plan()
            estimate = estimate_plan(study, plan)
            if "start" in request.POST:
                if request.POST["start"] == "one":
                    plan = replace(plan, limit=1)
                user = cast(User, request.user)
                campaign = start_campaign(study_id=study.pk, plan=plan, user=user)
                return redirect("judging:campaign", slug, campaign.public_id)
        except (JudgingError, StudyError) as error:
            form.add_error(None, str(error))
    context = {"study": study, "form": form, "estimate": estimate, "like": like}
    return render(request, "judging/new.html", context, status=422 if form.errors else 200)


def _free_name(study: Study) -> str:
    return f"Campaign {study.campaigns.count() + 1}"


@login_required
@require_GET
def campaign_page(
    request: HttpRequest, slug: str, campaign_id: str, *, template: str
) -> HttpResponse:
    """A campaign as a page, or as the part of it that is fetched again while runs go on."""
    study = get_study(request.user, slug)
    campaign = get_campaign(study, campaign_id)
    rows = run_rows(study, campaign=campaign)
    context = {
        "study": study,
        "campaign": campaign,
        "progress": campaign_progress(campaign),
        "use": campaign_use(campaign),
        "rows": rows,
        "is_active": any(row.run.is_active for row in rows),
        "is_resumable": any(row.run.is_resumable for row in rows),
        "juries": study.juries.filter(name__in=campaign.plan["juries"]).prefetch_related("judges"),
        "may_edit": _may_edit(request, slug),
    }
    return render(request, template, context)


@login_required
@require_GET
def run_page(request: HttpRequest, slug: str, run_id: str) -> HttpResponse:
    study = get_study(request.user, slug)
    run = get_run(study, run_id)
    form = JudgmentFilter(request.GET)
    chosen = form.cleaned_data if form.is_valid() else {"state": "", "search": ""}
    judgments = judgments_page(run, state=chosen["state"], query=chosen["search"])
    page = Paginator(judgments, PER_PAGE).get_page(request.GET.get("page"))
    context = _run_context(request, study, run) | {
        "form": form,
        "chosen": chosen,
        "page": page,
        "shown": [_shown(study, run, judgment) for judgment in page],
    }
    return render(request, "judging/run.html", context)


@login_required
@require_GET
def run_panel(request: HttpRequest, slug: str, run_id: str) -> HttpResponse:
    """The part of a run's page that is fetched again while it goes on."""
    study = get_study(request.user, slug)
    context = _run_context(request, study, get_run(study, run_id))
    return render(request, "judging/_run.html", context)


def _run_context(request: HttpRequest, study: Study, run: JudgeRun) -> dict[str, Any]:
    return {
        "study": study,
        "run": run,
        "progress": run_progress(run),
        "speed": speeds_of([run]).get(run.pk, 0),
        "cost": run_cost(run),
        "last_requests": last_requests(run) if run.is_active else (),
        "may_edit": _may_edit(request, study.slug),
    }


@login_required
@require_POST
def change_run(request: HttpRequest, slug: str, run_id: str, action: str) -> HttpResponse:
    """Change what a run does; a viewer gets the 404 of somebody who may not know it."""
    study = get_study(request.user, slug, role=Membership.Role.EDITOR)
    run = get_run(study, run_id)
    if not _ACTIONS[action](run_id=run.pk, user=cast(User, request.user)):
        messages.info(request, "Nothing to do: the run is in another state by now.")
    return redirect("judging:run", slug, run_id)


@login_required
@require_POST
def change_all(request: HttpRequest, slug: str, campaign_id: str, action: str) -> HttpResponse:
    """Change what all runs of a campaign do."""
    study = get_study(request.user, slug, role=Membership.Role.EDITOR)
    campaign = get_campaign(study, campaign_id)
    user = cast(User, request.user)
    if not change_campaign(campaign_id=campaign.pk, change=_ACTIONS[action], user=user):
        messages.info(request, "Nothing to do: the runs are in another state by now.")
    return redirect("judging:campaign", slug, campaign_id)


def _may_edit(request: HttpRequest, slug: str) -> bool:
    editors = studies_for(request.user, role=Membership.Role.EDITOR)
    return editors.filter(slug=slug).exists()


def _shown(study: Study, run: JudgeRun, judgment: Judgment) -> ShownJudgment:
    if run.is_imported or not judgment.shown_first:
        return ShownJudgment(judgment, "", False)
    judgment.item.study = study  # spares a query per item
    prompt = build_prompt(
        judgment.item,
        setting=run.setting,
        shown_first=judgment.shown_first,
        features=run.feature_keys,
    )
    digest = hashlib.sha256(prompt.encode()).hexdigest()
    return ShownJudgment(judgment, prompt, judgment.prompt_sha256 not in ("", digest))
