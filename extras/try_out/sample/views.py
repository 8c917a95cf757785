"""The offer on the list of studies, and the two buttons: make the sample, and remove it."""

from typing import cast

from django.contrib import messages
from django.contrib.auth.decorators import login_required, permission_required
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_POST

from extras.try_out.sample import simulated
from studies.errors import StudyError
from studies.pages.workbench import ListPart


def _context(user: User) -> dict[str, object]:
    return {"sample": simulated.sample_of(user)}


OFFER = ListPart("sample", "sample/_offer.html", _context)


@require_POST
@login_required
@permission_required("studies.add_study", raise_exception=True)
def add(request: HttpRequest) -> HttpResponse:
    """Make the sample and open the page of its report, which shows how far a worker is."""
    try:
        report = simulated.add_sample(cast(User, request.user))
    except StudyError as error:
        messages.error(request, str(error))
        return redirect("studies:list")
    return redirect("analysis:report", report.study.slug, report.public_id)


@require_POST
@login_required
def remove(request: HttpRequest) -> HttpResponse:
    """Remove the sample of this user with all that belongs to it."""
    try:
        simulated.remove_sample(cast(User, request.user))
    except StudyError as error:
        messages.error(request, str(error))
    else:
        messages.success(request, "The sample and its report were removed.")
    return redirect("studies:list")
