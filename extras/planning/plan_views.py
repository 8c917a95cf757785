"""The page of the whole plan, from which it is frozen at a press."""

from typing import Any, cast

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from analysis.data.frozen_plan import keeper
from analysis.errors import AnalysisError
from extras.planning import wording
from extras.planning.assumptions import PEOPLE, Assumptions, forecast_of, request_forecast
from extras.planning.sources import items_for_people
from extras.planning.whole_plan import WholePlan, freeze_whole_plan, frozen_content, whole_plan
from studies.jobs.retry import Retry
from studies.models import Membership, Study
from studies.pages.addressed import pressed
from studies.selectors import get_study, studies_for


class FreezeForm(forms.Form):
    judges = forms.MultipleChoiceField(
        label="Judges",
        required=False,
        widget=forms.CheckboxSelectMultiple,
        help_text="Each is asked all planned runs. Without judges, the plan is about people alone.",
    )
    hypotheses = forms.CharField(
        label="Hypotheses",
        required=False,
        widget=forms.Textarea(attrs={"rows": 3}),
        help_text="In your own words. The report quotes them.",
    )
    final = forms.BooleanField(
        label="I understand that I cannot change the plan after I freeze it",
        error_messages={"required": "Confirm that the plan is final."},
    )

    def __init__(self, *args: Any, plan: WholePlan, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        choices = [(row.judge, row.title) for row in plan.judges]
        self.fields["judges"].choices = choices  # type: ignore[attr-defined]


@login_required
@require_http_methods(["GET", "POST"])
def plan(request: HttpRequest, slug: str) -> HttpResponse:
    """Show the plan and its cost; a press computes the forecast or freezes the plan."""
    role = Membership.Role.EDITOR if request.method == "POST" else Membership.Role.VIEWER
    study = get_study(request.user, slug, role=role)
    whole, fault = whole_plan(study), ""
    if pressed(request, "do", "forecast", "freeze") == "forecast":
        try:
            assumed = Assumptions.of(study, items_there=items_for_people(study))
            request_forecast(study_id=study.pk, assumed=assumed, user=cast(User, request.user))
            return redirect("planning:plan", slug=slug)
        except AnalysisError as error:
            fault = str(error)
        return _page(request, study, whole, FreezeForm(plan=whole), fault)
    form = FreezeForm(request.POST or None, plan=whole)
    if form.is_valid():
        try:
            freeze_whole_plan(
                study=study,
                judges=form.cleaned_data["judges"],
                hypotheses=form.cleaned_data["hypotheses"],
                user=cast(User, request.user),
            )
        except AnalysisError as error:
            form.add_error(None, str(error))
        else:
            messages.success(request, "Plan frozen.")
            return redirect("planning:plan", slug=slug)
    return _page(request, study, whole, form, fault)


def _page(
    request: HttpRequest, study: Study, whole: WholePlan, form: FreezeForm, fault: str
) -> HttpResponse:
    job = forecast_of(study.pk)
    editors = studies_for(request.user, role=Membership.Role.EDITOR)
    context: dict[str, Any] = {
        "study": study,
        "plan": whole,
        "form": form,
        "fault": fault,
        "job": job,
        "retry": Retry(url=request.path),
        "frozen": frozen_content(study),
        "may_be_frozen": keeper() is not None,
        "groups": list(study.quota_groups.all()),
        "may_edit": editors.filter(pk=study.pk).exists(),
    }
    if job is not None and job.result:
        design = job.result["designs"][0]
        context |= {
            "designs": wording.what_ifs(job.result),
            "most_people": PEOPLE,
            "is_current": (design["items"], design["answers"])
            == (whole.people.items, whole.people.answers),
        }
    return render(
        request, "planning/plan.html", context, status=422 if fault or form.errors else 200
    )
