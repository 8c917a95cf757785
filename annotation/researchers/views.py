"""Researchers' pages on annotators: pseudonymous, and only for their own studies."""

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, cast

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import User
from django.db.models import Case, FloatField, QuerySet, Value, When
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from annotation import services
from annotation.content.consent_versions import agreed_by
from annotation.errors import PlacesError, WrongStep
from annotation.machine_signs import FLAGGED
from annotation.models import Annotation, Annotator, Assignment, Ending
from annotation.quality import NOTHING, RULES, Quality, quality_of
from annotation.researchers.selectors import (
    PersonRow,
    describe,
    people_of,
)
from annotation.seats import flow
from annotation.seats.flow import ACTIVE, codes_of
from annotation.services.endings import release_unanswered
from studies.models import Item, Membership, Study
from studies.money import format_money
from studies.pages.listing import role_of
from studies.pages.responses import REFUSED, LongList, csv_response
from studies.pages.workbench import PERSON_PAGES
from studies.selectors import get_study

_PER_PAGE = 50
_LAST = -1e12  # below every figure; databases differ about infinity
ANY_FLAG = "any"
# The orders of the list besides the newest first; the largest comes first.
SORTS: dict[str, Callable[[Quality], float | None]] = {
    "machine": lambda figures: figures.machine_points,
    "flags": lambda figures: len(figures.flags),
    "answers": lambda figures: figures.answers,
    "fewest": lambda figures: -figures.answers,
    "fastest": lambda figures: _negative(figures.median_elapsed_seconds),
    "disagreement": lambda figures: _negative(figures.agreement),
    "even": lambda figures: _negative(figures.sd_certainty),
}
SORT_LABELS = {
    "": "newest",
    "machine": "most signs of programs",
    "flags": "most flags",
    "answers": "most answers",
    "fewest": "fewest answers",
    "fastest": "fastest",
    "disagreement": "least agreement with others",
    "even": "most even certainty",
}


def _negative(value: float | None) -> float | None:
    return None if value is None else -value


@require_GET
@login_required
def people(request: HttpRequest, slug: str) -> HttpResponse:
    """List the annotators with their state, pace and flags."""
    study = get_study(request.user, slug)
    state = request.GET.get("state", "")
    chosen = state if state in Annotator.State.values else ""
    people_listed = people_of(study, state=chosen)
    flag, sort = request.GET.get("flag", ""), request.GET.get("sort", "")
    by_flag = flag in RULES or flag == ANY_FLAG
    everybody = quality_of(study) if by_flag or sort in SORTS else {}
    if by_flag:
        flagged = [pk for pk, figures in everybody.items() if _has(figures, flag)]
        people_listed = people_listed.filter(pk__in=flagged)
    if sort in SORTS:
        people_listed = _in_order(people_listed, everybody, SORTS[sort])
    if request.GET.get("format") == "csv":
        return _csv(study, describe(study, people_listed), quality_of(study))
    annotators = LongList(people_listed, _PER_PAGE, name="annotators", key=(study.pk, chosen, flag))
    page = annotators.get_page(request.GET.get("page"))
    on_page = list(page.object_list)
    quality = quality_of(study, [annotator.pk for annotator in on_page])
    context = {
        "study": study,
        "page": page,
        "people": [
            (person, quality.get(person.pk, NOTHING)) for person in describe(study, on_page)
        ],
        "flag": flag,
        "flags": [(ANY_FLAG, "Any"), *RULES.items()],
        "sort": sort,
        "sorts": SORT_LABELS.items(),
        "sorted_by": SORT_LABELS.get(sort, SORT_LABELS[""]),
        "is_filtered": bool(chosen or flag),
        **_unanswered(request, study),
        "state": chosen,
        "states": [(value, str(label).capitalize()) for value, label in Annotator.State.choices],
    }
    return render(request, "annotation/researcher/people.html", context)


def _in_order(
    people: QuerySet[Annotator],
    quality: Mapping[int, Quality],
    figure: Callable[[Quality], float | None],
) -> QuerySet[Annotator]:
    """The largest figure first, those without one last, and the newest of equals first."""
    by_figure: defaultdict[float, list[int]] = defaultdict(list)
    for pk, figures in quality.items():
        if (value := figure(figures)) is not None:
            by_figure[value].append(pk)
    ranks = [When(pk__in=pks, then=Value(value)) for value, pks in by_figure.items()]
    rank = Case(*ranks, default=Value(_LAST), output_field=FloatField())
    return people.annotate(rank=rank).order_by("-rank", "-pk") if ranks else people


