"""Annotators compared with judges: a panel on an annotator's page, and a list of all."""

from typing import Any

from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from studies.models.studies import Study
from studies.selectors import get_study


@require_GET
@login_required
def annotators(request: HttpRequest, slug: str) -> HttpResponse:
    """Show the errors of each annotator next to those of the most similar judge, as advice only."""
    study = get_study(request.user, slug)
    from analysis.pages.annotator_errors import likenesses

    found = likenesses(study.slug)
    context = _context(study) | {"found": found, "striking": sum(one.stands_out for one in found)}
    return render(request, "analysis/annotators.html", context)


@require_GET
@login_required
def annotator(request: HttpRequest, slug: str) -> HttpResponse:
    """Show a fragment for the page of one annotator, `?rater=`."""
    study = get_study(request.user, slug)
    asked = request.GET.get("rater", "")
    if not study.annotators.filter(pseudonym=asked).exists():
        raise Http404
    from analysis.pages.annotator_errors import likenesses

    found = next((one for one in likenesses(study.slug) if one.rater == asked), None)
    return render(request, "analysis/_annotator.html", _context(study) | {"found": found})


def _context(study: Study) -> dict[str, Any]:
    """The study, and the rule by which an annotator is flagged."""
    from analysis.stats.agreement import shared_errors

    return {
        "study": study,
        "reading_pace": shared_errors.READING_PACE,
        "hurried_pace": shared_errors.HURRIED_PACE,
        "limit": shared_errors.LIMIT,
        "limit_when_hurried": shared_errors.LIMIT_WHEN_HURRIED,
        "false_flags": shared_errors.FALSE_FLAGS_PER_1000,
        "false_flags_when_hurried": shared_errors.FALSE_FLAGS_PER_1000_WHEN_HURRIED,
    }
