"""The steps before the items. Repeating a finished step changes nothing."""

from django.db import transaction

from annotation.content import comprehension
from annotation.content.comprehension import PRACTICE_READ, PRACTISED, open_question, practice_of
from annotation.content.consent_versions import AGREED_AGAIN, keep_consent, promises_less
from annotation.content.texts import ConsentText
from annotation.errors import AlreadyEnded, InvalidAnswer, NoItems, StudyNotOpen, WrongStep
from annotation.models import Annotator, AnnotatorEvent, ComprehensionAnswer, DemographicQuestion
from annotation.seats import assignment, flow, quotas
from annotation.seats.assignment import is_doubtful
from annotation.seats.item_statements import update
from annotation.services.endings import expire_due
from annotation.services.other_platforms import is_on_prolific
from studies.models import Study

State = Annotator.State


@transaction.atomic
def consent(*, annotator_id: int, version: str, text: ConsentText | None = None) -> Annotator:
    """Store that the annotator agreed to the text with this version hash (`consent_text`).

    The `text` that they saw is stored too. Without questions about the annotator, they continue to
    the instructions.
    """
    # The questions are fixed once somebody has entered. Without any, a place is taken now.
    asks = DemographicQuestion.objects.filter(study__annotators=annotator_id).exists()
    annotator = flow.lock_alone(annotator_id) if asks else flow.lock(annotator_id)
    if text is not None and annotator.consent_due and annotator.state in flow.ACTIVE:
        return _agree_again(annotator, text)
    if not is_at(annotator, State.ARRIVED):
        return annotator
    if text is not None:
        keep_consent(annotator.study, text)
    annotator.consent_version = version
    update(annotator, ["consent_version"])
    flow.move(annotator, State.CONSENTED, version=version)
    for later in assignment.LATER.of(annotator.study):
        later.consented(annotator)
    if not asks:
        _screen(annotator)
    return annotator


def _agree_again(annotator: Annotator, text: ConsentText) -> Annotator:
    """Store that a locked annotator who was asked again agreed to the new version.

    If the pay was lowered since they were asked, the version that promises more stays theirs.
    """
    keep_consent(annotator.study, text)
    before = annotator.consent_version
    if not promises_less(annotator, text):
        annotator.consent_version = text.version
    annotator.consent_due = False
    annotator.save(update_fields=["consent_version", "consent_due"])
    AnnotatorEvent.objects.create(
        annotator=annotator,
        event=AGREED_AGAIN,
        detail={"before": before, "version": text.version},
    )
    return annotator


@transaction.atomic
def decline(*, annotator_id: int) -> Annotator:
    """End without consent."""
    annotator = flow.lock(annotator_id)
    if annotator.state == State.DECLINED:
        return annotator
    return flow.end(annotator, State.DECLINED)


@transaction.atomic
def record_demographics(*, annotator_id: int, demographics: dict[str, str]) -> Annotator:
    """Store the answers of “About you” and reserve a quota place: screened, or else quota_full.

    On Prolific, a full group never rejects an annotator whom the platform admitted: they do surplus
    work and are paid in full. Raises `InvalidAnswer` if an answer is missing or unknown,
    `WrongStep` before consent.
    """
    annotator = flow.lock(annotator_id)
    if not is_at(annotator, State.CONSENTED):
        return annotator
    questions = DemographicQuestion.objects.filter(study=annotator.study)
    answers: dict[str, str] = {}
    for question in questions:
        value = demographics.get(question.key)
        if value not in dict(question.choices()):
            raise InvalidAnswer(f"“{question.label}” has no answer that the study offers")
        answers[question.key] = value
    annotator.demographics = answers
    annotator.save(update_fields=["demographics"])
    _screen(annotator)
    return annotator


@transaction.atomic
def finish_instructions(*, annotator_id: int) -> Annotator:
    """Continue from the instructions to the study's next step.

    Without a comprehension check and practice, the annotator gets seats and sees items. Raises
    `WrongStep` if too early, `NoItems` if the study has nothing to judge.
    """
    annotator = flow.lock(annotator_id)
    if not is_at(annotator, State.SCREENED):
        return annotator
    flow.move(annotator, State.INSTRUCTED)
    return advance(annotator)


