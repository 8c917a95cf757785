"""What researchers see of people; under pseudonyms, and only of their own studies."""

import csv
from collections.abc import Iterable

from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from annotation.models import Annotator
from annotation.overview import Person, coverage, describe, funnel, people_of, quota_grid
from studies.importers.faults import spreadsheet_text
from studies.models import Study
from studies.selectors import get_study

_PER_PAGE = 50


@require_GET
@login_required
def panel(request: HttpRequest, slug: str) -> HttpResponse:
    """A fragment for the study's home."""
    study = get_study(request.user, slug)
    context = {
        "study": study,
        "coverage": coverage(study),
        "funnel": funnel(study),
        "grid": quota_grid(study),
    }
    return render(request, "annotation/researcher/_panel.html", context)


@require_GET
@login_required
def people(request: HttpRequest, slug: str) -> HttpResponse:
    study = get_study(request.user, slug)
    state = request.GET.get("state", "")
    chosen = state if state in Annotator.State.values else ""
    found = people_of(study, state=chosen)
    if request.GET.get("format") == "csv":
        return _csv(study, describe(study, found))
    page = Paginator(found, _PER_PAGE).get_page(request.GET.get("page"))
    context = {
        "study": study,
        "page": page,
        "people": describe(study, page.object_list),
        "state": chosen,
        "states": [(value, str(label).capitalize()) for value, label in Annotator.State.choices],
    }
    return render(request, "annotation/researcher/people.html", context)


def _csv(study: Study, people: Iterable[Person]) -> HttpResponse:
    response = HttpResponse(content_type="text/csv; charset=utf-8")
    response.headers["Content-Disposition"] = f'attachment; filename="{study.slug}-people.csv"'
    writer = csv.writer(response, lineterminator="\n")
    writer.writerow(
        [
            "rater_id", "state", "group", "imported", "surplus", "excluded", "answers", "items",
            "median_seconds", "share_a", "mean_certainty", "sd_certainty",
        ]
    )  # fmt: skip
    for person in people:
        row = [
            person.pseudonym, person.state, person.group, person.is_imported,
            person.works_surplus, person.is_excluded, person.answers, person.items,
            person.median_seconds, person.share_a, person.mean_certainty, person.sd_certainty,
        ]  # fmt: skip
        writer.writerow(["" if cell is None else spreadsheet_text(str(cell)) for cell in row])
    return response
