"""The pages between the instructions and the items: comprehension check and practice."""

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_safe

from annotation import services
from annotation.content.added_questions import added_forms
from annotation.content.comprehension import (
    OpenQuestion,
    open_question,
    practice_of,
    practice_order,
)
from annotation.models import Annotator
from annotation.participants.access import participant_page, see_other, step_url
from annotation.participants.forms import AnswerForm, QuizForm
from annotation.participants.item_context import item_context, next_url, shown_text
from annotation.seats.assignment import LATER
from annotation.seats.flow import step_of
from studies.models import Choice, Item, Study
from studies.pages.responses import REFUSED

_WAIT_SECONDS = 8


@require_safe
@participant_page("quiz")
def quiz_start(request: HttpRequest, annotator: Annotator) -> HttpResponse:
    """Redirect to the current question."""
    if step_of(annotator) != "quiz":
        return see_other(step_url(annotator))
    return see_other(_quiz_url(annotator, open_question(annotator)))


@require_http_methods(["GET", "POST"])
@participant_page("quiz")
def quiz(request: HttpRequest, annotator: Annotator, number: int) -> HttpResponse:
    """Show one question about the instructions; a finished question redirects to the open one."""
    now = open_question(annotator)
    if step_of(annotator) != "quiz" or now is None or now.number != number:
        return _after_quiz(annotator, now)
    form = QuizForm(request.POST if request.method == "POST" else None, question=now.question)
    if form.is_valid():
        annotator = services.answer_question(
            annotator_id=annotator.pk,
            number=number,
            option=form.cleaned_data["answer"],
            try_number=form.cleaned_data["try"],
        )
        after = open_question(annotator)
        if step_of(annotator) != "quiz":
            return see_other(next_url(annotator))
        if after is None or after.number != number:
            return _after_quiz(annotator, after)
        now = after
        form.add_error(
            "answer", _("That was not it. Read the sentence from the instructions, then try again")
        )
    context = {
        "study": annotator.study,
        "now": now,
        "form": form,
        "instructions_url": step_url(annotator, "instructions"),
    }
    status = REFUSED if form.is_bound else 200
    return render(request, "annotation/quiz.html", context, status=status)


def _after_quiz(annotator: Annotator, now: OpenQuestion | None) -> HttpResponse:
    if step_of(annotator) != "quiz":
        return see_other(step_url(annotator))
    return see_other(_quiz_url(annotator, now))


def _quiz_url(annotator: Annotator, now: OpenQuestion | None) -> str:
    """The page of the open question; the instructions if the questions were removed."""
    if now is None:
        annotator = services.pass_checks(annotator_id=annotator.pk)
        return step_url(annotator)
    return reverse("annotation:quiz-question", args=[annotator.study.slug, now.number])


@require_http_methods(["GET", "POST"])
@participant_page("practice")
def practice(request: HttpRequest, annotator: Annotator) -> HttpResponse:
    """Show a practice item, then feedback on the answer; nothing counts."""
    if step_of(annotator) != "practice":
        return see_other(step_url(annotator))
    if request.method == "POST" and "understood" in request.POST:
        annotator = services.finish_practice_item(
            annotator_id=annotator.pk, item_key=request.POST["understood"]
        )
        return see_other(next_url(annotator))
    progress = practice_of(annotator)
    if not progress.is_open:
        annotator = services.pass_checks(annotator_id=annotator.pk)
        if step_of(annotator) == "practice":
            return _wait(request, annotator)
        return see_other(step_url(annotator))
    if progress.answer is not None:
        return render(request, "annotation/practice_feedback.html", _feedback(annotator))
    item = progress.item
    item.study = annotator.study
    form = AnswerForm(
        request.POST if request.method == "POST" else None,
        study=annotator.study,
        task=item.task,
        added=added_forms(annotator.study),
    )
    shown_first = practice_order(annotator, item)
    if form.is_valid():
        services.practise(
            annotator_id=annotator.pk,
            item_key=item.key,
            choice=_as_content(form.cleaned_data["choice"], shown_first),
            certainty=form.cleaned_data["certainty"],
        )
        return see_other(step_url(annotator, "practice"))
    context = {
        **item_context(item=item, shown_first=shown_first, form=form, number=1),
        "action": step_url(annotator, "practice"),
        "draft_key": f"{annotator.study.slug}:practice:{item.key}",
    }
    status = REFUSED if form.is_bound else 200
    return render(request, "annotation/practice.html", context, status=status)


def _wait(request: HttpRequest, annotator: Annotator) -> HttpResponse:
    """The page of somebody whose items are not there yet; it asks again by itself."""
    [later, *_rest] = LATER.of(annotator.study)
    context = {"study": annotator.study, "continue_url": step_url(annotator)}
    response = render(request, later.template, context)
    response.headers["Refresh"] = str(_WAIT_SECONDS)
    return response


def _feedback(annotator: Annotator) -> dict[str, Any]:
    """The feedback on an answered practice item."""
    progress = practice_of(annotator)
    item, answer = progress.item, progress.answer
    assert answer is not None, "only an answered item has feedback"  # noqa: S101
    shown_first = practice_order(annotator, item)
    return {
        "study": annotator.study,
        "item": item,
        "chosen": _name(annotator.study, str(answer["choice"]), shown_first),
        "certainty": answer["certainty"],
        "truth": _name(annotator.study, item.first_person, shown_first)
        if item.first_person
        else "",
        "agrees": item.first_person == answer["choice"],
        "truth_text": _text(item, item.first_person),
        "last": progress.read + 1 == len(progress.items),
    }


def _as_content(displayed: str, shown_first: str) -> str:
    if displayed == "tie":
        return Choice.TIE
    second = Choice.R2 if shown_first == Choice.R1 else Choice.R1
    return shown_first if displayed == "a" else second


def _name(study: Study, choice: str, shown_first: str) -> str:
    if choice == Choice.TIE:
        return _("Either could be right") if study.offers_either else _("No clear difference")
    return _("Response A") if choice == shown_first else _("Response B")


def _text(item: Item, choice: str) -> str:
    if choice in ("", Choice.TIE):
        return ""
    return shown_text(item.study, item.response(choice)["text"])
