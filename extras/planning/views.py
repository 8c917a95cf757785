"""Pages for the forecast, and for the comparison watched while people answer."""

from collections.abc import Iterator, Mapping
from typing import Any, cast

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_GET, require_http_methods

from analysis.data.item_comparisons import labelled, runs_to_compare
from analysis.errors import AnalysisError
from extras.planning import wording
from extras.planning.assumptions import LABELS, RANGES, Assumptions, forecast_of, request_forecast
from extras.planning.sizes import sizes_context
from extras.planning.sources import items_for_people
from extras.planning.watching import fix_comparison, has_answers, watched
from studies.jobs.retry import Retry, job_status
from studies.models.studies import Membership, Study
from studies.money import format_money
from studies.pages.workbench import (
    MonitorCard,
    SectionPage,
    SetupTask,
    TaskState,
)
from studies.selectors import get_study, studies_for
from studies.services.items import expected_time


def what_if_context(result: Mapping[str, Any], key: str = "") -> dict[str, Any]:
    """The designs of a forecast, and the one to show: that of `key`, or the planned one."""
    designs = wording.what_ifs(result)
    planned = next(one for one in designs if one.is_planned)
    return {
        "designs": designs,
        "planned": planned,
        "chosen": next((one for one in designs if one.key == key), planned),
        "table": {one.key: one.shown for one in designs},
        "warnings": result["warnings"],
    }


def _is_of_another_size(result: Mapping[str, Any], study: Study) -> bool:
    design = result["designs"][0]
    size = items_for_people(study), study.annotations_per_item
    return (design["items"], design["answers"]) != size


def plan_task(study: Study) -> Iterator[SetupTask]:
    """An optional step: the latest forecast in a line, and whether it matches the study's size."""
    job = forecast_of(study.pk)
    if job is None or job.result is None:
        state, words = TaskState.NOT_STARTED, "Simulate studies of this size before you pay for one"
    else:
        design, items = job.result["designs"][0], items_for_people(study)
        state, words = TaskState.DONE, wording.summary_of(design)
        if _is_of_another_size(job.result, study):
            state = TaskState.ATTENTION
            words = (
                f"Computed for {wording.size_words(design['items'], design['answers'])}; the "
                f"study has {wording.size_words(items, study.annotations_per_item)}"
            )
    title = "Plan: what this study can show"
    address = reverse("planning:plan", args=[study.slug])
    yield SetupTask("plan", title, state, words, address, is_optional=True)


def on_launch(study: Study) -> Iterator[MonitorCard]:
    """What the study can show, next to the button that launches it."""
    job = forecast_of(study.pk)
    sizes = sizes_context(study, planned=items_for_people(study))
    context = {"study": study, "job": job, "margin": study.equivalence_margin * 100, "size": sizes}
    # The cost that Prolific calculates is the one price of the page.
    context["has_price"] = study.entry == Study.Entry.PROLIFIC
    if job is not None and job.result and not _is_of_another_size(job.result, study):
        context |= what_if_context(job.result)
    yield MonitorCard("forecast", "planning/_launch.html", context)


def on_monitor(study: Study) -> Iterator[MonitorCard]:
    watch = watched(study)
    if watch is not None:
        context = {"watch": watch, "study": study}
        yield MonitorCard("judges", "planning/_watch.html", context)


def pages(study: Study) -> list[SectionPage]:
    plan, forecast, watched_page = (
        reverse(f"planning:{name}", args=[study.slug]) for name in ("plan", "forecast", "watched")
    )
    return [
        SectionPage("annotators", "Plan and cost", plan),
        # The page above is enough for a first plan, and links to this one.
        SectionPage("annotators", "Size and price", forecast, once="annotators"),
        SectionPage("report", "Watched comparison", watched_page, once="judges"),
    ]


WHOLE = ("items", "answers", "per_annotator", "judges")
SHARES = ("accuracy_people", "accuracy_judge")
EFFECTS = ("sd_item", "sd_annotator", "sd_persona", "sd_question", "overlap")
_HINTS = {
    "accuracy_people": (
        "Share of items, for example 0.6. Leave empty for 0.6 or the pilot’s estimate."
    ),
    "accuracy_judge": "Leave empty for differences of −10 to +10 points from the majority.",
    "judges": "Runs that compete for the best result.",
}


class _WholeField(forms.FloatField):
    """A whole number with bounds like any number's."""

    def clean(self, value: Any) -> int | None:
        number = super().clean(value)
        if number is not None and number != int(number):
            raise forms.ValidationError("Enter a whole number.")
        return None if number is None else int(number)


