"""The overview of a study: its set-up as a draft, its monitor afterwards, and its opening."""

from typing import Any, cast

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_GET, require_POST

from studies.errors import OpeningRefused, StudyError
from studies.models import Membership, Study
from studies.pages.forms import StateForm
from studies.pages.listing import role_of, study_figures
from studies.pages.workbench.monitor import monitor
from studies.pages.workbench.registry import launch_parts, once
from studies.pages.workbench.setup import setup
from studies.selectors import get_study
from studies.services.launch_checks import (
    open_draft,
    opening_note,
    registered_checks,
    sort_checks,
)
from studies.services.studies import StateNote
from studies.services.studies import change_state as set_state_everywhere
from studies.services.whole_studies.retention import planned


@require_GET
@login_required
def detail(request: HttpRequest, slug: str) -> HttpResponse:
    """A draft shows what to set up; a study that was opened shows its monitor."""
    study = get_study(request.user, slug)
    figures = study_figures(study)
    once(study, "items", lambda: figures.items)  # the navigation need not count them again
    context: dict[str, Any] = {
        "study": study,
        "figures": figures,
        "may_edit": _may_edit(request, study),
        "entry_url": settings.PUBLIC_BASE_URL + _entry(study),
        "deletions": [deletion for deletion in planned(study) if deletion.is_near],
        "log": study.log.select_related("user")[:10],
    }
    if study.state == Study.State.DRAFT:
        context["setup"] = setup(study)
    else:
        context["monitor"] = monitor(study, may_edit=context["may_edit"])
        context["note"] = opening_note(study)
    return render(request, "studies/detail.html", context)


@require_GET
@login_required
def monitor_panel(request: HttpRequest, slug: str) -> HttpResponse:
    """The monitor alone, which the overview fetches every few seconds."""
    study = get_study(request.user, slug)
    found = monitor(study, may_edit=_may_edit(request, study))
    return render(request, "studies/_monitor.html", {"study": study, "monitor": found})


@require_GET
@login_required
def next_step(request: HttpRequest, slug: str) -> HttpResponse:
    """Lead to the first task of the set-up that is not done."""
    study = get_study(request.user, slug)
    task = setup(study).next if study.state == Study.State.DRAFT else None
    return redirect(task.address if task else reverse("studies:detail", args=[slug]))


@require_GET
@login_required
def launch(request: HttpRequest, slug: str) -> HttpResponse:
    """The launch checks, and the form that opens the study."""
    study = get_study(request.user, slug)
    checks = sort_checks(registered_checks(study))
    context = {
        "study": study,
        "checks": checks,
        "may_edit": _may_edit(request, study),
        "parts": launch_parts.of(study),
    }
    return render(request, "studies/launch.html", context)


@require_POST
@login_required
def change_state(request: HttpRequest, slug: str) -> HttpResponse:
    """Open, pause or close; a draft opens only if its launch checks allow it."""
    study = get_study(request.user, slug, role=Membership.Role.EDITOR)
    form = StateForm(request.POST)
    if not form.is_valid():
        return HttpResponse("Choose open, paused or closed.", status=400, content_type="text/plain")
    user, state = cast(User, request.user), form.cleaned_data["state"]
    notes: list[StateNote] = []
    try:
        if study.state == Study.State.DRAFT and state == Study.State.OPEN:
            study = open_draft(study=study, reason=form.cleaned_data["reason"], user=user)
        else:
            study, notes = set_state_everywhere(study_id=study.pk, state=state, user=user)
    except OpeningRefused as error:
        messages.error(request, str(error))
        return redirect("studies:launch", slug)
    except StudyError as error:
        messages.error(request, str(error))
    else:
        messages.success(request, f"The study is {study.state}.")
        for note in notes:
            (messages.warning if note.is_problem else messages.success)(request, note.text)
    return redirect("studies:detail", slug)


def _may_edit(request: HttpRequest, study: Study) -> bool:
    return role_of(request.user, study) != Membership.Role.VIEWER


def _entry(study: Study) -> str:
    """The participants' address, with the placeholders that Prolific fills in."""
    path = reverse("annotation:entry", args=[study.slug])
    if study.entry != Study.Entry.PROLIFIC:
        return path
    names = ("PROLIFIC_PID", "STUDY_ID", "SESSION_ID")
    return path + "?" + "&".join(f"{name}={{{{%{name}%}}}}" for name in names)
