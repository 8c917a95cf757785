"""The page that has arguments written, shows what they cost, and creates the linked study."""

from typing import Any, cast

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from extras.advice.arguing import (
    MOST_ROUNDS,
    MOST_WORDS,
    SEED,
    SOURCE,
    ArgumentCost,
    WantedArguments,
    continue_job,
    cost_of,
    items_for,
    request_arguments,
    spent,
    transcripts,
)
from extras.advice.arms import advice_of, arms_study
from extras.advice.models import Argument, ArgumentJob, Arm
from extras.advice.tasks import write_arguments
from judging.errors import JudgingError
from judging.models import Judge
from judging.pages.asking_forms import budget_field, offer_judges
from studies.errors import StudyError
from studies.jobs.retry import job_status
from studies.models import Item, Membership, Study
from studies.pages.new_study_form import NewStudyForm
from studies.pages.responses import REFUSED
from studies.pages.settings_views import MAY_CREATE
from studies.pages.workbench import SectionPage
from studies.selectors import get_study, studies_for

_ARMS = [
    (Arm.DEBATE.value, "Debate: two models, each for one response"),
    (Arm.CONSULTANCY.value, "One adviser: a model for a drawn response, right or wrong"),
]
_USUAL_ITEMS = 60
_SHOWN = 2


def _budget() -> forms.DecimalField:
    return budget_field(
        "For all arguments together. We never spend more. Leave empty if the models cost nothing."
    )