class ForecastForm(forms.Form):
    """The design and its assumptions; empty fields take the study's values or the defaults."""

    pilot = forms.ChoiceField(
        label="Pilot",
        required=False,
        help_text=(
            "One of your studies that has answers. Its accuracies and effects replace the defaults."
        ),
    )

    def __init__(self, *args: Any, pilots: list[Study], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["pilot"].choices = [  # type: ignore[attr-defined]
            ("", "None: use the defaults"),
            *((study.slug, study.title) for study in pilots),
        ]
        for name in (*WHOLE, *SHARES, *EFFECTS):
            low, high = RANGES[name]
            kind = _WholeField if name in WHOLE else forms.FloatField
            self.fields[name] = kind(
                label=LABELS[name],
                required=False,
                min_value=low,
                max_value=high,
                help_text=_HINTS.get(name, ""),
                widget=forms.NumberInput(attrs={"step": "1" if name in WHOLE else "any"}),
            )
        self.order_fields((*WHOLE, *SHARES, "pilot", *EFFECTS))

    @property
    def main(self) -> list[forms.BoundField]:
        return [self[name] for name in (*WHOLE, *SHARES, "pilot")]

    @property
    def effects(self) -> list[forms.BoundField]:
        return [self[name] for name in EFFECTS]

    def chosen(self) -> dict[str, Any]:
        """The values that were entered."""
        return {name: value for name, value in self.cleaned_data.items() if value not in (None, "")}


class WatchedComparisonForm(forms.Form):
    run = forms.ChoiceField(label="Judge run")
    final = forms.BooleanField(
        label="I understand that I cannot change the judge and the margin later",
        error_messages={"required": "Confirm that the choice is final."},
    )

    def __init__(self, *args: Any, runs: list[tuple[str, str]], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["run"].choices = runs  # type: ignore[attr-defined]


@login_required
@require_http_methods(["GET", "POST"])
def forecast(request: HttpRequest, slug: str) -> HttpResponse:
    """Show the latest forecast, and the form to request another."""
    study = get_study(request.user, slug)
    if request.method == "GET":
        return _forecast_page(request, study, ForecastForm(pilots=_pilots(request)))
    study = get_study(request.user, slug, role=Membership.Role.EDITOR)
    form = ForecastForm(request.POST, pilots=_pilots(request))
    if form.is_valid():
        try:
            assumed = Assumptions.of(study, items_there=items_for_people(study), **form.chosen())
        except AnalysisError as error:
            form.add_error(None, str(error))
        else:
            user = cast(User, request.user)
            request_forecast(study_id=study.pk, assumed=assumed, user=user)
            return redirect("planning:forecast", slug=slug)
    return _forecast_page(request, study, form, status=422)


@login_required
@require_GET
def status(request: HttpRequest, slug: str) -> JsonResponse:
    """The progress of the forecast, for the page that polls it."""
    return job_status(forecast_of(get_study(request.user, slug).pk))


def _forecast_page(
    request: HttpRequest, study: Study, form: ForecastForm, status: int = 200
) -> HttpResponse:
    job, items = forecast_of(study.pk), items_for_people(study)
    context: dict[str, Any] = {
        "study": study,
        "form": form,
        "job": job,
        "retry": Retry(url=request.path),
        "may_edit": _may_edit(request, study),
        "items": items,
        "size": sizes_context(
            study,
            planned=items,
            items=request.GET.get("items", ""),
            answers=request.GET.get("answers", ""),
        ),
        "margin": study.equivalence_margin * 100,
    }
    if job is not None and job.result:
        design = job.result["designs"][0]
        context |= what_if_context(job.result, request.GET.get("design", ""))
        context |= {
            "result": job.result,
            "design": design,
            "states": list(wording.STATES.values()),
            "rows": wording.rows_of(design),
            "detectable": wording.detectable_words(design),
            "costs": [*wording.cost_lines(design), *_hourly(study)],
            "assumed": wording.assumed_lines(job.result),
            "majority": design["majority"] * 100,
            "tested_margin": job.result["assumptions"]["margin"] * 100,
            "next": _next_context(job.result.get("next")),
        }
    return render(request, "planning/forecast.html", context, status=status)


def _next_context(bought: Mapping[str, Any] | None) -> dict[str, Any]:
    """What the next money buys; nothing in forecasts of earlier versions."""
    if bought is None or "problem" in bought:
        return dict(bought or {})
    from extras.planning.next_money import lines_of, summary_of

    return {
        **bought,
        "summary": summary_of(bought),
        "lines": lines_of(bought),
        "points": f"{bought['now'] * 100:.1f}",
    }


def _hourly(study: Study) -> Iterator[tuple[str, str]]:
    """Hourly pay by the duration in the settings and by reading time."""
    yield "Hourly pay as stated", format_money(study.reward * 60 / study.minutes, study.currency)
    if expected := expected_time(study):
        words = format_money(expected.hourly(study.reward), study.currency)
        yield "Hourly pay by reading time", f"{words}. {expected.words}."


@login_required
@require_http_methods(["GET", "POST"])
def watched_comparison(request: HttpRequest, slug: str) -> HttpResponse:
    """Show the watched comparison, or the form that fixes it before the first answer."""
    study = get_study(request.user, slug)
    runs = [(run.public_id, label) for run, label in labelled(runs_to_compare(study))]
    form, code = WatchedComparisonForm(runs=runs), 200
    if request.method == "POST":
        study = get_study(request.user, slug, role=Membership.Role.EDITOR)
        form = WatchedComparisonForm(request.POST, runs=runs)
        if form.is_valid():
            try:
                user, run_id = cast(User, request.user), form.cleaned_data["run"]
                fix_comparison(study_id=study.pk, run_id=run_id, user=user)
            except AnalysisError as error:
                form.add_error(None, str(error))
            else:
                messages.success(request, "Comparison fixed.")
                return redirect("planning:watched", slug=slug)
        code = 422
    watch = watched(study)
    context = {
        "study": study,
        "watch": watch,
        "form": form,
        "has_runs": bool(runs),
        "has_answers": has_answers(study),
        "margin": (study.equivalence_margin if watch is None else watch.comparison.margin) * 100,
        "may_edit": _may_edit(request, study),
    }
    return render(request, "planning/watched.html", context, status=code)


def _pilots(request: HttpRequest) -> list[Study]:
    return list(studies_for(request.user).order_by("title")[:200])


def _may_edit(request: HttpRequest, study: Study) -> bool:
    return studies_for(request.user, role=Membership.Role.EDITOR).filter(pk=study.pk).exists()
