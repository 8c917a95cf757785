"""Pages of improvements: start one, follow it, read its result; which items to answer next."""

from decimal import Decimal
from typing import Any, cast
from urllib.parse import urlencode

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import User
from django.db.models import Sum
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from analysis.data.item_comparisons import labelled
from analysis.report.words import points, points_range
from extras.improving import requests
from extras.improving.models import Improvement, LearnedFrom
from extras.improving.next_labels import MOST_NEXT, next_labels
from extras.improving.parts import annotators_to_learn_from
from extras.improving.prompts import ASK
from extras.improving.tasks import improve
from judging.errors import JudgingError
from judging.models import NANO, Judge, JudgeRun
from judging.pages.asking_forms import budget_field, offer_judges
from judging.prompts.asking import Asking, tasks_of_items
from judging.wordings import DiffLine, compare
from studies.errors import StudyError
from studies.jobs.retry import job_status
from studies.models import Membership, Study
from studies.pages.listing import role_of
from studies.pages.responses import REFUSED
from studies.pages.workbench import SectionPage
from studies.selectors import get_study

_USUAL_NEXT = 20


class RunsForm(forms.Form):
    """A choice of the runs that can be improved."""

    run = forms.ChoiceField(label="Judge run")

    def __init__(self, *args: Any, study: Study, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.runs = {run.public_id: run for run in requests.improvable_runs(study)}
        names = labelled(list(self.runs.values()))
        self.fields["run"].choices = [  # type: ignore[attr-defined]
            (run.public_id, label) for run, label in names
        ]

    @property
    def chosen(self) -> JudgeRun:
        return self.runs[self.cleaned_data["run"]]


class ImprovementForm(RunsForm):
    annotator = forms.ChoiceField(
        label="Whose answers",
        required=False,
        help_text="Everybody’s: other personas are sealed. One annotator’s: the judge learns "
        "examples and guidelines from some questions, and the others are sealed; annotators with "
        f"{2 * requests.FEWEST_ITEMS} answers or more are listed.",
    )
    kinds = forms.MultipleChoiceField(
        label="Learn",
        choices=[
            ("examples", "Examples: cases in which the judge was wrong, with people’s reasons"),
            ("guidelines", "Guidelines that a judge writes from such cases"),
            ("rules", "Rules that people follow more or less often than the judge"),
            ("fields", "Persona fields on which the judge errs"),
        ],
        initial=requests.ALONE,
        widget=forms.CheckboxSelectMultiple,
    )
    writer = forms.ModelChoiceField(
        queryset=Judge.objects.none(),
        label="Judge that writes guidelines",
        required=False,
        empty_label="The judge of the run",
    )
    most = forms.IntegerField(
        label="Wordings to try on the sealed part",
        initial=requests.USUAL_MOST,
        min_value=1,
        max_value=requests.MOST_TRIED,
    )
    items = forms.IntegerField(
        label="Items on which each wording is tried before",
        initial=requests.USUAL_ITEMS,
        min_value=requests.FEWEST_ITEMS,
        max_value=requests.MOST_ITEMS,
    )
    share = forms.IntegerField(
        label="Sealed part, in percent",
        initial=requests.USUAL_SHARE,
        min_value=20,
        max_value=80,
    )
    gain = forms.IntegerField(
        label="Gain to find, in percentage points",
        initial=requests.USUAL_GAIN,
        min_value=1,
        max_value=requests.MOST_GAIN,
        help_text="Smaller gains need more sealed items.",
    )
    budget = budget_field()

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        offer_judges(self, "writer")
        people = annotators_to_learn_from(kwargs["study"], 2 * requests.FEWEST_ITEMS)
        self.fields["annotator"].choices = [  # type: ignore[attr-defined]
            ("", "Everybody’s"),
            *((name, f"{name} ({n:,} answers)") for name, n in people),
        ]

    def wish(self) -> requests.ImprovementWish:
        named = ("annotator", "most", "items", "share", "gain")
        chosen: dict[str, Any] = {name: self.cleaned_data[name] for name in named}
        writer = self.cleaned_data["writer"]
        return requests.wish_of(
            self.chosen,
            writer=writer.name if writer else "",
            learn=self.cleaned_data["kinds"],
            **chosen,
        )


class NextForm(RunsForm):
    n = forms.IntegerField(label="Items", initial=_USUAL_NEXT, min_value=1, max_value=MOST_NEXT)


@login_required
@require_http_methods(["GET", "POST"])
def list_improvements(request: HttpRequest, slug: str) -> HttpResponse:
    """List improvements; one is priced first, and starts with a second press."""
    role = Membership.Role.EDITOR if request.method == "POST" else Membership.Role.VIEWER
    study = get_study(request.user, slug, role=role)
    is_sent = request.method == "POST" or "cost" in request.GET
    data = (request.POST or request.GET) if is_sent else None
    form = ImprovementForm(data, study=study, initial=_initial(request))
    cost = None
    if form.is_valid():
        try:
            if request.method == "POST":
                improvement = requests.request_improvement(
                    form.wish(), budget=form.cleaned_data["budget"], user=cast(User, request.user)
                )
                improve.delay_on_commit(improvement.pk)  # type: ignore[attr-defined]
                return redirect("improving:show", slug, improvement.public_id)
            cost = requests.estimate_improvement(form.wish())
        except (StudyError, JudgingError) as error:
            form.add_error(None, str(error))
    made_before = Improvement.objects.filter(study=study).select_related("run__judge")
    context = {
        "study": study,
        "form": form,
        "next_form": NextForm(study=study, auto_id="next_%s"),
        "cost": cost,
        "improvements": made_before.defer("parts"),
        "asked": ASK,
        "change": _query_without(request, "cost"),
        "may_edit": role_of(request.user, study) != Membership.Role.VIEWER,
    }
    return render(request, "improving/list.html", context, status=REFUSED if form.errors else 200)


@login_required
@require_GET
def next_items(request: HttpRequest, slug: str) -> HttpResponse:
    """Show which items a person should answer next, and what they are expected to bring."""
    study = get_study(request.user, slug)
    form = NextForm(request.GET, study=study)
    labels = None
    if form.is_valid():
        try:
            labels = next_labels(form.chosen, form.cleaned_data["n"], requests.USUAL_SHARE)
        except StudyError as error:
            form.add_error(None, str(error))
    context = {"study": study, "form": form, "labels": labels}
    return render(request, "improving/next.html", context, status=REFUSED if form.errors else 200)


@login_required
@require_GET
def show(request: HttpRequest, slug: str, public_id: str) -> HttpResponse:
    """Show one improvement: its progress or its result, with the words that were added."""
    study, improvement = _improvement(request, slug, public_id)
    used = improvement.requests.aggregate(nano=Sum("spent_nano", default=0))["nano"]
    runs = JudgeRun.objects.filter(pk__in=improvement.wordings.exclude(run=None).values("run"))
    used += runs.aggregate(nano=Sum("spent_nano", default=0))["nano"]
    sealed = sum(row[3] == "sealed" for row in improvement.parts)
    context = {
        "study": study,
        "improvement": improvement,
        "job": improvement,
        "sealed": sealed,
        "learn": len(improvement.parts) - sealed,
        "spent": Decimal(used) / NANO,
        "wordings": _shown(improvement),
        "may_edit": role_of(request.user, study) != Membership.Role.VIEWER,
        "budget": budget_field(),
    }
    return render(request, "improving/show.html", context)


@login_required
@require_GET
def status(request: HttpRequest, slug: str, public_id: str) -> JsonResponse:
    """Show the progress that the page fetches while a worker is at it."""
    return job_status(_improvement(request, slug, public_id)[1])


@login_required
@require_POST
def again(request: HttpRequest, slug: str, public_id: str) -> HttpResponse:
    """Continue an improvement that ended early; what has a reply is not asked again."""
    _, improvement = _improvement(request, slug, public_id, role=Membership.Role.EDITOR)
    try:
        budget = budget_field().clean(request.POST.get("budget", ""))
    except forms.ValidationError as error:
        messages.error(request, f"Budget: {' '.join(error.messages)}")
    else:
        if requests.request_again(improvement, budget=budget or improvement.budget):
            improve.delay_on_commit(improvement.pk)  # type: ignore[attr-defined]
    return redirect("improving:show", slug, public_id)


def _improvement(
    request: HttpRequest, slug: str, public_id: str, *, role: str = Membership.Role.VIEWER
) -> tuple[Study, Improvement]:
    study = get_study(request.user, slug, role=role)
    rows = Improvement.objects.filter(study=study).select_related("run__judge", "run__wording")
    return study, get_object_or_404(rows, public_id=public_id)


def _shown(improvement: Improvement) -> list[dict[str, Any]]:
    """The learned wordings with their numbers, those that were tried first, and what they add."""
    asking, task = Asking.of(improvement.run), tasks_of_items(improvement.study)[0]
    stored = {
        one.kind: one.wording
        for one in improvement.wordings.filter(fold=0).select_related("wording")
    }
    rows = []
    for candidate in improvement.results.get("candidates", ()):
        lines: list[DiffLine] = []
        if wording := stored.get(candidate["kind"]):
            usual = asking.words_of(task, persona=bool(wording.template)).template
            lines = compare(usual, wording.template or wording.template_without_persona)
        rows.append(
            {
                **candidate,
                "label": LearnedFrom(candidate["kind"]).label,
                "stored": wording,
                "diff": lines,
                "is_tried": candidate.get("difference") is not None,
                "gain": points(candidate["learned"]),
                "sealed_gain": points(candidate.get("difference")),
                "ends": points_range(candidate.get("ci")),
            }
        )
    return sorted(rows, key=lambda one: (not one["is_tried"], -(one["learned"] or 0)))


def _initial(request: HttpRequest) -> dict[str, Any]:
    """What somebody entered before changing it; empty values keep the form's own."""
    entered: dict[str, Any] = {name: value for name, value in request.GET.items() if value}
    if "kinds" in request.GET:
        entered["kinds"] = request.GET.getlist("kinds")
    return entered


def _query_without(request: HttpRequest, name: str) -> str:
    pairs = [(key, value) for key, values in request.GET.lists() for value in values if key != name]
    return urlencode(pairs)


def pages_of(study: Study) -> list[SectionPage]:
    title = "Learned wordings"
    return [SectionPage("judges", title, reverse("improving:list", args=[study.slug]))]
