"""Demographics on the page where one approves and pays, and the command that reads them."""

from collections.abc import Iterator, Mapping
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_http_methods

from annotation.models import ProlificSubmission
from annotation.prolific.additions import ProlificAction
from annotation.prolific.pages.views import attempt, editor_page
from annotation.prolific.settle.proposals import SettlementPart
from extras.prolific_tools.demographics import fetch, groups_of, mismatch
from studies.models import Study


@require_http_methods(["POST"])
@editor_page
def refresh(request: HttpRequest, study: Study) -> HttpResponse:
    """Read the demographics of the study's participants."""
    attempt(
        request,
        lambda: fetch(study_id=study.pk),
        lambda n: f"Demographics refreshed: {n} new or changed.",
    )
    return redirect("people:prolific-settle", study.slug)


def _words(study: Study) -> dict[int, str]:
    submissions = ProlificSubmission.objects.filter(
        prolific_study__study=study,
        prolific_study__is_follow_up=False,
        stated_demographics__isnull=False,
    ).select_related("annotator", "stated_demographics")
    questions = list(study.demographic_questions.all()) if submissions else []
    differing = {one.pk: mismatch(one, questions) for one in submissions}
    return {
        pk: f"Different answer on Prolific: {words}. This is not a reason to reject."
        for pk, words in differing.items()
        if words
    }


def _lines(study: Study, options: Mapping[str, Any]) -> Iterator[str]:
    yield f"New or changed: {fetch(study_id=study.pk):,}."


PART = SettlementPart(
    "demographics",
    "annotation/prolific/groups.html",
    lambda study: {"found": groups_of(study), "study": study},
    _words,
)
DEMOGRAPHICS = ProlificAction(
    "demographics",
    "read the demographics of participants from Prolific",
    _lines,
    looks_itself=True,
)
