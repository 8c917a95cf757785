"""The item pages: show an item, store an answer, a draft or a skip."""

from typing import Any

from django.core import signing
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_http_methods

from annotation.content.added_questions import added_at, added_forms
from annotation.content.consent_versions import with_agreed_terms
from annotation.errors import DraftChanged
from annotation.models import Annotator, Assignment
from annotation.participants.access import (
    bind,
    deadline_of,
    find_annotator,
    is_bound,
    participant_page,
    see_other,
    step_url,
)
from annotation.participants.forms import (
    LETTERS,
    AnswerForm,
    AssignmentToken,
    DraftForm,
    read_assignment_token,
)
from annotation.participants.item_context import (
    ProgressOnItems,
    entered,
    forms_at,
    next_url,
    progress_of,
    task_context,
    url_at,
)
from annotation.seats import flow
from annotation.seats.flow import ending_of, step_of
from annotation.seats.item_statements import annotator_of, assignment_at
from annotation.services import admission, answers
from studies.models import Item
from studies.pages.responses import REFUSED

TEMPLATE = "annotation/task.html"
CONFLICT = 409
_SKIPPED = Assignment.State.SKIPPED
# The header with which the page's script asks for the next item as the response.
ITEM = "text/vnd.thirdperson.item+html"


def _read_token(request: HttpRequest) -> AssignmentToken:
    try:
        return read_assignment_token(request.POST.get("assignment", ""))
    except signing.BadSignature:
        raise Http404("no assignment of ours") from None


def _find_answering(request: HttpRequest, slug: str) -> Annotator | None:
    """The browser's annotator; if its cookie is gone, the annotator of the form's token."""
    known = find_annotator(request, slug)
    if known or request.method != "POST":
        return known
    return annotator_of(slug, _read_token(request).annotator_id)


@require_http_methods(["GET", "POST"])
@participant_page("task", after_end=True, identify=_find_answering)
def task(request: HttpRequest, annotator: Annotator, position: int | None = None) -> HttpResponse:
    """Show one item; without a position, the first unanswered one."""
    if request.method == "POST":
        return _answer(request, annotator, position)
    if ending_of(annotator):
        return see_other(step_url(annotator))
    progress = progress_of(annotator.pk)
    current = progress.next_position if position is None else position
    if current is None:
        return see_other(step_url(annotator, "feedback"))
    is_turn = current == progress.next_position
    if not (is_turn or (annotator.study.allow_changes and progress.may_open(current))):
        return see_other(step_url(annotator, "task"))
    return _show(request, annotator, progress, current)


def _show(
    request: HttpRequest, annotator: Annotator, progress: ProgressOnItems, position: int
) -> HttpResponse:
    assignment = assignment_at(annotator, position)
    if assignment.item.split == Item.Split.LEFT_OUT and assignment.state == _SKIPPED:
        # Reached by going back: it was taken out before they answered.
        earlier = progress.before(position)
        return see_other(url_at(annotator, earlier or progress.next_position))
    added = forms_at(assignment)
    form = AnswerForm(
        study=annotator.study,
        task=assignment.item.task,
        initial=entered(assignment, added),
        options=len(assignment.option_order or ()),
        added=added,
    )
    context = task_context(assignment=assignment, progress=progress, form=form)
    return render(request, TEMPLATE, context)


def _answer(request: HttpRequest, annotator: Annotator, position: int | None) -> HttpResponse:
    """Store an answer, even a late one, and redirect to the next item."""
    token = _read_token(request)
    if annotator.pk != token.annotator_id:
        raise Http404("the assignment is somebody else's")
    form = _posted_form(request, annotator, token)
    if not form.is_valid():
        return _refused(request, annotator, token, position)
    if flow.lost_place_unanswered(annotator):
        # This annotator has only read so far. The first answer takes seats again if any are free.
        annotator = with_agreed_terms(admission.resume(annotator_id=annotator.pk))
        request.deadline = deadline_of(annotator)  # type: ignore[attr-defined]
    try:
        answer = answers.EnteredAnswer(
            position=position,
            shown_at=token.shown_at,
            earlier_ms=token.earlier_ms,
            after_advice=request.POST.get("after_advice") == "yes",
            **form.cleaned_data,
        )
        answers.record_answer(
            annotator=annotator, assignment_id=token.assignment_id, entered=answer
        )
    except Assignment.DoesNotExist:
        raise Http404("no such assignment at this position") from None
    if not is_bound(request, annotator):
        return bind(request, see_other(next_url(annotator)), annotator)
    goes_on = step_of(annotator) == "task" and not annotator.consent_due
    if request.headers.get("Accept") == ITEM and goes_on:
        return _next_item(request, annotator)
    return see_other(next_url(annotator))


