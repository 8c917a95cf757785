"""Storing of answers, drafts and skips, each in one transaction, confirmed only after its commit.

Most requests of an open study come here.
"""

import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db import transaction
from django.db.models import Q

from annotation.content.added_questions import AddedForm
from annotation.content.texts import wording_sha256
from annotation.errors import AlreadyEnded, DraftChanged, InvalidAnswer, StudyNotOpen, WrongStep
from annotation.machine_signs import TOLERANCE_MS, TRAP_CERTAINTY
from annotation.models import (
    Annotation,
    AnnotationRevision,
    Annotator,
    Assignment,
    Draft,
    InitialAnswer,
    Translated,
)
from annotation.seats import assignment as seats
from annotation.seats import flow
from annotation.seats.item_statements import delete_draft, insert, locked_assignment, mark_answered
from studies.models import Choice, Item, Study
from studies.services.studies import freeze
from studies.statements import clock

# Late work is kept, with standing “released” until the annotator completes.
ANSWERING = {
    Annotator.State.ANNOTATING,
    Annotator.State.TIMED_OUT,
    Annotator.State.RETURNED,
}


@dataclass(frozen=True)
class EnteredAnswer:
    """An annotator's input at an item as displayed, which the form has checked, and its times.

    `choice` is a, b or tie. A screen with a whole set has a `ranking` instead: places on the screen
    from 0, that of the best response first. `active_ms` is the browser's time, `earlier_ms` the
    part of it before `shown_at`. `after_advice`: the page showed the item's advice, if it has one.
    `media_missing`: the annotator chose to answer without a picture or recording that did not load.
    `translated` is what a browser translated at any submission of the answer. `signals` are those
    of `annotation.machine_signs`, kept of the first submission. `added` are the forms of extras.
    """

    choice: str
    certainty: int | None = None
    certainty_control: str = ""
    ranking: Sequence[int] | None = None
    position: int | None = None
    shown_at: dt.datetime | None = None
    active_ms: int | None = None
    earlier_ms: int = 0
    after_advice: bool = False
    media_missing: bool = False
    translated: str = Translated.NOTHING
    signals: Mapping[str, int] | None = None
    added: Sequence[AddedForm] = ()


def record_answer(
    *, annotator: Annotator, assignment_id: int, entered: EnteredAnswer
) -> Annotation | InitialAnswer:
    """Store an answer in content terms: r1, r2 or tie. Commits before it returns.

    `annotator` must be freshly read with the study, because neither is read again; the study has
    the rules that they agreed to (`with_agreed_terms`).

    An identical repeat changes nothing, a different one is a revision; both delete the draft. An
    item with advice is answered twice: the first answer is stored as its `InitialAnswer`, whatever
    the browser claims, and the one after the advice is the item's answer.

    Raises `Assignment.DoesNotExist` (not this annotator's, or not at the position), `AlreadyEnded`,
    `InvalidAnswer`, `StudyNotOpen` (closed), `WrongStep` (a change that the study does not allow,
    or the study changed while its first answer was on its way).
    """
    study = annotator.study
    if study.state == Study.State.CLOSED:
        raise StudyNotOpen(study.state)
    certainty = _checked_certainty(study, entered)
    with transaction.atomic():
        # An attention check does not freeze the study.
        is_main = {"pk": assignment_id, "item__split": Item.Split.MAIN}
        if study.frozen_at is None and Assignment.objects.filter(**is_main).exists():
            freeze(study.pk)
            if not Study.objects.filter(pk=study.pk, version=study.version).exists():
                raise WrongStep(f"study {study.pk} changed while its first answer was on its way")
        assignment = locked_assignment(assignment_id, annotator.pk)
        if entered.position not in (None, assignment.position):
            raise Assignment.DoesNotExist(f"{assignment_id}, of annotator {annotator.pk}")
        annotator = assignment.annotator
        if annotator.state not in ANSWERING:
            raise AlreadyEnded(f"annotator {annotator.pk} is {annotator.state}")
        choice, ranking = _content(assignment, entered)
        shown_at = entered.shown_at
        submission: dict[str, Any] = {
            "choice": choice,
            "certainty": certainty,
            "shown_at": shown_at,
            "answered_at": clock.now(),
            "media_missing": entered.media_missing,
            "elapsed_ms": None if shown_at is None else _elapsed_ms(shown_at),
            "active_ms": believable_ms(entered.active_ms, shown_at, entered.earlier_ms),
        }
        if assignment.item.has_advice and _is_before_advice(assignment, entered):
            return _record_initial(assignment, submission)
        submission["ranking"] = ranking
        annotation = None
        if assignment.state != Assignment.State.RESERVED:  # a reserved one has none
            annotation = Annotation.objects.filter(assignment=assignment).first()
            if annotation:
                annotation.assignment = assignment
        delete_draft(assignment_id)
        if annotation and _is_repeat(annotation, submission, entered.added):
            return annotation
        if annotation and not study.allow_changes:
            raise WrongStep(f"the answer to assignment {assignment_id} is final in this study")

        # A tie has no certainty, and so no control for it.
        control = entered.certainty_control if certainty is not None else ""
        if annotation is None:
            annotation = insert(
                Annotation(
                    assignment=assignment,
                    certainty_asked=study.ask_certainty,
                    certainty_control=control,
                    standing=_standing_of(
                        assignment, is_late=annotator.state != Annotator.State.ANNOTATING
                    ),
                    wording_sha256=wording_sha256(
                        assignment.item, study, ranks=ranking is not None
                    ),
                    translated=entered.translated,
                    signals=_signals(study, assignment.item, entered, submission["active_ms"]),
                    **submission,
                )
            )
        else:
            annotation.revision += 1
            annotation.certainty_control = control
            # Ordered by what it says: nothing, the page, the texts.
            annotation.translated = max(annotation.translated, entered.translated)
            for field, value in submission.items():
                setattr(annotation, field, value)
            own = ["revision", "certainty_control", "translated"]
            annotation.save(update_fields=[*own, *submission])
        flow.end_first_answer_limit(annotator)
        insert(AnnotationRevision(annotation=annotation, number=annotation.revision, **submission))
        for form in entered.added:
            form.store(annotation)
    return annotation


