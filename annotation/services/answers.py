"""Store an answer: one transaction, and no success before its commit."""

import datetime as dt

from django.db import transaction
from django.utils import timezone

from annotation.content.wording import wording_for
from annotation.errors import AlreadyEnded, InvalidAnswer, StudyNotOpen, WrongStep
from annotation.models import Annotation, AnnotationRevision, Annotator, Assignment, Draft
from annotation.seats import assignment as seats
from annotation.seats import first_answers
from studies.models import Choice, Item, Study
from studies.services.studies import freeze

# Late work is kept: its standing is released until the annotator completes.
ANSWERING = {
    Annotator.State.ANNOTATING,
    Annotator.State.TIMED_OUT,
    Annotator.State.RETURNED,
}


def record_answer(
    *,
    annotator_id: int,
    assignment_id: int,
    choice: str,
    certainty: int | None = None,
    shown_at: dt.datetime | None = None,
    active_ms: int | None = None,
    certainty_control: str = "",
) -> Annotation:
    """Store an answer in content terms (`Assignment.as_content` translates a, b, tie).

    An identical repeat changes nothing, a different one is a revision; the draft is deleted either
    way. Commits before it returns.

    Raises `Assignment.DoesNotExist` (not this annotator's), `AlreadyEnded`, `InvalidAnswer`,
    `StudyNotOpen` (closed), `WrongStep` (a change that the study does not allow).
    """
    study = Study.objects.only(
        "state", "frozen_at", "allow_tie", "ask_certainty", "allow_changes"
    ).get(annotators=annotator_id)
    if study.state == Study.State.CLOSED:
        raise StudyNotOpen(study.state)
    certainty = _checked_certainty(study, choice, certainty)
    with transaction.atomic():
        if study.frozen_at is None and _is_of_the_study(assignment_id):
            freeze(study.pk)
        # A transaction that ends this annotator's part waits for this lock, and this one for it.
        annotator = (
            Annotator.objects.select_for_update(no_key=True)
            .only("state", "first_answer_by")
            .get(pk=annotator_id)
        )
        assignment = (
            Assignment.objects.select_for_update(no_key=True, of=("self",))
            .select_related("item")
            .only("annotator", "state", "is_surplus", "item__task", "item__split")
            .get(pk=assignment_id, annotator=annotator)
        )
        if annotator.state not in ANSWERING:
            raise AlreadyEnded(f"annotator {annotator_id} is {annotator.state}")
        annotation = _present_answer(assignment)
        Draft.objects.filter(assignment=assignment).delete()
        if annotation and (annotation.choice, annotation.certainty) == (choice, certainty):
            return annotation
        if annotation and not study.allow_changes:
            raise WrongStep(f"the answer to assignment {assignment_id} is final in this study")

        now = timezone.now()
        # A tie has no certainty, and no control it was entered with.
        control = certainty_control if certainty is not None else ""
        submission = {
            "choice": choice,
            "certainty": certainty,
            "shown_at": shown_at,
            "answered_at": now,
            **_durations(now, shown_at, active_ms),
        }
        if annotation is None:
            annotation = Annotation.objects.create(
                assignment=assignment,
                certainty_asked=study.ask_certainty,
                certainty_control=control,
                standing=seats.occupy(
                    assignment, is_late=annotator.state != Annotator.State.ANNOTATING
                ),
                wording_sha256=wording_for(assignment.item, study).sha256,
                **submission,
            )
        else:
            annotation.revision += 1
            annotation.certainty_control = control
            for field, value in submission.items():
                setattr(annotation, field, value)
            annotation.save(update_fields=["revision", "certainty_control", *submission])
        first_answers.answered(annotator)
        AnnotationRevision.objects.create(
            annotation=annotation, number=annotation.revision, **submission
        )
    return annotation


def _checked_certainty(study: Study, choice: str, certainty: int | None) -> int | None:
    """The certainty to store: none with a tie or if the study does not ask for it.

    Raises `InvalidAnswer` when the study does not offer the choice or the certainty.
    """
    if choice not in Choice.values or (choice == Choice.TIE and not study.allow_tie):
        raise InvalidAnswer(f"choice {choice!r} is not offered")
    if choice == Choice.TIE or not study.ask_certainty:
        return None
    if certainty is None or not 1 <= certainty <= 100:
        raise InvalidAnswer(f"certainty must be from 1 to 100, got {certainty}")
    return certainty


def _is_of_the_study(assignment_id: int) -> bool:
    """Whether the item is one that the study judges: an attention check freezes nothing."""
    return Assignment.objects.filter(pk=assignment_id, item__split=Item.Split.MAIN).exists()


def _present_answer(assignment: Assignment) -> Annotation | None:
    """The answer of the assignment; a reserved assignment has none, so no query is made."""
    if assignment.state == Assignment.State.RESERVED:
        return None
    return Annotation.objects.filter(assignment=assignment).first()


def _durations(
    now: dt.datetime, shown_at: dt.datetime | None, active_ms: int | None
) -> dict[str, int | None]:
    """Elapsed time by the server's clock since the page was last shown, and active time.

    The browser counts active time over every visit to the item, so after a reload the active time
    may be the longer one.
    """
    elapsed = None
    if shown_at is not None:
        elapsed = max(0, round((now - shown_at).total_seconds() * 1000))
    return {
        "elapsed_ms": elapsed,
        "active_ms": None if active_ms is None else max(0, active_ms),
    }
