"""A study's analysis plan: write it, freeze it, read it."""

from typing import cast

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from analysis.data.plans import data_so_far, read_plan
from analysis.errors import AnalysisError
from analysis.lifecycle.plans import freeze_plan
from analysis.pages.forms import PlanForm
from analysis.report.analyses import ANALYSES
from studies.models.studies import Membership, Study
from studies.selectors import get_study, studies_for


@login_required
@require_http_methods(["GET", "POST"])
def plan(request: HttpRequest, slug: str) -> HttpResponse:
    """Show the frozen plan, or the form that freezes one."""
    study = get_study(request.user, slug)
    if request.method == "POST":
        return _freeze(request, get_study(request.user, slug, role=Membership.Role.EDITOR))
    return _page(request, study, PlanForm(study=study))


def _freeze(request: HttpRequest, study: Study) -> HttpResponse:
    form = PlanForm(request.POST, study=study)
    if form.is_valid():
        try:
            freeze_plan(study_id=study.pk, user=cast(User, request.user), **form.plan())
        except AnalysisError as error:
            form.add_error(None, str(error))
        else:
            messages.success(request, "Analysis plan frozen.")
            return redirect("analysis:plan", slug=study.slug)
    return _page(request, study, form, status=422)


def _page(request: HttpRequest, study: Study, form: PlanForm, status: int = 200) -> HttpResponse:
    row, found, tampered = getattr(study, "analysis_plan", None), None, ""
    try:
        found = read_plan(study)
    except AnalysisError as error:
        tampered = str(error)
    answers, judgments = data_so_far(study)
    may_freeze = studies_for(request.user, role=Membership.Role.EDITOR).filter(pk=study.pk)
    context = {
        "study": study,
        "plan": found,
        "planned": [
            label for code, label in ANALYSES.items() if found and code in found.content["analyses"]
        ],
        "row": row,
        "tampered": tampered,
        "form": form,
        "answers": answers,
        "judgments": judgments,
        "may_freeze": row is None and may_freeze.exists(),
    }
    return render(request, "analysis/plan.html", context, status=status)
