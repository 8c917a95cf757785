"""Pages about a study's team, and the study as a whole."""

import datetime as dt
from collections.abc import Callable
from typing import Any, cast

from django import forms
from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied, ValidationError
from django.core.validators import validate_slug
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.http import urlencode
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from studies.errors import StaleVersion, StudyError
from studies.models import Membership, Retention, Study
from studies.pages.listing import role_of
from studies.pages.responses import REFUSED, whole_number
from studies.pages.settings_views import MAY_CREATE
from studies.selectors import get_study, studies_for
from studies.services import whole_studies as archives
from studies.services.accounts import team
from studies.services.whole_studies import (
    backups_sentence,
    content_of,
    copy_study,
    delete_study,
    planned,
    seen_dates,
    set_retention,
)
from studies.statements import clock

_ROLES = [
    (Membership.Role.VIEWER, "Viewer: reads everything"),
    (Membership.Role.EDITOR, "Editor: changes the study and asks people and judges"),
    (Membership.Role.OWNER, "Owner: also changes the team and deletes the study"),
]


class InvitationForm(forms.Form):
    role = forms.ChoiceField(label="Role", choices=_ROLES)
    note = forms.CharField(
        label="Whom is it for?",
        max_length=200,
        required=False,
        help_text="Only your team sees this.",
    )


class MemberForm(forms.Form):
    """A member, and the new role if one is set."""

    user = forms.IntegerField()
    role = forms.ChoiceField(choices=Membership.Role.choices, required=False)


class CopyForm(forms.Form):
    title = forms.CharField(label="Title", max_length=200)
    slug = forms.CharField(
        label="Short name",
        max_length=60,
        validators=[validate_slug],
        help_text="Part of the study’s addresses: letters, digits, - and _.",
    )
    with_items = forms.BooleanField(
        label="With the items, practice items and attention checks", required=False
    )


class RetentionForm(forms.Form):
    identities_days = forms.IntegerField(
        label="Delete the platform’s ids this many days after closing",
        required=False,
        min_value=1,
        max_value=3650,
        help_text="Leave empty to keep them. Answers stay, under pseudonyms. Pay participants "
        "first.",
    )
    delete_on = forms.DateField(
        label="Delete the study with everything in it on",
        required=False,
        widget=forms.DateInput(attrs={"type": "date"}),
        help_text="Leave empty to keep it. It is deleted on that day if it is closed.",
    )

    def clean_delete_on(self) -> dt.date | None:
        on: dt.date | None = self.cleaned_data["delete_on"]
        if on is not None and on <= clock.now().date():
            raise forms.ValidationError("This day is not in the future. Choose a later day.")
        return on


