"""The pages of a plan: the form that freezes one, the frozen plan, and the deviations from it."""

from dataclasses import asdict
from typing import Any, cast

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import User
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods

from analysis.errors import AnalysisError, BadParameters
from analysis.lifecycle.storage import BOOTSTRAP_RANGE, SEED_RANGE, registered
from analysis.report.rules import analysis_titles
from extras.frozen_plans.deviation_list import (
    LONGEST_REASON,
    deviations_as_json,
    deviations_as_text,
    explain_deviation,
    listed_deviations,
)
from extras.frozen_plans.deviations import effect_words
from extras.frozen_plans.freezing import MARGIN_RANGE, freeze_plan, parse_judge
from extras.frozen_plans.models import AnalysisPlan
from extras.frozen_plans.plans import data_so_far, read_plan
from studies.models import Membership, Study
from studies.pages.workbench import SectionPage
from studies.selectors import get_study, studies_for


def pages_of(study: Study) -> list[SectionPage]:
    plan, deviations = (
        reverse(f"frozen_plans:{name}", args=[study.slug]) for name in ("plan", "deviations")
    )
    return [
        SectionPage("report", "Analysis plan", plan),
        SectionPage("report", "Deviations", deviations, once="judges"),
    ]


class PlanForm(forms.Form):
    """An analysis plan; the service checks that its values fit together."""

    hypotheses = forms.CharField(
        label="Hypotheses",
        required=False,
        widget=forms.Textarea(attrs={"rows": 4}),
        help_text="In your own words. The report quotes them.",
    )
    analyses = forms.MultipleChoiceField(
        label="Analyses",
        choices=lambda: list(analysis_titles().items()),
        widget=forms.CheckboxSelectMultiple,
        help_text="The report marks all other analyses as explored.",
        error_messages={"required": "Choose at least one analysis."},
    )
    judges = forms.CharField(
        label="Judge runs",
        required=False,
        widget=forms.Textarea(attrs={"rows": 4}),
        help_text="One per line: NAME or NAME : SETTING : FEATURES : WORDING : FRAMING. SETTING is "
        "standard, certainty (default) or another setting. FEATURES is all (default), none or the "
        "name of a feature set. WORDING is a wording of the study, as name@version.",
    )
    threshold = forms.IntegerField(label="High-certainty threshold", min_value=1, max_value=100)
    margin = forms.FloatField(
        label="Equivalence margin",
        min_value=MARGIN_RANGE[0],
        max_value=MARGIN_RANGE[1],
        help_text="The largest difference in accuracy that counts as comparable. 0.05 is five "
        "percentage points.",
    )
    exclusions = forms.CharField(
        label="Rule for excluding annotators",
        required=False,
        widget=forms.Textarea(attrs={"rows": 3}),
        help_text="State the rule before you know whom it excludes. Leave empty for none.",
    )
    bootstrap = forms.IntegerField(
        label="Resamples", min_value=BOOTSTRAP_RANGE[0], max_value=BOOTSTRAP_RANGE[1]
    )
    seed = forms.IntegerField(label="Seed", min_value=SEED_RANGE[0], max_value=SEED_RANGE[1])
    final = forms.BooleanField(
        label="I understand that I cannot change the plan after I freeze it",
        error_messages={"required": "Confirm that the plan is final."},
    )

    def __init__(self, *args: Any, study: Study, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        own = registered(study)
        self.initial = {**asdict(own), **self.initial}

    def clean_judges(self) -> list[dict[str, str]]:
        try:
            lines = self.cleaned_data["judges"].splitlines()
            return [parse_judge(line) for line in lines if line.strip()]
        except BadParameters as error:
            raise forms.ValidationError(str(error)) from None

    def plan(self) -> dict[str, Any]:
        return {key: value for key, value in self.cleaned_data.items() if key != "final"}


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
            return redirect("frozen_plans:plan", slug=study.slug)
    return _page(request, study, form, status=422)


def _page(request: HttpRequest, study: Study, form: PlanForm, status: int = 200) -> HttpResponse:
    row, plan, tampered = AnalysisPlan.objects.filter(study=study).first(), None, ""
    try:
        plan = read_plan(study)
    except AnalysisError as error:
        tampered = str(error)
    answers, judgments = data_so_far(study)
    may_freeze = studies_for(request.user, role=Membership.Role.EDITOR).filter(pk=study.pk)
    context = {
        "study": study,
        "plan": plan,
        "planned": [
            label
            for code, label in analysis_titles().items()
            if plan and code in plan.content["analyses"]
        ],
        "row": row,
        "tampered": tampered,
        "form": form,
        "answers": answers,
        "judgments": judgments,
        "may_freeze": row is None and may_freeze.exists(),
    }
    return render(request, "frozen_plans/plan.html", context, status=status)


@require_http_methods(["GET", "POST"])
@login_required
def deviations(request: HttpRequest, slug: str) -> HttpResponse:
    """List the deviations, store the reason of one, or send the list as a file."""
    sending = request.method == "POST"
    role = Membership.Role.EDITOR if sending else Membership.Role.VIEWER
    study = get_study(request.user, slug, role=role)
    fault, sent = "", request.POST.get("deviation", "")
    try:
        if sending:
            reason = request.POST.get("reason", "").replace("\r\n", "\n")
            explain_deviation(
                study_id=study.pk, key=sent, reason=reason, user=cast(User, request.user)
            )
            messages.success(request, "Reason saved.")
            return redirect(f"{reverse('frozen_plans:deviations', args=[slug])}#{sent}")
        if wanted := request.GET.get("file"):
            return _file(wanted, slug, deviations_as_json(study), deviations_as_text(study))
    except BadParameters as error:
        fault = str(error)
    except AnalysisError as error:
        raise Http404(str(error)) from error
    plan, listed = listed_deviations(study)
    editors = studies_for(request.user, role=Membership.Role.EDITOR)
    context = {
        "study": study,
        "plan": plan,
        "entries": [
            {
                "listed": one,
                "rows": [
                    (row["result"], *map(effect_words, (row["with"], row["without"])))
                    for row in one.effect
                ],
                "reason": request.POST.get("reason", "")
                if fault and one.deviation.key == sent
                else one.reason or "\n".join(one.deviation.noted),
            }
            for one in listed
        ],
        "fault": fault,
        "sent": sent,
        "longest": LONGEST_REASON,
        "may_edit": editors.filter(slug=slug).exists(),
    }
    status = 422 if fault else 200
    return render(request, "frozen_plans/deviations.html", context, status=status)


def _file(wanted: str, slug: str, content: dict[str, object], text: str) -> HttpResponse:
    response: HttpResponse
    if wanted == "json":
        response = JsonResponse(content, json_dumps_params={"indent": 1, "ensure_ascii": False})
    elif wanted == "md":
        response = HttpResponse(text, content_type="text/markdown; charset=utf-8")
    else:
        raise Http404("The list of deviations is there as json and as md.")
    response.headers["Content-Disposition"] = f'attachment; filename="{slug}-deviations.{wanted}"'
    return response
