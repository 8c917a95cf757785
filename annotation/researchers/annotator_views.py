"""A researcher's page of one annotator: their answers, their flags, and their exclusion."""

import math
from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods

from annotation import services
from annotation.content.consent_versions import agreed_by
from annotation.errors import WrongStep
from annotation.models import Annotation, Annotator, Assignment
from annotation.quality.flags import NOTHING, quality_of
from annotation.researchers.selectors import describe
from annotation.seats.flow import ACTIVE
from studies.models import Item, Membership, Study
from studies.money import format_money
from studies.pages.listing import role_of
from studies.selectors import get_study

_REFUSED = 422


@require_http_methods(["GET", "POST"])
@login_required
def person(request: HttpRequest, slug: str) -> HttpResponse:
    """One annotator by `?rater=`; editors may exclude them from the analysis or include them."""
    sending = request.method == "POST"
    role = Membership.Role.EDITOR if sending else Membership.Role.VIEWER
    study = get_study(request.user, slug, role=role)
    annotator = get_object_or_404(
        Annotator.objects.select_related("quota_group"),
        study=study,
        pseudonym=request.GET.get("rater", ""),
    )
    fault = _change(request, annotator) if sending else ""
    if sending and not fault:
        return redirect(_address(study, annotator))
    (summary,) = describe(study, [annotator])
    rows = answer_rows(annotator)
    context = {
        "study": study,
        "annotator": annotator,
        "summary": summary,
        "quality": quality_of(study, [annotator.pk]).get(annotator.pk, NOTHING),
        "rows": rows,
        "events": annotator.events.select_related("user"),
        "fault": fault,
        "reason": request.POST.get("reason", ""),
        "may_edit": role_of(request.user, study) != Membership.Role.VIEWER,
        "is_under_way": annotator.state in ACTIVE,
        "cost": cost_of_reopening(study, annotator),
        "agreed": agreed_by(annotator),
    }
    status = _REFUSED if fault else 200
    return render(request, "annotation/researcher/person.html", context, status=status)


def _address(study: Study, annotator: Annotator) -> str:
    query = QueryDict(mutable=True)
    query["rater"] = annotator.pseudonym
    return f"{reverse('people:person', args=[study.slug])}?{query.urlencode()}"


def _change(request: HttpRequest, annotator: Annotator) -> str:
    """Exclude or include the annotator; returns the reason if it is not possible."""
    user = cast(User, request.user)
    if "include" in request.POST:
        services.include(annotator_id=annotator.pk, user=user)
        messages.success(request, f"{annotator.pseudonym} is included in the analysis.")
        return ""
    reason = request.POST.get("reason", "").strip()
    if not reason:
        return "Enter the reason for the exclusion"
    try:
        services.exclude(
            annotator_id=annotator.pk,
            reason=reason,
            user=user,
            reopen_seats="reopen" in request.POST,
        )
    except WrongStep:
        return "The seats cannot be reopened while this annotator is still working. Try again later"
    messages.success(request, f"{annotator.pseudonym} is excluded from the analysis.")
    return ""


@dataclass(frozen=True)
class SpentLine:
    """The cost of filling an annotator's seats again."""

    seats: int
    people: int
    pay: str


def cost_of_reopening(study: Study, annotator: Annotator) -> SpentLine:
    """The number of the annotator's seats, and the people and pay needed to fill them again."""
    held = [Assignment.State.RESERVED, Assignment.State.ANSWERED]
    seats = annotator.assignments.filter(is_surplus=False, state__in=held).count()
    people = math.ceil(seats / study.items_per_annotator)
    return SpentLine(seats, people, format_money(people * study.reward, study.currency))


@dataclass(frozen=True)
class AnnotatorAnswerRow:
    """An item as the annotator saw it; unknown or withdrawn values are None."""

    position: int
    item_key: str
    is_check: bool
    answered_at: Any
    active_seconds: float | None
    elapsed_seconds: float | None
    side: str
    choice: str
    certainty: int | None
    changes: int
    standing: str
    is_failed: bool
    others: Mapping[str, int]


_SIDES = {"a": "A", "b": "B", "tie": "Tie"}


def answer_rows(annotator: Annotator) -> list[AnnotatorAnswerRow]:
    """The annotator's items in order, each with the answers of the others; two queries."""
    assignments = list(
        annotator.assignments.select_related("item", "annotation").order_by("position")
    )
    others: defaultdict[int, Counter[str]] = defaultdict(Counter)
    given = (
        Annotation.objects.filter(assignment__item__in=[a.item_id for a in assignments])
        .filter(standing__in=[Annotation.Standing.COUNTED, Annotation.Standing.IMPORTED])
        .filter(assignment__annotator__excluded_at=None)
        .exclude(assignment__annotator=annotator)
        .values_list("assignment__item", "choice")
    )
    for item, choice in given:
        others[item][choice] += 1
    return [_row(assignment, others[assignment.item_id]) for assignment in assignments]


def _row(assignment: Assignment, others: Counter[str]) -> AnnotatorAnswerRow:
    answer: Annotation | None = getattr(assignment, "annotation", None)
    item = assignment.item
    is_check = item.split == Item.Split.ATTENTION_CHECK
    right = item.check_answer if is_check else ""
    if answer is not None and answer.standing == Annotation.Standing.WITHDRAWN:
        answer = None
    side = ""
    if answer is not None and assignment.shown_first:
        side = _side(assignment, answer)
    return AnnotatorAnswerRow(
        position=assignment.position,
        item_key=item.key,
        is_check=is_check,
        answered_at=answer.answered_at if answer else None,
        active_seconds=_seconds(answer.active_ms) if answer else None,
        elapsed_seconds=_seconds(answer.elapsed_ms) if answer else None,
        side=side,
        choice=answer.choice if answer else "",
        certainty=answer.certainty if answer else None,
        changes=answer.revision - 1 if answer else 0,
        standing=answer.get_standing_display() if answer else assignment.get_state_display(),
        is_failed=bool(right and answer and answer.choice != right),
        others=dict(others),
    )


def _side(assignment: Assignment, answer: Annotation) -> str:
    """The letter of the choice, or the letters of a whole set in the order that was given."""
    if answer.ranking is None:
        return _SIDES[assignment.as_displayed(answer.choice)]
    shown = answer.ranking["shown"]
    return " › ".join("ABCDE"[shown.index(number)] for number in answer.ranking["ranking"])


def _seconds(milliseconds: int | None) -> float | None:
    return None if milliseconds is None else milliseconds / 1000