class DeletionForm(forms.Form):
    confirmation = forms.CharField(label="Short name of the study")

    def __init__(self, *args: Any, study: Study, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._slug = study.slug
        self.fields["confirmation"].label = f"Type “{study.slug}” to confirm"
        self.fields["confirmation"].widget.attrs["autocomplete"] = "off"

    def clean_confirmation(self) -> str:
        typed: str = self.cleaned_data["confirmation"]
        if typed != self._slug:
            raise forms.ValidationError(
                f"This is not the short name. Type “{self._slug}”. Nothing was deleted."
            )
        return typed


@require_GET
@login_required
def members(request: HttpRequest, slug: str) -> HttpResponse:
    """List the members of the study, their roles and open invitations."""
    return _team_page(request, get_study(request.user, slug), InvitationForm())


def _team_page(
    request: HttpRequest, study: Study, form: InvitationForm, *, link: str = ""
) -> HttpResponse:
    """The team; `link` is that of a new invitation, shown only once."""
    may_change = role_of(request.user, study) == Membership.Role.OWNER
    memberships = study.memberships.select_related("user").order_by("created_at", "pk")
    owner = Membership.Role.OWNER
    context = {
        "study": study,
        "members": [
            (row, team.granted_by(study, row.user_id) if may_change and row.role == owner else [])
            for row in memberships
        ],
        "roles": Membership.Role.choices,
        "invitations": team.open_invitations(study).select_related("invited_by"),
        "may_change": may_change,
        "form": form,
        "link": link,
    }
    return render(request, "studies/team.html", context, status=REFUSED if form.errors else 200)


@require_POST
@login_required
def invite(request: HttpRequest, slug: str) -> HttpResponse:
    """Create a link that invites one person."""
    study = get_study(request.user, slug, role=Membership.Role.OWNER)
    form = InvitationForm(request.POST)
    if not form.is_valid():
        return _team_page(request, study, form)
    try:
        _, secret = team.invite(study_id=study.pk, by=_user(request), **form.cleaned_data)
    except StudyError as error:
        form.add_error(None, str(error))
        return _team_page(request, study, form)
    address = f"{reverse('invitation')}?{urlencode({'secret': secret})}"
    return _team_page(request, study, InvitationForm(), link=settings.PUBLIC_BASE_URL + address)


@require_POST
@login_required
def withdraw(request: HttpRequest, slug: str) -> HttpResponse:
    """Withdraw an invitation."""
    study = get_study(request.user, slug, role=Membership.Role.OWNER)
    public_id = request.POST.get("invitation", "")
    if team.withdraw_invitation(study_id=study.pk, public_id=public_id, by=_user(request)):
        messages.success(request, "The invitation was withdrawn. Its link no longer works.")
    else:
        messages.warning(request, "The invitation has already been used or withdrawn.")
    return redirect("studies:team", slug)


@require_POST
@login_required
def change_role(request: HttpRequest, slug: str) -> HttpResponse:
    """Change the role of a member."""

    def change(study: Study, user_id: int, role: str) -> str:
        member = team.set_role(
            study_id=study.pk,
            user_id=user_id,
            role=role,
            by=_user(request),
            keep=request.POST.getlist("keep"),
        )
        return f"{member.user.get_username()} is {member.get_role_display()} now."

    return _changed(request, slug, change, needs_role=True)


@require_POST
@login_required
def remove(request: HttpRequest, slug: str) -> HttpResponse:
    """Remove a member."""

    def end(study: Study, user_id: int, role: str) -> str:
        team.remove_member(
            study_id=study.pk, user_id=user_id, by=_user(request), keep=request.POST.getlist("keep")
        )
        return "The member was removed."

    return _changed(request, slug, end)


class HandOverForm(forms.Form):
    """Who leaves, who takes over, and what becomes of who leaves."""

    leaving = forms.IntegerField(required=False)
    user = forms.IntegerField(error_messages={"required": "Choose who takes over."})
    afterwards = forms.ChoiceField(
        choices=[("editor", "Editor"), ("viewer", "Viewer"), ("none", "Not a member")],
        required=False,
    )


@require_http_methods(["GET", "POST"])
@login_required
def hand_over(request: HttpRequest, slug: str) -> HttpResponse:
    """Make another member the owner, with everything that belongs to who leaves."""
    study = get_study(request.user, slug, role=Membership.Role.OWNER)
    if request.method == "GET":
        return _hand_over_page(request, study)
    form = HandOverForm(request.POST)
    if not form.is_valid():
        messages.error(request, "Choose who takes over.")
        return redirect("studies:team-hand-over", slug)
    chosen = form.cleaned_data
    leaving, me = chosen["leaving"] or _user(request).pk, _user(request)
    afterwards = chosen["afterwards"] or "editor"
    try:
        team.hand_over(
            study_id=study.pk,
            to=chosen["user"],
            by=me,
            keep=request.POST.getlist("keep"),
            leaving=leaving,
            afterwards="" if afterwards == "none" else afterwards,
            also=[pk for number in request.POST.getlist("also") if (pk := whole_number(number))],
        )
    except Membership.DoesNotExist:
        raise Http404("not a member") from None
    except StudyError as error:
        messages.error(request, str(error))
        return redirect("studies:team-hand-over", slug)
    if leaving == me.pk:
        now = "no member of it" if afterwards == "none" else f"{_A[afterwards]} of it"
        messages.success(request, f"The study was handed over. You are {now} now.")
    else:
        messages.success(request, "The study was handed over.")
    is_member = studies_for(me).filter(pk=study.pk).exists()
    return redirect("studies:team", slug) if is_member else redirect("studies:list")


_A = {"editor": "an editor", "viewer": "a viewer"}


def _hand_over_page(request: HttpRequest, study: Study) -> HttpResponse:
    """Everything that belongs to one member and works through them, ticked to be handed over."""
    people = list(study.memberships.select_related("user").order_by("created_at", "pk"))
    asked = whole_number(request.GET.get("leaving", ""))
    own = [row for row in people if row.role == Membership.Role.OWNER]
    leaving = next((row for row in people if row.user_id == (asked or request.user.pk)), None)
    leaving = leaving or next(iter(own), None)
    together = (
        team.staying_behind(study, leaving=leaving.user_id, by=_user(request)) if leaving else []
    )
    context = {
        "study": study,
        "members": people,
        "leaving": leaving,
        "heirs": [r for r in people if r.user.is_active and leaving and r.pk != leaving.pk],
        "grants": team.granted_by(study, leaving.user_id) if leaving else [],
        "tokens": leaving.user.access_tokens.filter(expires_at__gt=clock.now()) if leaving else [],
        "planned": planned(study),
        "together": together,
        "is_me": leaving is not None and leaving.user_id == request.user.pk,
    }
    return render(request, "studies/hand_over.html", context)


def _changed(
    request: HttpRequest,
    slug: str,
    change: Callable[[Study, int, str], str],
    *,
    needs_role: bool = False,
) -> HttpResponse:
    study = get_study(request.user, slug, role=Membership.Role.OWNER)
    form = MemberForm(request.POST)
    if not form.is_valid() or (needs_role and not form.cleaned_data["role"]):
        return HttpResponse("Choose a member and a role.", status=400, content_type="text/plain")
    try:
        done = change(study, form.cleaned_data["user"], form.cleaned_data["role"])
    except Membership.DoesNotExist:
        raise Http404("not a member") from None
    except StudyError as error:
        messages.error(request, str(error))
    else:
        messages.success(request, done)
    # Owners who removed themselves can no longer open the team page.
    is_member = studies_for(_user(request)).filter(pk=study.pk).exists()
    return redirect("studies:team", slug) if is_member else redirect("studies:list")


@require_GET
@login_required
def whole_study(request: HttpRequest, slug: str) -> HttpResponse:
    """Copy, archive or delete the study."""
    return _whole_study_page(request, get_study(request.user, slug))


def _whole_study_page(
    request: HttpRequest,
    study: Study,
    *,
    copying: CopyForm | None = None,
    deletion: DeletionForm | None = None,
    keeping: RetentionForm | None = None,
) -> HttpResponse:
    proposed = {"title": f"Copy of {study.title}"[:200], "slug": f"{study.slug}-copy"[:60]}
    errors = any(form is not None and form.errors for form in (copying, deletion, keeping))
    dates = Retention.objects.filter(study=study).values("identities_days", "delete_on")
    context = {
        "seen": seen_dates(study),  # Read before the dates, so that a change in between is noticed.
        "study": study,
        "copying": copying or CopyForm(initial=proposed | {"with_items": True}),
        "deletion": deletion or DeletionForm(study=study),
        "keeping": keeping or RetentionForm(initial=dict(dates.first() or {})),
        "planned": planned(study),
        "backups": backups_sentence(study),
        "content": content_of(study),
        "may_copy": _user(request).has_perm(MAY_CREATE),
        "is_owner": role_of(request.user, study) == Membership.Role.OWNER,
    }
    status = REFUSED if errors else 200
    return render(request, "studies/whole_study.html", context, status=status)


@require_POST
@login_required
def copy(request: HttpRequest, slug: str) -> HttpResponse:
    """Copy the study into a draft of this user; viewers may do so too."""
    study = get_study(request.user, slug)
    user = _user(request)
    if not user.has_perm(MAY_CREATE):
        raise PermissionDenied
    form = CopyForm(request.POST)
    if form.is_valid():
        try:
            # A copy has no answers, so nobody in it is simulated yet.
            new = copy_study(study_id=study.pk, by=user, is_simulated=False, **form.cleaned_data)
        except StudyError as error:
            form.add_error("slug", str(error))
        except ValidationError as error:
            form.add_error("slug", " ".join(error.messages))
        else:
            messages.success(request, "The copy is a draft without answers.")
            return redirect("studies:detail", new.slug)
    return _whole_study_page(request, study, copying=form)


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


@require_POST
@login_required
def retention(request: HttpRequest, slug: str) -> HttpResponse:
    """Store the dates on which data of the study is deleted."""
    study = get_study(request.user, slug, role=Membership.Role.OWNER)
    form = RetentionForm(request.POST)
    if not form.is_valid():
        return _whole_study_page(request, study, keeping=form)
    try:
        set_retention(
            study_id=study.pk,
            seen=request.POST.get("seen"),
            user=_user(request),
            **form.cleaned_data,
        )
    except StaleVersion as error:
        form.add_error(None, str(error))
        return _whole_study_page(request, study, keeping=form)
    messages.success(request, "Dates saved.")
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
    return _whole_study_page(request, study, deletion=form)


def _user(request: HttpRequest) -> User:
    return cast(User, request.user)
