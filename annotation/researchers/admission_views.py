"""Pages about who takes part: “About you”, places, invited ids, and related studies."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, cast
from urllib.parse import urlencode

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import User
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST

from annotation.errors import InvitationError, PlacesError, QuotaError
from annotation.models import Invitation, RelatedStudy
from annotation.seats.capacity import SeatCapacity, places_of
from annotation.seats.quotas import (
    QuotaQuestion,
    have_entered,
    is_sentence,
    questions_of,
    seen_questions,
    set_about_questions,
)
from annotation.seats.ready_questions import NAMES, READY, ready_question, value_for
from annotation.services.admission import (
    ids_in,
    invite,
    seen_selection,
    set_related_studies,
)
from annotation.services.capacity import raise_places
from studies.errors import StaleVersion, StudyError
from studies.models import Item, Membership, Study
from studies.pages.addressed import pressed
from studies.pages.listing import study_figures
from studies.pages.responses import REFUSED, csv_response, onward, whole_number
from studies.selectors import get_study, studies_for
from studies.services.settings import save_settings
from studies.statements.kept_figures import kept

FormRow = dict[str, str]


def read_rows(
    data: Mapping[str, Any], name: str, fields: Sequence[str], *, most: int
) -> list[FormRow]:
    """The rows that were sent: `name`-0-field, `name`-1-field …; `name`-rows counts them."""
    count = whole_number(data.get(f"{name}-rows", ""), most=most) or 0
    return [
        {field: data.get(f"{name}-{number}-{field}", "").strip() for field in fields}
        for number in range(count)
    ]


def arranged(rows: Sequence[FormRow], action: str) -> list[FormRow]:
    """The rows after a button such as “remove-2”, “up-1” or “down-0”; other buttons do nothing."""
    verb, _, place = action.partition("-")
    number = whole_number(place)
    changed = list(rows)
    if number is None or number >= len(changed):
        return changed
    if verb == "remove":
        del changed[number]
    elif verb == "up" and number > 0:
        changed[number - 1 : number + 1] = changed[number], changed[number - 1]
    elif verb == "down" and number < len(changed) - 1:
        changed[number : number + 2] = changed[number + 1], changed[number]
    return changed


def lines(text: str) -> list[str]:
    """The lines of a text box that are not blank."""
    return [line.strip() for line in text.splitlines() if line.strip()]


_MOST_QUESTIONS = 20
_MOST_OPTIONS = 40
_FIELDS = ("key", "label", "options", "sentence")
_KEY = re.compile(r"[-a-zA-Z0-9_]{1,40}")


@require_http_methods(["GET", "POST"])
@login_required
def questions(request: HttpRequest, slug: str) -> HttpResponse:
    """Show, arrange and store the questions; only “Save questions” stores anything."""
    study = get_study(request.user, slug, role=Membership.Role.EDITOR)
    fixed = have_entered(study)
    seen = now = seen_questions(study)  # Read before the rows, so that a later change is noticed.
    rows, fault = _stored_rows(study), ""
    if request.method == "POST" and not fixed:
        action = request.POST.get("do", "save")
        keys = action.removeprefix("use-").split(",") if action[:4] == "use-" else []
        if keys and all(key in READY for key in keys):
            return _use(request, study, rows, keys, seen=now)
        seen = request.POST.get("seen", now)
        rows = arranged(read_rows(request.POST, "question", _FIELDS, most=_MOST_QUESTIONS), action)
        if action == "add" or action.removeprefix("add-") in READY:
            key = action.removeprefix("add-")
            is_ready = key in READY
            rows.append(
                _row(ready_question(study, key)) if is_ready else dict.fromkeys(_FIELDS, "")
            )
        if action == "save":
            try:
                set_about_questions(
                    study_id=study.pk,
                    questions=_read(study, rows),
                    seen=request.POST.get("seen"),
                    user=cast(User, request.user),
                )
            except QuotaError as error:
                fault = str(error)
            except StaleVersion as error:
                fault, seen = str(error), now
            else:
                messages.success(request, f"Questions saved: {len(rows)}.")
                return redirect("people:questions", slug)
    used = {key for group in study.quota_groups.all() for key in group.criteria}
    taken = {row["key"] for row in rows}
    context = {
        "study": study,
        "rows": [row | {"is_used": row["key"] in used} for row in rows],
        "seen": seen,
        "fixed": fixed,
        "fault": fault,
        "ready": [(key, name) for key, name in NAMES.items() if key not in taken],
        "is_full": len(rows) >= _MOST_QUESTIONS,
        "has_groups": bool(used) or study.quota_groups.exists(),
    }
    status = REFUSED if fault else 200
    return render(request, "annotation/researcher/setup/questions.html", context, status=status)


def _use(
    request: HttpRequest,
    study: Study,
    rows: Sequence[FormRow],
    keys: Sequence[str],
    *,
    seen: str,
) -> HttpResponse:
    """Store further standard questions, and show the quota groups that they make."""
    try:
        set_about_questions(
            study_id=study.pk,
            questions=_read(study, [*rows, *(_row(ready_question(study, key)) for key in keys)]),
            seen=seen,
            user=cast(User, request.user),
        )
    except (QuotaError, StaleVersion) as error:
        messages.error(request, str(error))
    page = reverse("people:quota", args=[study.slug])
    return redirect(f"{page}?{urlencode({'q': keys}, doseq=True)}" if len(keys) > 1 else page)


def _stored_rows(study: Study) -> list[FormRow]:
    return [_row(question) for question in questions_of(study)]


def _row(question: QuotaQuestion) -> FormRow:
    options = "\n".join(question.options.values())
    return {
        "key": question.key,
        "label": question.label,
        "options": options,
        "sentence": question.sentence,
    }


def _read(study: Study, rows: Sequence[FormRow]) -> list[QuotaQuestion]:
    """The questions in the rows; `QuotaError` says what is missing in which question."""
    stored = {question.key: question for question in study.demographic_questions.all()}
    questions_read: list[QuotaQuestion] = []
    for number, row in enumerate(rows, start=1):
        labels = lines(row["options"])
        _check(number, row["label"], labels)
        _check_sentence(number, row.get("sentence", ""))
        key = row["key"] or value_for(row["label"], {question.key for question in questions_read})
        if not _KEY.fullmatch(key):
            raise QuotaError(f"Question {number} has no usable name. Remove it and add it again.")
        if any(question.key == key for question in questions_read):
            raise QuotaError(f"Question {number} occurs twice. Remove one of the two.")
        ready = ready_question(study, key).options if key in READY else {}
        known = {label: value for value, label in ready.items()}
        known |= {o["label"]: o["value"] for o in stored[key].options} if key in stored else {}
        values: dict[str, str] = {}
        for label in labels:
            values[known.get(label) or value_for(label, {*values, *known.values()})] = label
        questions_read.append(QuotaQuestion(key, row["label"], values, row.get("sentence", "")))
    return questions_read


def _check(number: int, label: str, options: Sequence[str]) -> None:
    if not label:
        raise QuotaError(f"Question {number} has no text. Write the question, or remove it.")
    if len(label) > 200:
        raise QuotaError(f"Question {number} is longer than 200 letters. Shorten it.")
    if not 2 <= len(options) <= _MOST_OPTIONS:
        raise QuotaError(
            f"Question {number} has {len(options)} option{'' if len(options) == 1 else 's'}. "
            f"Write 2 to {_MOST_OPTIONS}, one per line."
        )
    if len(set(options)) < len(options):
        raise QuotaError(f"Question {number} has the same option twice. Remove one of them.")
    if any(len(option) > 200 for option in options):
        raise QuotaError(f"Question {number} has an option of more than 200 letters. Shorten it.")


def _check_sentence(number: int, sentence: str) -> None:
    if sentence and not is_sentence(sentence):
        raise QuotaError(
            f"Question {number}: write {{answer}} in place of the answer, in a sentence of up to "
            f"200 letters, for example “The person is {{answer}}.”"
        )


_MOST_PLACES = 1_000


@require_http_methods(["GET", "POST"])
@login_required
def places(request: HttpRequest, slug: str) -> HttpResponse:
    """Show the cost of more answers and places, then open them after confirmation."""
    study = get_study(request.user, slug, role=Membership.Role.EDITOR)
    now = _places(study) if request.method == "GET" else places_of(study)
    then, fault = None, ""
    fixed = have_entered(study)
    if request.method == "POST" and request.POST.get("do") == "sum" and not fixed:
        try:
            words = _save_sum(request, study, now)
        except (PlacesError, StudyError) as error:
            fault = str(error)
        else:
            messages.success(request, words)
            return onward(request, slug, "people:places")
    elif request.method == "POST":
        try:
            per_item = _number(request, "annotations_per_item", study.annotations_per_item)
            targets = {
                group.quota_group.pk: _number(
                    request, f"target-{group.quota_group.pk}", group.quota_group.target
                )
                for group in now.groups
            }
            then = places_of(study, annotations_per_item=per_item, targets=targets)
            if "sure" in request.POST:
                raise_places(
                    study_id=study.pk,
                    version=_number(request, "version", 0, most=2**31),
                    annotations_per_item=per_item,
                    targets=targets,
                    user=cast(User, request.user),
                )
                messages.success(request, "Places and quota increased.")
                return redirect("people:places", slug)
            if then == now:
                fault = "Nothing changed. Enter a higher number in at least one field"
        except PlacesError as error:
            fault = str(error)
    context = {
        "seen": seen_selection(study),  # Read before the selection.
        "study": study,
        "now": now,
        "then": None if fault else then,
        "fault": fault,
        "fixed": fixed,
        "typed": {name: request.POST.get(name, "") for name in SUM},
        "most_items": study_figures(study).items,
        "others": _others(request, study),
        "related": set(study.related_studies.values_list("related", flat=True)),
    }
    status = REFUSED if fault else 200
    return render(request, "annotation/researcher/places.html", context, status=status)


def _save_sum(request: HttpRequest, study: Study, now: SeatCapacity) -> str:
    """Store the numbers of the sum and say what they make.

    Annotators follow from the other numbers. A new number of annotators changes the items instead,
    and quota groups follow both.
    """
    items, per_item, answers_per_item, people = (_number(request, name, 1) for name in SUM)
    most = Item.objects.filter(study=study).count()
    if people != now.people and (items, per_item, answers_per_item) == _numbers(study, now):
        items = people * answers_per_item // per_item
    if not 1 <= items <= most:
        raise PlacesError(
            f"These numbers need {items:,} items, and the study has {most:,}. Change the answers "
            "per item, or the items per annotator"
        )
    study.human_sample = None if items == most else items
    study.annotations_per_item, study.items_per_annotator = per_item, answers_per_item
    save_settings(
        study,
        changed=["human_sample", "annotations_per_item", "items_per_annotator"],
        user=cast(User, request.user),
        version=_number(request, "version", 0, most=2**31),
    )
    after = places_of(study)
    quota = sum(group.target for group in after.groups)
    groups = f" The quota groups have {quota:,} places." if after.groups else ""
    return (
        f"{after.items:,} items × {per_item} answer{'' if per_item == 1 else 's'} = "
        f"{after.seats:,} answers, from {after.people:,} annotators with {answers_per_item} "
        f"item{'' if answers_per_item == 1 else 's'} each.{groups}"
    )


SUM = ("items", "annotations_per_item", "items_per_annotator", "people")


def _numbers(study: Study, now: SeatCapacity) -> tuple[int, int, int]:
    return now.items, study.annotations_per_item, study.items_per_annotator


def _places(study: Study) -> SeatCapacity:
    """The current capacity for the page; a change counts it again."""
    return kept(
        "places",
        study.pk,
        study.version,
        count=lambda: places_of(study),
        rows=lambda counts: counts.items,
    )


def _number(request: HttpRequest, name: str, least: int, *, most: int = _MOST_PLACES) -> int:
    number = whole_number(request.POST.get(name, ""), most=most)
    if number is None or number < least:
        raise PlacesError(f"Enter whole numbers from the current value to {most:,}")
    return number


def _others(request: HttpRequest, study: Study) -> list[Study]:
    """The studies that can be selected: those the editor can see, and those already selected."""
    named = RelatedStudy.objects.filter(study=study).values("related")
    seen = studies_for(request.user).exclude(pk=study.pk)
    chosen = seen | Study.objects.filter(pk__in=named)
    return list(chosen.distinct().order_by("title", "slug"))


@require_POST
@login_required
def related(request: HttpRequest, slug: str) -> HttpResponse:
    """Store the studies whose annotators are excluded; unknown studies are ignored."""
    study = get_study(request.user, slug, role=Membership.Role.EDITOR)
    chosen = set(request.POST.getlist("related"))
    try:
        set_related_studies(
            study_id=study.pk,
            related_ids=[other.pk for other in _others(request, study) if other.slug in chosen],
            seen=request.POST.get("seen"),
            user=cast(User, request.user),
        )
    except StaleVersion:
        messages.error(
            request,
            "Someone else changed this selection while you edited. Nothing was saved. The page "
            "shows their selection. Select again.",
        )
    else:
        messages.success(
            request,
            "Selection saved. Participants of the selected studies can no longer join this one.",
        )
    return redirect("people:places", slug)


@require_http_methods(["GET", "POST"])
@login_required
def invitations(request: HttpRequest, slug: str) -> HttpResponse:
    """The list of invited ids: its length, and a box to add more."""
    study = get_study(request.user, slug, role=Membership.Role.EDITOR)
    if study.entry != Study.Entry.LIST:
        raise Http404("this study has no list")
    text = fault = ""
    entry = reverse("annotation:entry", args=[slug])
    link = f"{settings.PUBLIC_BASE_URL}{entry}?PROLIFIC_PID="
    if request.method == "POST":
        text = request.POST.get("ids", "")
        with_links = pressed(request, "do", "links")
        try:
            invited = invite(study_id=study.pk, text=text, user=cast(User, request.user))
        except InvitationError as error:
            fault = str(error)
        else:
            if with_links:
                rows = [(word, f"{link}{key}") for word, key in ids_in(text).items()]
                return csv_response(f"{slug}-links", ("invited", "link"), rows)
            messages.success(
                request, f"Added: {invited.added:,}. Already on the list: {invited.known:,}."
            )
            return redirect("people:invitations", slug)
    on_list = Invitation.objects.filter(study=study)
    arrived = study.annotators.filter(is_imported=False).count()
    context = {
        "study": study,
        "text": text,
        "fault": fault,
        "invited": on_list.count(),
        "arrived": arrived,
        "link": link,
    }
    status = REFUSED if fault else 200
    return render(request, "annotation/researcher/invitations.html", context, status=status)
