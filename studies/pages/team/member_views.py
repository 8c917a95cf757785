"""The members of a study and the invitations to it; owners change them."""

from collections.abc import Callable
from typing import cast

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import User
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.http import urlencode
from django.views.decorators.http import require_GET, require_POST

from studies.errors import StudyError
from studies.models import Membership, Study
from studies.pages.listing import role_of
from studies.pages.team.forms import InvitationForm, MemberForm
from studies.selectors import get_study, studies_for
from studies.services.accounts import team

_REFUSED = 422


@require_GET
@login_required
def members(request: HttpRequest, slug: str) -> HttpResponse:
    """List the members of the study, their roles and open invitations."""
    return _page(request, get_study(request.user, slug), InvitationForm())


def _page(
    request: HttpRequest, study: Study, form: InvitationForm, *, link: str = ""
) -> HttpResponse:
    """The team; `link` is that of a new invitation, which is shown this once."""
    may_change = role_of(request.user, study) == Membership.Role.OWNER
    found = study.memberships.select_related("user").order_by("created_at", "pk")
    owner = Membership.Role.OWNER
    context = {
        "study": study,
        "members": [
            (row, team.granted_by(study, row.user_id) if may_change and row.role == owner else [])
            for row in found
        ],
        "roles": Membership.Role.choices,
        "invitations": team.open_invitations(study).select_related("invited_by"),
        "may_change": may_change,
        "form": form,
        "link": link,
    }
    return render(request, "studies/team.html", context, status=_REFUSED if form.errors else 200)


@require_POST
@login_required
def invite(request: HttpRequest, slug: str) -> HttpResponse:
    """Make a link that invites one person."""
    study = get_study(request.user, slug, role=Membership.Role.OWNER)
    form = InvitationForm(request.POST)
    if not form.is_valid():
        return _page(request, study, form)
    try:
        _, secret = team.invite(study_id=study.pk, by=_user(request), **form.cleaned_data)
    except StudyError as error:
        form.add_error(None, str(error))
        return _page(request, study, form)
    address = f"{reverse('invitation')}?{urlencode({'secret': secret})}"
    return _page(request, study, InvitationForm(), link=settings.PUBLIC_BASE_URL + address)


@require_POST
@login_required
def withdraw(request: HttpRequest, slug: str) -> HttpResponse:
    """Withdraw an invitation."""
    study = get_study(request.user, slug, role=Membership.Role.OWNER)
    public_id = request.POST.get("invitation", "")
    if team.withdraw_invitation(study_id=study.pk, public_id=public_id, by=_user(request)):
        messages.success(request, "The invitation was withdrawn. Its link no longer works.")
    else:
        messages.warning(request, "The invitation was used or withdrawn already.")
    return redirect("studies:team", slug)


@require_POST
@login_required
def change_role(request: HttpRequest, slug: str) -> HttpResponse:
    """Change the role of a member."""

    def change(study: Study, user_id: int, role: str) -> str:
        member = team.set_role(
            study_id=study.pk, user_id=user_id, role=role, by=_user(request), keep=_kept(request)
        )
        return f"{member.user.get_username()} is {member.get_role_display()} now."

    return _changed(request, slug, change, needs_role=True)


@require_POST
@login_required
def remove(request: HttpRequest, slug: str) -> HttpResponse:
    """Remove a member."""

    def end(study: Study, user_id: int, role: str) -> str:
        team.remove_member(
            study_id=study.pk, user_id=user_id, by=_user(request), keep=_kept(request)
        )
        return "The member was removed."

    return _changed(request, slug, end)


@require_POST
@login_required
def hand_over(request: HttpRequest, slug: str) -> HttpResponse:
    """Make another member the owner."""

    def give(study: Study, user_id: int, role: str) -> str:
        kept = _kept(request)
        team.hand_over(study_id=study.pk, to=user_id, by=_user(request), keep=kept)
        return "The study was handed over. You are an editor of it now."

    return _changed(request, slug, give)


def _changed(
    request: HttpRequest,
    slug: str,
    change: Callable[[Study, int, str], str],
    *,
    needs_role: bool = False,
) -> HttpResponse:
    """Make one change to one member and show the outcome."""
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
    # An owner who removed themselves cannot open the team's page any more.
    is_member = studies_for(_user(request)).filter(pk=study.pk).exists()
    return redirect("studies:team", slug) if is_member else redirect("studies:list")


def _kept(request: HttpRequest) -> list[str]:
    """The keys of what a former owner has given out and what goes on working."""
    return request.POST.getlist("keep")


def _user(request: HttpRequest) -> User:
    return cast(User, request.user)