def _content(
    assignment: Assignment, entered: EnteredAnswer
) -> tuple[str, dict[str, list[int]] | None]:
    """The choice in content terms, and the ranking of a whole set, which determines it."""
    order = assignment.option_order
    if order is None and entered.ranking is None:
        return assignment.as_content(entered.choice), None
    if order is None or sorted(entered.ranking or ()) != list(range(len(order))):
        raise InvalidAnswer(f"assignment {assignment.pk} needs {order or 'a choice'}")
    ranking = assignment.as_ranking(entered.ranking or ())
    return assignment.item.choice_of(ranking["ranking"]), ranking


def _standing_of(assignment: Assignment, *, is_late: bool) -> str:
    """Mark a locked assignment as answered and return the standing of its answer.

    An answer that arrives after the annotator's time or return waits until they complete.
    """
    is_check = assignment.item.split == Item.Split.ATTENTION_CHECK
    if is_late:
        if assignment.state == Assignment.State.SKIPPED:
            assignment.state = Assignment.State.RELEASED
            assignment.save(update_fields=["state"])
        return Annotation.Standing.CHECK if is_check else Annotation.Standing.RELEASED
    mark_answered(assignment, is_counted=not (is_check or assignment.is_surplus))
    if is_check:
        return Annotation.Standing.CHECK
    return Annotation.Standing.SURPLUS if assignment.is_surplus else Annotation.Standing.COUNTED


def _signals(
    study: Study, item: Item, entered: EnteredAnswer, spent: int | None
) -> Mapping[str, int] | None:
    """The signals to store, with two that the server finds.

    The browser stated more time than had passed; the answer follows the instruction for programs.
    """
    signals = entered.signals
    if signals and (entered.active_ms or 0) > (spent or 0) + TOLERANCE_MS:
        signals = {**signals, "impossible": 1}
    is_check = item.split == Item.Split.ATTENTION_CHECK
    if study.sets_trap and is_check and entered.certainty == TRAP_CERTAINTY:
        signals = {**(signals or {}), "trapped": 1}
    return signals


def _is_repeat(
    annotation: Annotation, submission: Mapping[str, Any], added: Sequence[AddedForm]
) -> bool:
    fields = ("choice", "ranking", "certainty", "media_missing")
    same = all(getattr(annotation, name) == submission[name] for name in fields)
    return same and all(form.is_stored(annotation) for form in added)


def _is_before_advice(assignment: Assignment, entered: EnteredAnswer) -> bool:
    """Whether this is the first answer: the page shows the advice only once that is stored."""
    if not entered.after_advice:
        return True
    return not InitialAnswer.objects.filter(assignment=assignment).exists()


def _record_initial(assignment: Assignment, submission: Mapping[str, Any]) -> InitialAnswer:
    """Store the answer before the advice, which cannot change once the advice was seen."""
    if known := InitialAnswer.objects.filter(assignment=assignment).first():
        return known
    delete_draft(assignment.pk)
    flow.end_first_answer_limit(assignment.annotator)
    return InitialAnswer.objects.create(assignment=assignment, **submission)


