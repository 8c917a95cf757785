"""The page where a judge chooses the items for annotators."""

from typing import cast

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods

from analysis.errors import AnalysisError
from extras.estimation.item_draw import draw_by_judge, runs_with_certainty
from studies.errors import StudyError
from studies.models.studies import Membership, Study
from studies.pages.workbench import SectionPage
from studies.selectors import get_study
from studies.services.items import end_draw, has_begun


class DrawForm(forms.Form):
    """The judge for the draw, and the number of items."""

    run = forms.ChoiceField(label="Judge", help_text="A run that states its certainty.")
    size = forms.IntegerField(
        label="Number of items for annotators",
        min_value=1,
        help_text="Judges answer all items anyway.",
    )

    def __init__(self, *args: object, study: Study, **kwargs: object) -> None:
        super().__init__(*args, **kwargs)  # type: ignore[arg-type]
        self.runs = runs_with_certainty(study)
        cast(forms.ChoiceField, self.fields["run"]).choices = self.runs
        self.initial = {"size": study.human_sample, "run": study.draw.get("run")}


@login_required
@require_http_methods(["GET", "POST"])
def draw(request: HttpRequest, slug: str) -> HttpResponse:
    """Show how items are drawn for annotators, or draw them (POST)."""
    study = get_study(request.user, slug, role=Membership.Role.EDITOR)
    if request.method == "GET":
        return _draw_page(request, study, DrawForm(study=study))
    user = cast(User, request.user)
    form = DrawForm(request.POST, study=study)
    try:
        if "end" in request.POST:
            end_draw(study_id=study.pk, user=user)
            messages.success(request, "Items for annotators are now drawn without a judge.")
            return redirect("estimation:draw", slug=study.slug)
        if form.is_valid():
            chosen = form.cleaned_data
            drawn = draw_by_judge(
                study_id=study.pk, run=chosen["run"], size=chosen["size"], user=user
            )
            messages.success(
                request, f"{drawn.size:,} of {drawn.items:,} items drawn for annotators."
            )
            return redirect("estimation:draw", slug=study.slug)
    except (AnalysisError, StudyError) as error:
        form = form if form.is_bound and form.is_valid() else DrawForm(request.POST, study=study)
        form.is_valid()
        form.add_error(None, str(error))
    return _draw_page(request, study, form, status=422)


def _draw_page(
    request: HttpRequest, study: Study, form: DrawForm, status: int = 200
) -> HttpResponse:
    context = {"study": study, "form": form, "has_begun": has_begun(study)}
    return render(request, "estimation/draw.html", context, status=status)


def _draw_link(study: Study) -> list[SectionPage]:
    address = reverse("estimation:draw", args=[study.slug])
    return [SectionPage("items", "For annotators", address, True)]