def _posted_form(request: HttpRequest, annotator: Annotator, token: AssignmentToken) -> AnswerForm:
    """The submitted form; its item is read only in a study that asks for more than a choice."""
    study, options, added = annotator.study, 0, added_forms(annotator.study)
    if study.shows_whole_sets or added:
        assignment = get_object_or_404(
            Assignment.objects.select_related("item"), pk=token.assignment_id, annotator=annotator
        )
        assignment.annotator = annotator
        options = len(assignment.option_order or ())
        added = added_at(assignment, after_advice=request.POST.get("after_advice") == "yes")
    return AnswerForm(request.POST, study=study, task=study.task, options=options, added=added)


def _next_item(request: HttpRequest, annotator: Annotator) -> HttpResponse:
    """The next item in the same response, for the page's script; after the last, a redirect."""
    progress = progress_of(annotator.pk)
    position = progress.next_position
    if position is None:
        return see_other(url_at(annotator, position))
    request.path = url_at(annotator, position)
    response = _show(request, annotator, progress, position)
    response.headers["Content-Location"] = request.path
    return response


def _refused(
    request: HttpRequest, annotator: Annotator, token: AssignmentToken, position: int | None
) -> HttpResponse:
    """Show the item again, with its errors."""
    at = get_object_or_404(annotator.assignments.only("position"), pk=token.assignment_id).position
    if position not in (None, at):
        raise Http404("the assignment is at another position")
    assignment = assignment_at(annotator, at)
    form = AnswerForm(
        request.POST,
        study=annotator.study,
        task=assignment.item.task,
        options=len(assignment.option_order or ()),
        added=added_at(assignment, after_advice=request.POST.get("after_advice") == "yes"),
    )
    context = task_context(
        assignment=assignment,
        progress=progress_of(annotator.pk),
        form=form,
        earlier_ms=answers.believable_ms(form.active_ms, token.shown_at, token.earlier_ms),
    )
    return render(request, TEMPLATE, context, status=REFUSED)


@require_http_methods(["POST"])
@participant_page("task", after_end=True, identify=_find_answering)
def skip(request: HttpRequest, annotator: Annotator, position: int) -> HttpResponse:
    """Skip an item that the annotator does not want to judge, and redirect to the next."""
    token = _read_token(request)
    assignment = get_object_or_404(
        Assignment.objects.only("pk"),
        pk=token.assignment_id,
        annotator=annotator.pk if annotator.pk == token.annotator_id else None,
        position=position,
    )
    answers.skip_item(annotator_id=annotator.pk, assignment_id=assignment.pk)
    return see_other(next_url(annotator))


@require_http_methods(["POST"])
@participant_page("task", after_end=True, identify=_find_answering)
def draft(request: HttpRequest, annotator: Annotator, position: int) -> HttpResponse:
    """Store the current input; if another tab was faster, return the stored input."""
    token = _read_token(request)
    assignment = get_object_or_404(
        Assignment.objects.only("annotator", "position", "shown_first", "option_order"),
        pk=token.assignment_id,
        annotator=annotator.pk if annotator.pk == token.annotator_id else None,
        position=position,
    )
    form = DraftForm(request.POST)
    if not form.is_valid():
        return JsonResponse({"errors": form.errors}, status=REFUSED)
    entries: dict[str, Any] = form.cleaned_data
    spent = answers.believable_ms(entries["active_ms"], token.shown_at, token.earlier_ms)
    entries["active_ms"] = spent or 0
    if entries["choice"]:
        entries["choice"] = assignment.as_content(entries["choice"])
    if order := assignment.option_order:
        numbers = dict(zip(LETTERS, order, strict=False))
        entries["places"] = {str(numbers[k]): n for k, n in form.places.items() if k in numbers}
    added = forms_at(assignment_at(annotator, position)) if added_forms(annotator.study) else []
    for extra_form in added:
        extra_form.fill(request.POST)
    try:
        answers.save_draft(
            annotator_id=annotator.pk, assignment_id=assignment.pk, added=added, **entries
        )
        status = 200
    except DraftChanged:
        status = CONFLICT
    now = assignment_at(annotator, position)
    return JsonResponse({"stamp": answers.stamp_of(now), **entered(now, added)}, status=status)
