"""Pages about annotators who err as a judge does, and links to them."""

from collections.abc import Iterable
from datetime import timedelta
from typing import Any
from urllib.parse import urlencode

from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_GET

from extras.likeness.models import ErrorComparison
from extras.likeness.tasks import compare_errors
from studies.held_copies import HeldBy, PersonIn
from studies.jobs.queueing import queue
from studies.jobs.retry import is_due, job_status, start_over
from studies.models.studies import Study
from studies.pages.workbench import PersonPart, SectionPage
from studies.selectors import get_study

_OLD_AFTER = timedelta(minutes=1)


def error_comparison_for(study: Study) -> ErrorComparison:
    """The comparison of a study, without a fingerprint until it is first computed."""
    comparison, _ = ErrorComparison.objects.get_or_create(
        study=study, defaults={"state": ErrorComparison.State.DONE}
    )
    if is_due(comparison, after=_OLD_AFTER) and start_over(comparison):
        queue(compare_errors, comparison.pk)
        comparison.refresh_from_db()
    return comparison


@require_GET
@login_required
def annotators(request: HttpRequest, slug: str) -> HttpResponse:
    """Show each annotator's errors next to the most similar judge's, as advice only."""
    study = get_study(request.user, slug)
    context = _annotators_context(study)
    found = context["comparison"].annotators
    context |= {"found": found, "striking": sum(one["stands_out"] for one in found)}
    return render(request, "likeness/annotators.html", context)


@require_GET
@login_required
def status(request: HttpRequest, slug: str) -> JsonResponse:
    """Show the progress that the page polls while a worker compares."""
    study = get_study(request.user, slug)
    return job_status(ErrorComparison.objects.filter(study=study).first())


@require_GET
@login_required
def annotator(request: HttpRequest, slug: str) -> HttpResponse:
    """Show a fragment for the page of one annotator, `?rater=`."""
    study = get_study(request.user, slug)
    asked = request.GET.get("rater", "")
    if not study.annotators.filter(pseudonym=asked).exists():
        raise Http404
    context = _annotators_context(study)
    found = context["comparison"].annotators
    context["found"] = next((one for one in found if one["rater"] == asked), None)
    return render(request, "likeness/_annotator.html", context)


def _annotators_context(study: Study) -> dict[str, Any]:
    comparison = error_comparison_for(study)
    return {
        "study": study,
        "comparison": comparison,
        "rule": comparison.rule,
        "status_url": reverse("likeness:status", args=[study.slug]),
    }


def _pages(study: Study) -> Iterable[SectionPage]:
    yield SectionPage("report", "Shared errors", reverse("likeness:annotators", args=[study.slug]))


def _of_person(study: Study, pseudonym: str) -> str:
    query = urlencode({"rater": pseudonym})
    return f"{reverse('likeness:annotator', args=[study.slug])}?{query}"


def _forget(person: PersonIn) -> None:
    """Delete the list, which names annotators and can be computed again."""
    ErrorComparison.objects.filter(study=person.study).delete()


PERSON = PersonPart("likeness", "Errors shared with judges", _of_person)
HELD = HeldBy("errors shared with judges", forget=_forget)
