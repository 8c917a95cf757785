"""The comprehension check and the practice; repeating a finished step changes nothing."""

from django.db import transaction

from annotation.content.comprehension import PRACTICE_READ, PRACTISED, open_question, practice_of
from annotation.errors import InvalidAnswer
from annotation.models import Annotator, AnnotatorEvent, ComprehensionAnswer
from annotation.seats import flow
from annotation.services.steps import go_on, is_at

State = Annotator.State


@transaction.atomic
def answer_question(
    *, annotator_id: int, number: int, option: int, try_number: int | None = None
) -> Annotator:
    """Store a try at question `number`; the last wrong try ends the part.

    A `number` or a `try_number` in the past (a second press, another tab) changes nothing. Raises
    `InvalidAnswer`, `WrongStep`, `AlreadyEnded`.
    """
    annotator = flow.lock(annotator_id)
    if not is_at(annotator, State.INSTRUCTED):
        return annotator
    now = open_question(annotator)
    if now is None:
        return go_on(annotator)
    if number != now.number or try_number not in (None, now.try_number):
        return annotator
    if not 0 <= option < len(now.question.options):
        raise InvalidAnswer(f"question {now.question.pk} has no option {option}")
    is_right = option == now.question.right
    ComprehensionAnswer.objects.create(
        annotator=annotator,
        question=now.question,
        number=now.try_number,
        option=option,
        is_right=is_right,
    )
    if is_right:
        return go_on(annotator)
    if now.try_number == ComprehensionAnswer.TRIES:
        return flow.end(annotator, State.DISQUALIFIED, question=number)
    return annotator


@transaction.atomic
def pass_checks(*, annotator_id: int) -> Annotator:
    """Continue if nothing is left to do because the questions or practice items were removed."""
    return go_on(flow.lock(annotator_id))


@transaction.atomic
def practise(*, annotator_id: int, item_key: str, choice: str, certainty: int | None) -> Annotator:
    """Store the answer to the current practice item; it counts nowhere."""
    annotator = flow.lock(annotator_id)
    if not is_at(annotator, State.QUALIFIED):
        return annotator
    practice = practice_of(annotator)
    if practice.is_open and practice.answer is None and practice.item.key == item_key:
        AnnotatorEvent.objects.create(
            annotator=annotator,
            event=PRACTISED,
            detail={"item": item_key, "choice": choice, "certainty": certainty},
        )
    return annotator


@transaction.atomic
def finish_practice_item(*, annotator_id: int, item_key: str) -> Annotator:
    """Continue after the feedback on a practice item: to the next one, or to the items.

    Raises `WrongStep` before the practice, `NoItems` when the study has nothing to judge.
    """
    annotator = flow.lock(annotator_id)
    if not is_at(annotator, State.QUALIFIED):
        return annotator
    practice = practice_of(annotator)
    if practice.is_open and practice.answer is not None and practice.item.key == item_key:
        AnnotatorEvent.objects.create(
            annotator=annotator, event=PRACTICE_READ, detail={"item": item_key}
        )
    return go_on(annotator)