def _checked_certainty(study: Study, entered: EnteredAnswer) -> int | None:
    """The certainty to store: none with a tie, or if the study does not ask for it.

    Raises `InvalidAnswer` if the study does not offer the choice or the certainty.
    """
    if entered.choice == Choice.TIE and not study.allow_tie:
        raise InvalidAnswer(f"choice {entered.choice!r} is not offered")
    if entered.choice == Choice.TIE or not study.ask_certainty:
        return None
    if entered.certainty is None or not 1 <= entered.certainty <= 100:
        raise InvalidAnswer(f"certainty must be from 1 to 100, got {entered.certainty}")
    return entered.certainty


def believable_ms(
    active_ms: int | None, shown_at: dt.datetime | None, earlier_ms: int = 0
) -> int | None:
    """A browser's active time, limited to the elapsed time by the server's clock.

    It includes every visit to the item: `earlier_ms` is the stored time of visits before
    `shown_at`. The limit is needed because browsers can send any number, and it affects pay and
    flags.
    """
    if active_ms is None or shown_at is None:
        return active_ms if active_ms is None else max(0, active_ms)
    return min(max(0, active_ms), earlier_ms + _elapsed_ms(shown_at))


def _elapsed_ms(shown_at: dt.datetime) -> int:
    return max(0, round((clock.now() - shown_at).total_seconds() * 1000))


def stamp_of(assignment: Assignment) -> str:
    """The stamp of an item's current input: the answer's revision and the draft's version.

    It only grows, so an old stamp always reveals an outdated page.
    """
    revision = getattr(getattr(assignment, "annotation", None), "revision", 0)
    version = getattr(getattr(assignment, "draft", None), "version", 0)
    return f"{revision}.{version}"


def save_draft(
    *,
    annotator_id: int,
    assignment_id: int,
    stamp: str,
    choice: str = "",
    certainty: str = "",
    active_ms: int = 0,
    places: Mapping[str, int] | None = None,
    added: Sequence[AddedForm] = (),
) -> Draft:
    """Store the annotator's current input, in content terms and as typed.

    If a whole set is shown, `places` are those of its responses so far, by number. `added` are the
    forms of extras, filled in.

    `stamp` comes from the page or the last save. Raises `DraftChanged` instead of overwriting input
    that another tab has saved since; `Assignment.DoesNotExist` (not this annotator's),
    `AlreadyEnded`, `InvalidAnswer`.
    """
    if choice not in ("", *Choice.values):
        raise InvalidAnswer(f"choice {choice!r} is not offered")
    with transaction.atomic():
        # Storing the answer to this item takes the same lock.
        annotator = (
            Annotator.objects.select_for_update(no_key=True).only("state").get(pk=annotator_id)
        )
        if annotator.state not in ANSWERING:
            raise AlreadyEnded(f"annotator {annotator_id} is {annotator.state}")
        assignment = Assignment.objects.select_related("annotation", "draft").get(
            pk=assignment_id, annotator=annotator
        )
        if stamp != stamp_of(assignment):
            raise DraftChanged(f"assignment {assignment_id} has changed")
        draft = getattr(assignment, "draft", None) or Draft(assignment=assignment, version=0)
        draft.choice, draft.certainty, draft.active_ms = choice, certainty, active_ms
        draft.places = None if places is None else dict(places)
        draft.added = {form.name: form.draft(assignment) for form in added}
        draft.version += 1
        draft.save()
    return draft


@transaction.atomic
def skip_item(*, annotator_id: int, assignment_id: int) -> Assignment:
    """Store that the annotator skipped an item and release its seat; repeats change nothing.

    A skipped item counts as done for completion. Raises `Assignment.DoesNotExist` (not this
    annotator's), `AlreadyEnded`, `WrongStep` (the item has an answer, which stays).
    """
    annotator = flow.lock(annotator_id)
    if annotator.state not in ANSWERING:
        raise AlreadyEnded(f"annotator {annotator_id} is {annotator.state}")
    assignment = annotator.assignments.select_for_update(no_key=True).get(pk=assignment_id)
    if Annotation.objects.filter(assignment=assignment).exists():
        raise WrongStep(f"assignment {assignment_id} has an answer")
    Draft.objects.filter(assignment=assignment).delete()
    if assignment.state != Assignment.State.SKIPPED:
        seats.skip(assignment)
        flow.use_surplus(annotator.study, among=Q(item=assignment.item_id))
    return assignment
