"""Copy, archive or delete a whole study."""

from typing import Any, cast

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied, ValidationError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_GET, require_POST

from studies.errors import StaleVersion, StudyError
from studies.models import Membership, Retention, Study
from studies.pages.listing import role_of
from studies.pages.settings_views import MAY_CREATE
from studies.pages.team.forms import CopyForm, DeletionForm, RetentionForm
from studies.selectors import get_study
from studies.services.whole_studies import archive as archives
from studies.services.whole_studies.copies import copy_study
from studies.services.whole_studies.removal import content_of, delete_study
from studies.services.whole_studies.retention import (
    backups_sentence,
    planned,
    seen_dates,
    set_retention,
)

_REFUSED = 422


@require_GET
@login_required
def whole_study(request: HttpRequest, slug: str) -> HttpResponse:
    """Copy, archive or delete the study."""
    return _page(request, get_study(request.user, slug))


def _page(
    request: HttpRequest,
    study: Study,
    *,
    copying: CopyForm | None = None,
    deletion: DeletionForm | None = None,
    keeping: RetentionForm | None = None,
) -> HttpResponse:
    proposed = {"title": f"Copy of {study.title}"[:200], "slug": f"{study.slug}-copy"[:60]}
    errors = any(form is not None and form.errors for form in (copying, deletion, keeping))
    context = {
        "seen": seen_dates(study),  # Before the dates are read.
        "study": study,
        "copying": copying or CopyForm(initial=proposed | {"with_items": True}),
        "deletion": deletion or DeletionForm(study=study),
        "keeping": keeping or RetentionForm(initial=_kept(study)),
        "planned": planned(study),
        "backups": backups_sentence(study),
        "content": content_of(study),
        "may_copy": _user(request).has_perm(MAY_CREATE),
        "is_owner": role_of(request.user, study) == Membership.Role.OWNER,
    }
    status = _REFUSED if errors else 200
    return render(request, "studies/whole_study.html", context, status=status)


@require_POST
@login_required
def copy(request: HttpRequest, slug: str) -> HttpResponse:
    """Copy the study into a draft of this user, who may have to be no more than a viewer."""
    study = get_study(request.user, slug)
    user = _user(request)
    if not user.has_perm(MAY_CREATE):
        raise PermissionDenied
    form = CopyForm(request.POST)
    if form.is_valid():
        try:
            made = copy_study(study_id=study.pk, by=user, **form.cleaned_data)
        except StudyError as error:
            form.add_error("slug", str(error))
        except ValidationError as error:
            form.add_error("slug", " ".join(error.messages))
        else:
            messages.success(request, "The copy is a draft without answers.")
            return redirect("studies:detail", made.slug)
    return _page(request, study, copying=form)


@require_POST
@login_required
def archive(request: HttpRequest, slug: str) -> HttpResponse:
    """Archive the study, or take it out of the archive."""
    study = get_study(request.user, slug, role=Membership.Role.OWNER)
    try:
        if study.archived_at is None:
            archives.archive(study_id=study.pk, by=_user(request))
            messages.success(request, "The study is archived. The list of studies hides it.")
        else:
            archives.restore(study_id=study.pk, by=_user(request))
            messages.success(request, "The study is in the list of studies again.")
    except StudyError as error:
        messages.error(request, str(error))
    return redirect("studies:whole", slug)


def _kept(study: Study) -> dict[str, Any]:
    rows = Retention.objects.filter(study=study)
    return dict(rows.values("identities_days", "delete_on").first() or {})


@require_POST
@login_required
def retention(request: HttpRequest, slug: str) -> HttpResponse:
    """Store on which dates data of the study is deleted."""
    study = get_study(request.user, slug, role=Membership.Role.OWNER)
    form = RetentionForm(request.POST)
    if not form.is_valid():
        return _page(request, study, keeping=form)
    try:
        set_retention(
            study_id=study.pk,
            seen=request.POST.get("seen"),
            user=_user(request),
            **form.cleaned_data,
        )
    except StaleVersion as error:
        form.add_error(None, str(error))
        return _page(request, study, keeping=form)
    messages.success(request, "The dates are stored.")
    return redirect("studies:whole", slug)


@require_POST
@login_required
def delete(request: HttpRequest, slug: str) -> HttpResponse:
    """Delete the study with everything in it, after its short name was typed."""
    study = get_study(request.user, slug, role=Membership.Role.OWNER)
    form = DeletionForm(request.POST, study=study)
    if form.is_valid():
        try:
            delete_study(study_id=study.pk, by=_user(request))
        except StudyError as error:
            form.add_error(None, str(error))
        else:
            messages.success(request, f"“{study.title}” was deleted.")
            return redirect("studies:list")
    return _page(request, study, deletion=form)


def _user(request: HttpRequest) -> User:
    return cast(User, request.user)
