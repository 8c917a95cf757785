"""The page of proposals: what agents ask for, with its cost, and the buttons that decide."""

from collections.abc import Iterator
from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.http import require_GET, require_POST

from extras.agents.models import Proposal
from extras.agents.proposals import (
    carry_out,
    cost_of,
    cost_seen,
    decline,
    obstacle_of,
    open_proposals,
    refusal_of,
)
from studies.models.studies import Membership, Study
from studies.pages.addressed import pressed
from studies.pages.listing import role_of
from studies.pages.workbench import Need, SectionPage
from studies.selectors import get_study
from studies.services.whole_studies import StudyContent

_DECIDED_SHOWN = 50


@require_GET
@login_required
def proposals(request: HttpRequest, slug: str) -> HttpResponse:
    """List what agents propose in the study, and what was decided."""
    study = get_study(request.user, slug)
    may_decide = role_of(request.user, study) != Membership.Role.VIEWER
    waiting = list(open_proposals(study).select_related("proposed_by", "study"))
    past = Proposal.objects.filter(study=study).exclude(pk__in=[one.pk for one in waiting])
    context = {
        "study": study,
        "may_decide": may_decide,
        "waiting": [_shown(request, one, may_decide=may_decide) for one in waiting],
        "past": past.select_related("decided_by")[:_DECIDED_SHOWN],
    }
    return render(request, "agents/proposals.html", context)


@require_POST
@login_required
def decide(request: HttpRequest, slug: str) -> HttpResponse:
    """Carry out or decline a proposal."""
    study = get_study(request.user, slug, role=Membership.Role.EDITOR)
    proposal = get_object_or_404(Proposal, study=study, public_id=request.POST.get("proposal"))
    try:
        if pressed(request, "decision", "carry out", "decline") == "carry out":
            carry_out(request, proposal, seen=request.POST.get("seen", ""))
            messages.success(request, f"{proposal.wording}: done.")
        else:
            decline(request, proposal)
            messages.success(request, "Declined. Nothing was started.")
    except Exception as error:
        if not (words := refusal_of(error)):
            raise
        messages.error(request, words)
    return redirect("agents:proposals", slug)


def _shown(request: HttpRequest, proposal: Proposal, *, may_decide: bool) -> dict[str, Any]:
    """A proposal with its cost, or with the reason why it cannot be carried out."""
    cost, obstacle = None, obstacle_of(proposal)
    if may_decide and not obstacle:
        try:
            cost = cost_of(request, proposal)
        except Exception as error:
            if not (obstacle := refusal_of(error)):
                raise
    return {
        "proposal": proposal,
        "cost": cost,
        "seen": cost_seen(cost),
        "obstacle": obstacle,
        "is_launch": proposal.body.get("state") == proposal.study.State.OPEN
        and proposal.study.state == proposal.study.State.DRAFT,
    }


def needs_of(study: Study) -> Iterator[Need]:
    if n := open_proposals(study).count():
        words = "1 proposal by an agent waits" if n == 1 else f"{n} proposals by agents wait"
        address = reverse("agents:proposals", args=[study.slug])
        yield Need(f"{words} for a decision.", address, "Decide")


def pages_of(study: Study) -> list[SectionPage]:
    return [SectionPage("settings", "Agents", reverse("agents:proposals", args=[study.slug]))]


def content_of(study: Study) -> StudyContent:
    n = Proposal.objects.filter(study=study).count()
    return StudyContent([("proposals by agents", n)] if n else [])
