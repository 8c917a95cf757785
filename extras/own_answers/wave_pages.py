"""The researchers' page of waves: the series, the next wave, and invitations."""

from typing import Any, cast

from django import forms
from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST

from annotation.prolific.api.transport import ProlificError
from extras.own_answers.models import LaterWave
from extras.own_answers.waves import (
    WaveInvitations,
    invite_people,
    leave_series,
    next_wave,
    rows_of,
    series_of,
)
from extras.own_answers.waves_on_prolific import invite_on_prolific, longitudinal_project
from studies.errors import StudyError
from studies.models import Membership, Study
from studies.pages.new_study_form import NewStudyForm
from studies.pages.responses import REFUSED
from studies.pages.settings_views import MAY_CREATE
from studies.selectors import get_study, studies_for


class WaveForm(NewStudyForm):
    field_order = ("title",)

    title = forms.CharField(label="Title", max_length=200)
    items = forms.ChoiceField(
        label="Items",
        choices=[
            ("same", "The same items: each person gets those that they answered"),
            ("some", "Some of the items"),
            ("other", "Other items, which you import afterwards"),
        ],
        initial="same",
    )
    keys = forms.CharField(
        label="Ids of the items",
        required=False,
        widget=forms.Textarea(attrs={"rows": 4, "spellcheck": "false"}),
        help_text="Only for “Some of the items”, one per line.",
    )


class ProjectForm(forms.Form):
    """A longitudinal project on Prolific."""

    completions = forms.IntegerField(
        label="People who should complete the last wave", min_value=1, max_value=1_000_000
    )
    retention = forms.IntegerField(
        label="Expected to come back for each wave, in percent",
        min_value=1,
        max_value=100,
        initial=80,
    )


@require_http_methods(["GET", "POST"])
@login_required
def waves(request: HttpRequest, slug: str) -> HttpResponse:
    """Show the waves of a series; a POST creates the next one."""
    study = get_study(request.user, slug, role=Membership.Role.EDITOR)
    user = cast(User, request.user)
    if request.method == "POST" and not user.has_perm(MAY_CREATE):
        raise PermissionDenied
    first, later = series_of(study)
    number = later[-1].number + 1 if later else 2
    proposed = {
        "title": f"{first.title}: wave {number}"[:200],
        "slug": f"{first.slug[:50]}-{number}",
    }
    form = WaveForm(request.POST or None, initial=proposed)
    if form.is_valid():
        chosen = form.cleaned_data
        with form.refusals():
            new = next_wave(
                study_id=study.pk,
                slug=chosen["slug"],
                title=chosen["title"],
                items=chosen["items"],
                keys=chosen["keys"].split(),
                by=user,
            )
            messages.success(request, "The next wave is a draft. Check its consent and pay.")
            return redirect("own_people:waves", new.slug)
    mine = set(studies_for(user).values_list("pk", flat=True))
    own = next((wave for wave in later if wave.study_id == study.pk), None)
    entry = reverse("annotation:entry", args=[slug])
    context: dict[str, Any] = {
        "study": study,
        "rows": rows_of(first, later, may_see=lambda other: other.pk in mine),
        "form": form,
        "wave": own,
        "may_leave": own is not None
        and studies_for(user, role=Membership.Role.OWNER).filter(pk=study.pk).exists(),
        "on_prolific": study.entry == Study.Entry.PROLIFIC,
        "by_link": first.entry == Study.Entry.LINK,
        "link": f"{settings.PUBLIC_BASE_URL}{entry}?PROLIFIC_PID=",
        "may_create": user.has_perm(MAY_CREATE),
        "project_form": ProjectForm() if _may_have_project(study, own) else None,
    }
    status = REFUSED if form.errors else 200
    return render(request, "annotation/researcher/waves.html", context, status=status)


def _may_have_project(study: Study, own: LaterWave | None) -> bool:
    """Whether it is a first wave that is not on Prolific yet."""
    is_there = study.prolific_studies.exists()
    return study.entry == Study.Entry.PROLIFIC and own is None and not is_there


@require_POST
@login_required
def project(request: HttpRequest, slug: str) -> HttpResponse:
    """Create a longitudinal project on Prolific, for this study and its later waves."""
    study = get_study(request.user, slug, role=Membership.Role.EDITOR)
    form = ProjectForm(request.POST)
    if not form.is_valid():
        for field, errors in form.errors.get_json_data().items():
            sentences = " ".join(fault["message"] for fault in errors)
            messages.error(request, f"{form.fields[field].label}: {sentences}")
        return redirect("own_people:waves", slug)
    try:
        title = longitudinal_project(
            study_id=study.pk, user=cast(User, request.user), **form.cleaned_data
        )
    except ProlificError as error:
        messages.error(request, str(error))
    else:
        messages.success(request, f"The launch plan names the longitudinal project “{title}”.")
    return redirect("own_people:waves", slug)


@require_POST
@login_required
def invite(request: HttpRequest, slug: str) -> HttpResponse:
    """Invite everybody who completed the first wave, or those who did since."""
    study = get_study(request.user, slug, role=Membership.Role.EDITOR)
    wave = LaterWave.objects.filter(study=study).first()
    if wave is None:
        raise Http404("this study is no later wave")
    to = invite_on_prolific if study.entry == Study.Entry.PROLIFIC else invite_people
    try:
        invitations = to(wave_id=wave.pk, user=cast(User, request.user))
    except (StudyError, ProlificError) as error:
        messages.error(request, str(error))
    else:
        messages.success(request, _told(invitations))
    return redirect("own_people:waves", slug)


@require_POST
@login_required
def leave(request: HttpRequest, slug: str) -> HttpResponse:
    """Take a later wave out of its series, once the box is ticked."""
    study = get_study(request.user, slug, role=Membership.Role.OWNER)
    if not LaterWave.objects.filter(study=study).exists():
        raise Http404("this study is no later wave")
    if "sure" not in request.POST:
        messages.error(request, "Tick the box first. Nothing was changed.")
        return redirect(f"{reverse('own_people:waves', args=[slug])}#leave-heading")
    try:
        leave_series(study_id=study.pk, user=cast(User, request.user))
    except StudyError as error:
        messages.error(request, str(error))
    else:
        messages.success(request, "This study is no longer part of a series.")
    return redirect("own_people:waves", slug)


def _told(invitations: WaveInvitations) -> str:
    lost = ""
    if invitations.unreachable:
        lost = f" Without an id here, so not invited: {invitations.unreachable:,}."
    return f"Invited: {invitations.added:,}. Already invited: {invitations.known:,}.{lost}"
