"""The runs behind the datasheet of a judge: their plan, and the page with cost and start."""

from decimal import Decimal
from typing import Any, cast

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods

from judging.errors import JudgingError
from judging.models import Judge, JudgeRun
from judging.pages.asking_forms import budget_field, offer_judges
from judging.runs.campaigns import CampaignPlan, start_campaign
from judging.runs.costs import CampaignEstimate, estimate_plan
from studies.errors import StudyError
from studies.models import Item, Membership, Study
from studies.pages.responses import REFUSED
from studies.pages.workbench import SectionPage
from studies.selectors import get_study

PROBES = ("identical", "empty", "other-persona", "injection")
USUAL_ITEMS = 40


def plan_for(
    study: Study, judge: Judge, *, items: int | None, budget: Decimal | None
) -> CampaignPlan:
    """The campaign that asks a judge for its datasheet, in both orders."""
    personas = Item.objects.filter(study=study).values("persona").distinct().count()
    return CampaignPlan(
        name=f"Datasheet of {judge.name}"[:120],
        judges=[judge.name],
        settings=["certainty" if study.ask_certainty else "standard"],
        orders=[JudgeRun.Orders.BOTH.value],
        probes=[probe for probe in PROBES if personas > 1 or probe != "other-persona"],
        limit=items,
        budget=None if budget is None else str(budget),
    )


class DatasheetForm(forms.Form):
    """The judge, and how much is asked."""

    judge = forms.ModelChoiceField(
        queryset=Judge.objects.none(), label="Judge", empty_label="Choose one"
    )
    items = forms.IntegerField(
        label="Number of items", min_value=1, initial=USUAL_ITEMS, help_text="The first ones by id."
    )
    budget = budget_field()

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        offer_judges(self, "judge")


@login_required
@require_http_methods(["GET", "POST"])
def datasheet(request: HttpRequest, slug: str) -> HttpResponse:
    """Show the form; a POST shows the cost, or starts the campaign."""
    study = get_study(request.user, slug, role=Membership.Role.EDITOR)
    user = cast(User, request.user)
    form = DatasheetForm(request.POST or None)
    estimate: CampaignEstimate | None = None
    if form.is_valid():
        data = form.cleaned_data
        plan = plan_for(study, data["judge"], items=data["items"], budget=data["budget"])
        try:
            if "preview" in request.POST:
                estimate = estimate_plan(study, plan, user=user)
            else:
                campaign = start_campaign(study_id=study.pk, plan=plan, change=True, user=user)
                messages.success(request, "The judge is asked. Build a report when it has ended.")
                return redirect("judging:campaign", slug, campaign.public_id)
        except (JudgingError, StudyError) as error:
            form.add_error(None, str(error))
    context = {"study": study, "form": form, "estimate": estimate}
    status = REFUSED if form.errors else 200
    return render(request, "validation/datasheet.html", context, status=status)


def pages(study: Study) -> list[SectionPage]:
    address = reverse("validation:datasheet", args=[study.slug])
    return [SectionPage("judges", "Datasheet", address, for_editors=True)]