def _unanswered(request: HttpRequest, study: Study) -> dict[str, object]:
    """Seats and places of annotators who never answered; a platform decides these itself."""
    if study.entry == Study.Entry.PROLIFIC:
        return {}
    silent = flow.never_answered(study)
    return {
        "silent": silent.count(),
        "silent_seats": flow.seats_held(silent),
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


# The codes that a researcher sets up on the platform; other codes are never entered there.
_PLATFORM_ACTIONS = {
    Ending.COMPLETED: "Review manually, then approve",
    Ending.FAILED_ATTENTION: "Review manually",
    Ending.TIMED_OUT: "Review manually. Answers are kept: pay a bonus for the time worked",
    Ending.DECLINED: "Request a return",
    Ending.QUOTA_FULL: "Review manually: pay for the time",
    Ending.DISQUALIFIED: "Request a return",
    Ending.CLOSED: "Review manually: pay for the part that was done",
    Ending.INELIGIBLE: "Review manually: pay for the time",
    Ending.WITHDREW: "Review manually, then request a return",
}


@require_GET
@login_required
def codes(request: HttpRequest, slug: str) -> HttpResponse:
    """The completion codes to set up on the platform; only for editors, because codes mean pay."""
    study = get_study(request.user, slug, role=Membership.Role.EDITOR)
    codes_now = codes_of(study.pk)
    rows = [
        (str(ending.label).capitalize(), codes_now[ending], action)
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
        "machine_points",
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
        figures.machine_points,
    ]


@require_http_methods(["GET", "POST"])
@login_required
def person(request: HttpRequest, slug: str) -> HttpResponse:
    """The annotator in `?rater=`; editors can exclude them from the analysis or include them."""
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
        "flagged_from": FLAGGED,
        "rows": rows,
        "events": annotator.events.select_related("user"),
        "fault": fault,
        "reason": request.POST.get("reason", ""),
        "may_edit": role_of(request.user, study) != Membership.Role.VIEWER,
        "pages": _pages_about(annotator, role_of(request.user, study)),
        "is_under_way": annotator.state in ACTIVE,
        "cost": cost_of_reopening(study, annotator),
        "agreed": agreed_by(annotator),
    }
    status = REFUSED if fault else 200
    return render(request, "annotation/researcher/person.html", context, status=status)


def _pages_about(annotator: Annotator, role: str) -> list[tuple[str, str]]:
    """Title and address of what owners can open about somebody."""
    if role != Membership.Role.OWNER:
        return []
    study, name = annotator.study, annotator.pseudonym
    return [(page.title, page.address(study, name)) for page in PERSON_PAGES.of(study)]


def _address(study: Study, annotator: Annotator) -> str:
    query = QueryDict(mutable=True)
    query["rater"] = annotator.pseudonym
    return f"{reverse('people:person', args=[study.slug])}?{query.urlencode()}"


def _change(request: HttpRequest, annotator: Annotator) -> str:
    """Exclude or include the annotator; return the reason if that is not possible."""
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
        return "The seats cannot be reopened while this annotator is working. Try again later"
    messages.success(request, f"{annotator.pseudonym} is excluded from the analysis.")
    return ""


@dataclass(frozen=True)
class SpentLine:
    """The cost of filling an annotator's seats again."""

    seats: int
    people: int
    pay: str


def cost_of_reopening(study: Study, annotator: Annotator) -> SpentLine:
    """The annotator's seats, and the people and pay needed to fill them again."""
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
    choices_of_others = (
        Annotation.objects.filter(assignment__item__in=[a.item_id for a in assignments])
        .filter(standing__in=[Annotation.Standing.COUNTED, Annotation.Standing.IMPORTED])
        .filter(assignment__annotator__excluded_at=None)
        .exclude(assignment__annotator=annotator)
        .values_list("assignment__item", "choice")
    )
    for item, choice in choices_of_others:
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
    """The letter of the choice, or the letters of a whole set as ranked."""
    if answer.ranking is None:
        return _SIDES[assignment.as_displayed(answer.choice)]
    order = answer.ranking["shown"]
    return " › ".join("ABCDE"[order.index(number)] for number in answer.ranking["ranking"])


def _seconds(milliseconds: int | None) -> float | None:
    return None if milliseconds is None else milliseconds / 1000