class ArgumentsForm(forms.Form):
    """Who argues, about how many items, and for how much money."""

    judge = forms.ModelChoiceField(
        queryset=Judge.objects.none(), label="Model that argues", empty_label="Choose one"
    )
    second = forms.ModelChoiceField(
        queryset=Judge.objects.none(),
        label="Second model",
        required=False,
        empty_label="The same model argues for both",
        help_text="Each of the two argues for the right response in half of the items.",
    )
    arms = forms.MultipleChoiceField(
        label="What people and judges read",
        choices=_ARMS,
        initial=[value for value, _ in _ARMS],
        widget=forms.CheckboxSelectMultiple,
        help_text="Some also answer without reading anything.",
        error_messages={"required": "Choose at least one."},
    )
    items = forms.IntegerField(label="Number of items", min_value=1, help_text="Drawn at random.")
    rounds = forms.IntegerField(
        label="Rounds",
        min_value=1,
        max_value=MOST_ROUNDS,
        initial=2,
        help_text="Arguments for each side. From the second on, they answer each other.",
    )
    words = forms.IntegerField(
        label="Words in an argument", min_value=30, max_value=MOST_WORDS, initial=100
    )
    seed = forms.IntegerField(
        label="Seed",
        min_value=0,
        max_value=2**53,
        initial=SEED,
        help_text="The same seed draws the same items and sides.",
    )
    budget = _budget()

    def __init__(self, *args: Any, study: Study, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        offer_judges(self, "judge", "second")
        n = Item.objects.filter(study=study).count()
        self.initial["items"] = min(n, _USUAL_ITEMS) or 1

    def wanted(self) -> WantedArguments:
        names = ("items", "arms", "rounds", "words", "seed")
        return WantedArguments(**{name: self.cleaned_data[name] for name in names})

    def cost(self, study: Study) -> ArgumentCost:
        """Raises `StudyError` if nothing can be argued about."""
        wanted, data = self.wanted(), self.cleaned_data
        second = data["second"] if data["second"] != data["judge"] else None
        return cost_of(items_for(study, wanted), wanted, data["judge"], second)


class RestForm(forms.Form):
    """The budget with which a job goes on."""

    budget = _budget()


class ArmsForm(NewStudyForm):
    """The linked study."""

    beliefs = forms.ModelChoiceField(
        queryset=Study.objects.none(),
        label="Study with people’s own answers",
        required=False,
        empty_label="None",
        help_text="If the same people, by their Prolific id, answered the same questions for "
        "themselves there, the report also compares by what they believed before.",
    )

    def __init__(self, *args: Any, study: Study, user: User, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        own = studies_for(user).filter(perspective=Study.Perspective.OWN)
        cast(forms.ModelChoiceField, self.fields["beliefs"]).queryset = own.order_by("slug")
        self.initial = {"slug": f"{study.slug[:52]}-debates"}


@login_required
@require_http_methods(["GET", "POST"])
def debates(request: HttpRequest, slug: str) -> HttpResponse:
    """Show the form and what was written; a POST shows the cost, or starts."""
    study = _study(request, slug)
    if request.method == "GET":
        return _page(request, study)
    form, cost = ArgumentsForm(request.POST, study=study), None
    if form.is_valid():
        try:
            cost = form.cost(study)
            if "preview" not in request.POST:
                data = form.cleaned_data
                job = request_arguments(
                    study_id=study.pk,
                    wanted=form.wanted(),
                    judge=data["judge"],
                    second=data["second"],
                    budget=data["budget"],
                    user=cast(User, request.user),
                )
                write_arguments.delay_on_commit(job.pk)  # type: ignore[attr-defined]
                return redirect("advice:debates", slug)
        except (StudyError, JudgingError) as error:
            form.add_error(None, str(error))
    return _page(request, study, form=form, cost=None if form.errors else cost)


@login_required
@require_GET
def debates_status(request: HttpRequest, slug: str) -> JsonResponse:
    """Show the progress that the page fetches while arguments are written."""
    return job_status(_latest(_study(request, slug)))


@login_required
@require_POST
def write_rest(request: HttpRequest, slug: str) -> HttpResponse:
    """Go on with a job that has ended without all arguments."""
    study = _study(request, slug)
    job, form = _job(request, study), RestForm(request.POST)
    if not form.is_valid():
        messages.error(request, f"Budget: {form.errors['budget'].as_text()}")
    elif continue_job(study_id=study.pk, job=job, budget=form.cleaned_data["budget"]):
        write_arguments.delay_on_commit(job.pk)  # type: ignore[attr-defined]
    return redirect("advice:debates", slug)


@login_required
@require_POST
def create_arms(request: HttpRequest, slug: str) -> HttpResponse:
    """Create the linked study from the arguments of a job."""
    study, user = _study(request, slug), cast(User, request.user)
    job, form = _job(request, study), ArmsForm(request.POST, study=study, user=user)
    if not user.has_perm(MAY_CREATE):
        raise PermissionDenied
    if form.is_valid():
        with form.refusals():
            draft = arms_study(job=job, by=user, **form.cleaned_data)
            messages.success(request, "The new study is a draft with every item in each arm.")
            return redirect("studies:detail", draft.slug)
    return _page(request, study, arms_form=form)


def _study(request: HttpRequest, slug: str) -> Study:
    return get_study(request.user, slug, role=Membership.Role.EDITOR)


def _latest(study: Study) -> ArgumentJob | None:
    return ArgumentJob.objects.filter(study=study).order_by("-pk").first()


def _job(request: HttpRequest, study: Study) -> ArgumentJob:
    return get_object_or_404(ArgumentJob, study=study, public_id=request.POST.get("job"))


def _page(
    request: HttpRequest,
    study: Study,
    *,
    form: ArgumentsForm | None = None,
    arms_form: ArmsForm | None = None,
    cost: ArgumentCost | None = None,
) -> HttpResponse:
    user, job = cast(User, request.user), _latest(study)
    context: dict[str, Any] = {
        "study": study,
        "form": form or ArgumentsForm(study=study),
        "cost": cost,
        "job": job,
        "may_create": user.has_perm(MAY_CREATE),
        "linked": studies_for(user).filter(**{f"source__{SOURCE}__from": study.slug}),
    }
    if job is not None:
        ready = {} if job.is_open else transcripts(job)
        context |= {
            "arms_form": arms_form or ArmsForm(study=study, user=user),
            "rest_form": RestForm(initial={"budget": job.budget}),
            "spent": spent(job),
            "ready": len(ready),
            "missing": job.arguments.exclude(state=Argument.State.WRITTEN).count(),
            "shown": [
                (item, advice_of(item, arm, rows))
                for item in Item.objects.filter(study=study, key__in=list(ready)[:_SHOWN])
                for arm, rows in ready[item.key].items()
            ],
        }
    refused = any(one_form is not None and one_form.errors for one_form in (form, arms_form))
    status = REFUSED if refused else 200
    return render(request, "advice/debates.html", context, status=status)


def pages(study: Study) -> list[SectionPage]:
    if study.asks_own_answers:
        return []
    address = reverse("advice:debates", args=[study.slug])
    return [SectionPage("items", "Debates", address, for_editors=True)]
