"""The page about second visits: how many are due, and how to bring people back on Prolific."""

from typing import cast

from django.conf import settings
from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import User
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_GET, require_POST

from annotation.prolific.launch.launch_plan import with_ids
from annotation.seats.completion_codes import second_visit_code
from annotation.services.retests import pids_due, visits_of
from studies.models import Membership, Study
from studies.pages.listing import role_of
from studies.selectors import get_study


@require_GET
@login_required
def second_visits(request: HttpRequest, slug: str) -> HttpResponse:
    """Show how many second visits are due, and the address and code for a study on Prolific."""
    study = _study(request, slug, Membership.Role.EDITOR)
    context = {"study": study, "visits": visits_of(study)}
    if study.entry == Study.Entry.PROLIFIC:
        path = reverse("annotation:retest", args=[study.slug])
        context |= {
            "address": with_ids(f"{settings.PUBLIC_BASE_URL}{path}"),
            "code": second_visit_code(study.pk),
            "may_download": role_of(request.user, study) == Membership.Role.OWNER,
        }
    return render(request, "annotation/researcher/second_visits.html", context)


@require_POST
@login_required
def due_ids(request: HttpRequest, slug: str) -> HttpResponse:
    """Download the Prolific ids of those who are due, one in each line, for owners."""
    study = _study(request, slug, Membership.Role.OWNER)
    pids = pids_due(study_id=study.pk, user=cast(User, request.user))
    response = HttpResponse(
        "".join(f"{pid}\n" for pid in pids), content_type="text/plain; charset=utf-8"
    )
    response["Content-Disposition"] = f'attachment; filename="{study.slug}-second-visits.txt"'
    return response


def _study(request: HttpRequest, slug: str, role: str) -> Study:
    study = get_study(request.user, slug, role=role)
    if not study.asks_own_answers:
        raise Http404("only people who answer for themselves are asked again")
    return study
