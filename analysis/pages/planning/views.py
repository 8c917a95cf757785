"""What a study can show, and the comparison that may be watched while people answer."""

from collections.abc import Iterator
from typing import Any, cast

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_GET, require_http_methods

from analysis.data.items.comparisons import labelled, runs_to_compare
from analysis.data.planning import items_for_people
from analysis.data.watched_comparison import has_answers
from analysis.errors import AnalysisError
from analysis.pages.planning.forms import ForecastForm, WatchForm
from analysis.pages.planning.panels import what_if_context
from analysis.planning import wording
from analysis.planning.assumptions import Assumptions
from analysis.planning.requests import forecast_of, request_forecast
from analysis.planning.watching import fix_comparison, watched
from studies.jobs.pages import Retry, job_status
from studies.models.studies import Membership, Study
from studies.money import format_money
from studies.selectors import get_study, studies_for
from studies.services.items.expected_time import expected_time


@login_required
@require_http_methods(["GET", "POST"])
def forecast(request: HttpRequest, slug: str) -> HttpResponse:
    """Show the newest forecast, and the form that asks for another."""
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
    """The progress of the forecast, for the page that follows it."""
    return job_status(forecast_of(get_study(request.user, slug).pk))


def _forecast_page(
    request: HttpRequest, study: Study, form: ForecastForm, status: int = 200
) -> HttpResponse:
    job = forecast_of(study.pk)
    context: dict[str, Any] = {
        "study": study,
        "form": form,
        "job": job,
        "retry": Retry(url=request.path),
        "may_edit": _may_edit(request, study),
        "items": items_for_people(study),
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
            "margin": job.result["assumptions"]["margin"] * 100,
        }
    return render(request, "analysis/planning/forecast.html", context, status=status)


def _hourly(study: Study) -> Iterator[tuple[str, str]]:
    """The pay an hour by the duration in the settings, and by what the items take to read."""
    yield "Pay an hour as stated", format_money(study.reward * 60 / study.minutes, study.currency)
    if expected := expected_time(study):
        words = format_money(expected.hourly(study.reward), study.currency)
        yield "Pay an hour by reading time", f"{words}. {expected.words}."


@login_required
@require_http_methods(["GET", "POST"])
def watched_comparison(request: HttpRequest, slug: str) -> HttpResponse:
    """Show the watched comparison, or the form that fixes it before the first answer."""
    study = get_study(request.user, slug)
    runs = [(run.public_id, label) for run, label in labelled(runs_to_compare(study))]
    form, code = WatchForm(runs=runs), 200
    if request.method == "POST":
        study = get_study(request.user, slug, role=Membership.Role.EDITOR)
        form = WatchForm(request.POST, runs=runs)
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
    return render(request, "analysis/planning/watched.html", context, status=code)


def _pilots(request: HttpRequest) -> list[Study]:
    return list(studies_for(request.user).order_by("title")[:200])


def _may_edit(request: HttpRequest, study: Study) -> bool:
    return studies_for(request.user, role=Membership.Role.EDITOR).filter(pk=study.pk).exists()