def advance(annotator: Annotator) -> Annotator:
    """Skip every step that is done or that the study lacks; seats come last.

    Where items appear during the study, the annotator may have to wait for seats. The annotator is
    locked together with the study. Raises `NoItems`.
    """
    if annotator.state == State.INSTRUCTED and comprehension.open_question(annotator) is None:
        flow.move(annotator, State.QUALIFIED)
    if annotator.state == State.QUALIFIED and not comprehension.practice_of(annotator).is_open:
        if expire_due(annotator.study):
            # A place that became free may be theirs now.
            annotator.refresh_from_db(fields=["works_surplus", "quota"])
        if any(later.holds(annotator) for later in assignment.LATER.of(annotator.study)):
            return annotator
        if not assignment.assign(annotator):
            raise NoItems("without items")
        flow.move(annotator, State.ANNOTATING)
    return annotator


@transaction.atomic
def leave_feedback(*, annotator_id: int, text: str, ai_use: str = "") -> None:
    """Store the annotator's comments, replacing earlier ones.

    Their statement about AI assistants is logged and has no effect.
    """
    annotator = flow.lock_alone(annotator_id)
    if annotator.state not in (State.ANNOTATING, State.COMPLETED):
        raise WrongStep(f"annotator {annotator.pk} is {annotator.state}")
    annotator.feedback = text
    annotator.save(update_fields=["feedback"])
    if ai_use:
        AnnotatorEvent.objects.create(
            annotator=annotator, event="declaration", detail={"ai_use": ai_use}
        )


def is_at(annotator: Annotator, state: str) -> bool:
    """Whether the annotator is at this step; False if it is already done.

    Raises `WrongStep` before it, `AlreadyEnded` after an ending, `StudyNotOpen` if closed.
    """
    order = list(flow.STEPS)
    if annotator.state not in order:
        raise AlreadyEnded(f"annotator {annotator.pk} is {annotator.state}")
    if annotator.study.state == Study.State.CLOSED:
        raise StudyNotOpen(annotator.study.state)
    if order.index(annotator.state) < order.index(state):
        raise WrongStep(f"annotator {annotator.pk} is {annotator.state}, not yet {state}")
    return annotator.state == state


def _screen(annotator: Annotator) -> None:
    """Reserve a quota place and continue, or end if the group is full."""
    # Annotators whose time is over may still hold places.
    expire_due(annotator.study)
    if annotator.works_surplus or is_doubtful(annotator):
        # The platform does not know them yet, or gave their place to someone else.
        quotas.find_group(annotator)
        annotator.works_surplus = True
        annotator.save(update_fields=["works_surplus"])
        flow.move(annotator, State.SCREENED, surplus=True)
    elif quotas.reserve(annotator):
        flow.move(annotator, State.SCREENED)
    elif is_on_prolific(annotator):
        annotator.works_surplus = True
        annotator.save(update_fields=["works_surplus"])
        flow.move(annotator, State.SCREENED, surplus=True)
    else:
        flow.end(annotator, State.QUOTA_FULL)


@transaction.atomic
def answer_question(
    *, annotator_id: int, number: int, option: int, try_number: int | None = None
) -> Annotator:
    """Store a try at question `number`; the last wrong try ends the part.

    A past `number` or `try_number` (a second press, another tab) changes nothing. Raises
    `InvalidAnswer`, `WrongStep`, `AlreadyEnded`.
    """
    annotator = flow.lock(annotator_id)
    if not is_at(annotator, State.INSTRUCTED):
        return annotator
    now = open_question(annotator)
    if now is None:
        return advance(annotator)
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
        return advance(annotator)
    if now.try_number == ComprehensionAnswer.TRIES:
        return flow.end(annotator, State.DISQUALIFIED, question=number)
    return annotator


@transaction.atomic
def pass_checks(*, annotator_id: int) -> Annotator:
    """Continue if the questions or practice items were removed."""
    return advance(flow.lock(annotator_id))


@transaction.atomic
def practise(*, annotator_id: int, item_key: str, choice: str, certainty: int | None) -> Annotator:
    """Store the answer to the current practice item, which counts nowhere."""
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
    """Continue after feedback on a practice item, to the next one or to the items.

    Raises `WrongStep` before the practice, `NoItems` if the study has nothing to judge.
    """
    annotator = flow.lock(annotator_id)
    if not is_at(annotator, State.QUALIFIED):
        return annotator
    practice = practice_of(annotator)
    if practice.is_open and practice.answer is not None and practice.item.key == item_key:
        AnnotatorEvent.objects.create(
            annotator=annotator, event=PRACTICE_READ, detail={"item": item_key}
        )
    return advance(annotator)
