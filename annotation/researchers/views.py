"""Researchers' pages on annotators: pseudonymous, and only for their own studies."""

from collections.abc import Iterable, Mapping
from typing import Any, cast

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_GET, require_POST

from annotation.errors import PlacesError
from annotation.models import Annotator, Ending
from annotation.quality.flags import NOTHING, RULES, Quality, quality_of
from annotation.researchers.selectors import (
    PersonRow,
    coverage,
    describe,
    funnel,
    people_of,
    quota_grid,
)
from annotation.seats import first_answers
from annotation.seats.completion_codes import codes_of
from annotation.services.release import release_unanswered
from studies.models import Membership, Study
from studies.pages.csv_response import csv_response
from studies.pages.listing import role_of
from studies.pages.long_lists import LongList
from studies.selectors import get_study

_PER_PAGE = 50
ANY_FLAG = "any"


@require_GET
@login_required
def panel(request: HttpRequest, slug: str) -> HttpResponse:
    """A fragment of the study's home page."""
    study = get_study(request.user, slug)
    context = {
        "study": study,
        "coverage": coverage(study),
        "funnel": funnel(study),
        "grid": quota_grid(study),
        "may_edit": role_of(request.user, study) != Membership.Role.VIEWER,
    }
    return render(request, "annotation/researcher/_panel.html", context)


@require_GET
@login_required
def people(request: HttpRequest, slug: str) -> HttpResponse:
    """List the annotators with their state, pace and flags."""
    study = get_study(request.user, slug)
    state = request.GET.get("state", "")
    chosen = state if state in Annotator.State.values else ""
    found = people_of(study, state=chosen)
    flag = request.GET.get("flag", "")
    if flag in RULES or flag == ANY_FLAG:
        flagged = [pk for pk, figures in quality_of(study).items() if _has(figures, flag)]
        found = found.filter(pk__in=flagged)
    if request.GET.get("format") == "csv":
        return _csv(study, describe(study, found), quality_of(study))
    annotators = LongList(found, _PER_PAGE, name="annotators", key=(study.pk, chosen, flag))
    page = annotators.get_page(request.GET.get("page"))
    shown = list(page.object_list)
    quality = quality_of(study, [annotator.pk for annotator in shown])
    context = {
        "study": study,
        "page": page,
        "people": [(person, quality.get(person.pk, NOTHING)) for person in describe(study, shown)],
        "flag": flag,
        "flags": [(ANY_FLAG, "Any"), *RULES.items()],
        "is_filtered": bool(chosen or flag),
        **_unanswered(request, study),
        "state": chosen,
        "states": [(value, str(label).capitalize()) for value, label in Annotator.State.choices],
    }
    return render(request, "annotation/researcher/people.html", context)


def _unanswered(request: HttpRequest, study: Study) -> dict[str, object]:
    """Seats and places of annotators who never answered; a platform decides about these itself."""
    if study.entry == Study.Entry.PROLIFIC:
        return {}
    silent = first_answers.never_answered(study)
    return {
        "silent": silent.count(),
        "silent_seats": first_answers.seats_held(silent),
        "first_answer_minutes": settings.FIRST_ANSWER_MINUTES,
        "may_edit": role_of(request.user, study) != Membership.Role.VIEWER,
    }


@require_POST
@login_required
def release(request: HttpRequest, slug: str) -> HttpResponse:
    """Release the seats and places of annotators who never answered."""
    study = get_study(request.user, slug, role=Membership.Role.EDITOR)
    try:
        number = release_unanswered(study_id=study.pk, user=cast(User, request.user))
    except PlacesError as error:
        messages.error(request, str(error))
    else:
        holders = "1 annotator" if number == 1 else f"{number:,} annotators"
        messages.success(request, f"Released the seats of {holders} without an answer.")
    return redirect("people:list", slug)


# The codes that a researcher sets up on the platform; the others are never entered there.
_PLATFORM_ACTIONS = {
    Ending.COMPLETED: "Review manually, then approve",
    Ending.FAILED_ATTENTION: "Review manually",
    Ending.TIMED_OUT: "Review manually. Answers are kept: pay a bonus for the time worked",
    Ending.DECLINED: "Request a return",
    Ending.QUOTA_FULL: "Review manually: pay for the time",
    Ending.DISQUALIFIED: "Request a return",
    Ending.CLOSED: "Review manually: pay for the part that was done",
    Ending.INELIGIBLE: "Review manually: pay for the time",
    Ending.WITHDREW: "Review manually, then ask for a return",
}


@require_GET
@login_required
def codes(request: HttpRequest, slug: str) -> HttpResponse:
    """The completion codes to set up on the platform: only for editors, as a code means pay."""
    study = get_study(request.user, slug, role=Membership.Role.EDITOR)
    found = codes_of(study.pk)
    rows = [
        (str(ending.label).capitalize(), found[ending], action)
        for ending, action in _PLATFORM_ACTIONS.items()
    ]
    return render(request, "annotation/researcher/codes.html", {"study": study, "rows": rows})


def _has(figures: Quality, flag: str) -> bool:
    return bool(figures.rules) if flag == ANY_FLAG else flag in figures.rules


def _csv(study: Study, people: Iterable[PersonRow], quality: Mapping[int, Quality]) -> HttpResponse:
    header = [
        "rater_id",
        "state",
        "group",
        "imported",
        "surplus",
        "excluded",
        "answers",
        "items",
        "median_seconds",
        "share_a",
        "mean_certainty",
        "sd_certainty",
        "agreement",
        "flags",
    ]
    rows = (_cells(person, quality.get(person.pk, NOTHING)) for person in people)
    return csv_response(f"{study.slug}-people", header, rows)


def _cells(person: PersonRow, figures: Quality) -> list[Any]:
    return [
        person.pseudonym,
        person.state,
        person.group,
        person.is_imported,
        person.works_surplus,
        person.is_excluded,
        person.answers,
        person.items,
        person.median_seconds,
        person.share_a,
        person.mean_certainty,
        person.sd_certainty,
        figures.agreement,
        " ".join(figures.rules),
    ]
