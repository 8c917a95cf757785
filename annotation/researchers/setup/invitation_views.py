"""The page of invited ids: only for editors, and each change is logged."""

from typing import cast

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import User
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods

from annotation.errors import InvitationError
from annotation.models import Invitation
from annotation.services.admission.invitations import invite
from studies.models import Membership, Study
from studies.selectors import get_study

_REFUSED = 422


@require_http_methods(["GET", "POST"])
@login_required
def invitations(request: HttpRequest, slug: str) -> HttpResponse:
    """The list of invited ids: how many it has, and a box to add more."""
    study = get_study(request.user, slug, role=Membership.Role.EDITOR)
    if study.entry != Study.Entry.LIST:
        raise Http404("this study has no list")
    text = fault = ""
    if request.method == "POST":
        text = request.POST.get("ids", "")
        try:
            invited = invite(study_id=study.pk, text=text, user=cast(User, request.user))
        except InvitationError as error:
            fault = str(error)
        else:
            messages.success(
                request, f"Added: {invited.added:,}. Already on the list: {invited.known:,}."
            )
            return redirect("people:invitations", slug)
    on_list = Invitation.objects.filter(study=study)
    arrived = study.annotators.filter(is_imported=False).count()
    context = {
        "study": study,
        "text": text,
        "fault": fault,
        "invited": on_list.count(),
        "arrived": arrived,
        "link": f"{settings.PUBLIC_BASE_URL}{reverse('annotation:entry', args=[slug])}"
        "?PROLIFIC_PID=",
    }
    status = _REFUSED if fault else 200
    return render(request, "annotation/researcher/invitations.html", context, status=status)
