"""A person's request: show what is stored of them, correct it, withdraw or delete it."""

import json
import re
import secrets
from collections import Counter
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import ForeignKey, ManyToOneRel, Model, Q, QuerySet

from annotation.errors import AlreadyEnded, AnnotationError
from annotation.models import (
    Annotation,
    Annotator,
    AnnotatorEvent,
    Assignment,
    Bonus,
    BonusPayment,
    DemographicQuestion,
    Invitation,
    ProlificEvent,
    ProlificIdentity,
    ProlificSubmission,
    random_code,
)
from annotation.seats import flow
from annotation.services.endings import withdraw
from annotation.services.identities import forget_payments, identity_hashes, imported_hashes
from studies.held_copies import MORE, HeldCopy, PersonalRows, PersonIn
from studies.models import Item, RemovedPerson, Study, StudyLog
from studies.services.studies import lock_study, record
from studies.services.whole_studies import backups_with, delete_with_all_that_refers

REQUEST = "person’s request"


class RequestError(AnnotationError):
    """What a person asked for cannot be done now; the message says why."""


def person_in(annotator: Annotator) -> PersonIn:
    """The annotator as apps see them who look for copies."""
    left = annotator.events.filter(event="state", after=Annotator.State.WITHDREW).first()
    until = left.created_at if left else None
    return PersonIn(annotator.study, annotator.pseudonym, annotator.created_at, until)


def held(annotator: Annotator) -> list[HeldCopy]:
    """Files, links and backups that may contain the person's data."""
    person = person_in(annotator)
    backups = [
        HeldCopy(
            f"backup {backup.pk}",
            "Backup of the whole installation",
            backup.taken_at,
            f"{backup.file}. Backups are not changed. The administrator of this server can delete "
            "the file; after restoring it, carry out the request again.",
        )
        for backup in backups_with(annotator.study)
        if backup.taken_at >= person.since and (person.until is None or _before(backup, person))
    ]
    copies = [copy for source in MORE for copy in source.copies(person)]
    return sorted([*copies, *backups], key=lambda copy: copy.when, reverse=True)


def _before(backup: Any, person: PersonIn) -> bool:
    """Whether a backup is of before the deletion; a withdrawal alone leaves the answers."""
    events = AnnotatorEvent.objects.filter(event=AnnotatorEvent.DELETED)
    own = events.filter(annotator__study=person.study, annotator__pseudonym=person.name)
    gone = own.first()
    return gone is None or bool(backup.taken_at <= gone.created_at)


def stored(annotator: Annotator) -> list[PersonalRows]:
    """Every row about a person, as readable tables; empty ones are left out."""
    own: list[PersonalRows] = [("Their part", [_values(annotator)])]
    own += [("Items and answers", _answers(annotator))]
    own += list(_rows_of(Annotator, pk=annotator.pk))
    ids = annotator.prolific_submissions.values("submission_id")
    own += [("Notices of the platform", _all(ProlificEvent.objects.filter(resource_id__in=ids)))]
    listed = Invitation.objects.filter(pk__in=_invitations_of(annotator))
    own += [("Entry on the list of invited people", _all(listed))]
    own += [("Entries of the study’s activity", _all(_log(annotator)))]
    person = person_in(annotator)
    own += [table for source in MORE for table in source.rows(person)]
    return [(title, rows) for title, rows in own if rows]


def _log(annotator: Annotator) -> QuerySet[StudyLog]:
    name = annotator.pseudonym
    about = Q(detail__rater=name) | Q(detail__to=name)  # `to`: to whom one wrote
    return StudyLog.objects.filter(about, study=annotator.study)


def _all(rows: QuerySet[Any]) -> list[Mapping[str, Any]]:
    return [_values(row) for row in rows]


def _answers(annotator: Annotator) -> list[Mapping[str, Any]]:
    rows = annotator.assignments.filter(annotation__isnull=False).order_by("position")
    answers: list[Mapping[str, Any]] = []
    for seat in rows.select_related("item", "annotation"):
        item, answer = seat.item, seat.annotation
        texts = {side: getattr(item, side).get("text", "") for side in ("r1", "r2")}
        answers.append(
            {
                "item": item.key,
                "question": item.question,
                "first response": texts.get(seat.shown_first or "r1", ""),
                "second response": texts.get(seat.shown_second, ""),
                "answer": texts.get(answer.choice, answer.get_choice_display()),
                "certainty": answer.certainty,
                "answered": _text(answer.answered_at),
            }
        )
    return answers


def _rows_of(model: type[Model], **lookups: object) -> Iterator[PersonalRows]:
    """The rows that refer to those of `lookups`, and those that refer to them, table by table."""
    for relation in model._meta.get_fields(include_hidden=True):
        if not isinstance(relation, ManyToOneRel) or relation.related_model in (model, None):
            continue
        below = {f"{relation.field.name}__{way}": value for way, value in lookups.items()}
        table = relation.related_model
        rows = table._base_manager.filter(**below).select_related().order_by("pk")
        yield str(table._meta.verbose_name_plural).capitalize(), [_values(row) for row in rows]
        yield from _rows_of(table, **below)


def _values(row: Model) -> dict[str, Any]:
    """The values of a row by column, without numbers of rows and names of researchers."""
    values: dict[str, Any] = {}
    if item := _item_of(row):
        values["item"] = item.key
    for column in row._meta.concrete_fields:
        if column.primary_key or isinstance(column, ForeignKey):
            continue
        value = getattr(row, column.attname)
        if value not in (None, "", [], {}):
            values[str(column.verbose_name)] = _text(value)
    return values


def _item_of(row: Model) -> Item | None:
    """The item that a row is about, directly or by the rows that it refers to."""
    for column in row._meta.concrete_fields:
        if not isinstance(column, ForeignKey) or column.null:
            continue
        value = getattr(row, column.name)
        if isinstance(value, Item):
            return value
        if not isinstance(value, Annotator | Study | User) and (item := _item_of(value)):
            return item
    return None


def _text(value: Any) -> Any:
    if isinstance(value, datetime):
        return f"{value:%Y-%m-%d %H:%M:%S} UTC"
    return json.dumps(value, ensure_ascii=False) if isinstance(value, dict | list) else value


@transaction.atomic
def note(study: Study, done: str, *, user: User, **detail: Any) -> str:
    """Record in the study's log what was done for a request; returns its reference."""
    reference = secrets.token_hex(6)
    record(study, REQUEST, user=user, done=done, reference=reference, **detail)
    return reference


@transaction.atomic
def correct(
    *, annotator_id: int, demographics: Mapping[str, str], feedback: str, user: User
) -> str | None:
    """Change what somebody said of themselves; returns a reference, or None without a change.

    The log names the questions, not the answers. Places and seats stay. Raises `RequestError` for
    an answer that the question does not have.
    """
    annotator = flow.lock(annotator_id)
    now = dict(annotator.demographics)
    questions = DemographicQuestion.objects.filter(study=annotator.study)
    for question in questions:
        value = demographics.get(question.key, "")
        if value and value not in dict(question.choices()) and value != now.get(question.key):
            raise RequestError(f"“{question.label}” has no answer “{value[:80]}”. Choose another.")
        now = {key: answer for key, answer in now.items() if key != question.key}
        now |= {question.key: value} if value else {}
    before = annotator.demographics
    changed = sorted(k for k in {*now, *before} if now.get(k) != before.get(k))
    changed += ["feedback"] if feedback != annotator.feedback else []
    if not changed:
        return None
    annotator.demographics, annotator.feedback = now, feedback
    annotator.save(update_fields=["demographics", "feedback"])
    AnnotatorEvent.objects.create(
        annotator=annotator, user=user, event="corrected", detail={"fields": changed}
    )
    return note(annotator.study, "corrected", user=user, fields=changed)


@transaction.atomic
def withdraw_for(*, annotator_id: int, user: User) -> str:
    """End somebody's part at their request, as their own button does; returns a reference.

    Raises `RequestError` if their part has no answers to withdraw.
    """
    annotator = flow.lock(annotator_id)
    if annotator.is_imported:
        raise RequestError(
            "Answers that were read from a file cannot be withdrawn. Delete the person’s data, or "
            "exclude them from the analysis."
        )
    answers = _item_answers(annotator).count()
    try:
        withdraw(annotator_id=annotator_id)
    except AlreadyEnded:
        raise RequestError(
            f"Their part ended as “{annotator.get_state_display()}”, without answers to withdraw. "
            "Delete their data instead."
        ) from None
    return note(annotator.study, "withdrawn", user=user, answers=answers)


def _item_answers(annotator: Annotator) -> QuerySet[Annotation]:
    """Their answers to items, also to faulty ones, but not to checks and practice items."""
    splits = (Item.Split.MAIN, Item.Split.LEFT_OUT)
    return Annotation.objects.filter(
        assignment__annotator=annotator, assignment__item__split__in=splits
    )


def obstacle_to_deletion(annotator: Annotator) -> str:
    """Why somebody's data cannot be deleted now; empty if nothing is in the way."""
    submissions = annotator.prolific_submissions
    if submissions.exclude(status__in=ProlificSubmission.FINAL).exists():
        return (
            "Their submission on Prolific is not settled, and without its id nobody can pay them. "
            "Approve it or ask them to return it under Approve and pay. Then delete."
        )
    under_way = (BonusPayment.State.PREPARED, BonusPayment.State.READY, BonusPayment.State.SENT)
    open_lines = Bonus.objects.filter(is_open=True, payment__state__in=under_way)
    if open_lines.filter(submission__in=submissions.all()).exists():
        return "A bonus for them is being paid. Finish or cancel the payment. Then delete."
    return ""


# Tables that refer to a person and keep a row: the log of states, and payments.
_KEPT_TABLES = (AnnotatorEvent, ProlificSubmission)


@transaction.atomic
def delete(*, annotator_id: int, user: User) -> str:
    """Delete everything about a person but what `KEPT_AFTERWARDS` names; returns a reference.

    Their seats and place become free, and earlier reports and exports are superseded. A repeat
    returns the same reference. Raises `RequestError`.
    """
    annotator = flow.lock(annotator_id)
    if earlier := annotator.events.filter(event=AnnotatorEvent.DELETED).first():
        return str(earlier.detail["reference"])
    if obstacle := obstacle_to_deletion(annotator):
        raise RequestError(obstacle)
    was_imported, old = annotator.is_imported, annotator.pseudonym
    answers, before = _item_answers(annotator).count(), _counts(annotator)
    words = _ids_of(annotator)
    if was_imported:  # They hold no seats.
        delete_with_all_that_refers(Assignment, annotator=annotator.pk)
    try:
        withdraw(annotator_id=annotator_id)
    except AlreadyEnded:  # an ending without answers
        flow.give_back(annotator)
    annotator.refresh_from_db()
    person = person_in(annotator)
    for source in MORE:
        source.forget(person)
    new = f"deleted-{random_code(10)}"
    _rename(annotator, old, new, words)
    _delete_rows(annotator)
    forget_payments(annotator.prolific_submissions.all())
    annotator.pseudonym, annotator.resume_code = new, None
    annotator.demographics, annotator.feedback = {}, ""
    annotator.excluded_at, annotator.exclusion_reason = None, ""
    annotator.quota_group, annotator.failed_attention = None, False
    if was_imported:
        annotator.identity_hash = imported_hashes(old)[0]
    annotator.save()
    if answers:
        RemovedPerson.objects.create(study=annotator.study, own_answers=answers)
    rows = dict(sorted((before - _counts(annotator)).items()))
    reference = note(annotator.study, "deleted", user=user, rater=new, answers=answers, rows=rows)
    AnnotatorEvent.objects.create(
        annotator=annotator,
        user=user,
        event=AnnotatorEvent.DELETED,
        detail={"reference": reference},
    )
    return reference


# What stays after a deletion, and why. The page and the certificate say it.
KEPT_AFTERWARDS = (
    "that somebody took part, which steps they reached and when, and the version of the consent "
    "that they agreed to, under a new random name",
    "a keyed hash of their id, by which they are not asked or paid twice; without this server’s "
    "secret key it cannot be traced back",
    "the status, times and amounts of payments, without ids, for the accounts of the study",
    "entries of the study’s activity on them, under the new name",
    "what members of the study wrote elsewhere, such as notes on items, if it names the person",
)


def _counts(annotator: Annotator) -> Counter[str]:
    """The rows that refer to somebody, by table."""
    counts = Counter[str]()
    for title, rows in _rows_of(Annotator, pk=annotator.pk):
        counts[title.lower()] += len(rows)
    return counts


def _delete_rows(annotator: Annotator) -> None:
    """Delete every row that refers to the annotator."""
    submissions = annotator.prolific_submissions.values_list("submission_id", flat=True)
    ProlificEvent.objects.filter(resource_id__in=list(submissions)).delete()
    Invitation.objects.filter(pk__in=_invitations_of(annotator)).delete()
    for relation in Annotator._meta.get_fields(include_hidden=True):
        if isinstance(relation, ManyToOneRel) and relation.related_model not in (
            *_KEPT_TABLES,
            None,
        ):
            through = {f"{relation.field.name}__pk": annotator.pk}
            delete_with_all_that_refers(relation.related_model, **through)
    annotator.events.exclude(event="state").delete()
    annotator.events.update(detail={})


def _invitations_of(annotator: Annotator) -> list[int]:
    """The person's ids on the list of the study, also after a withdrawal deleted the other ids."""
    listed = Invitation.objects.filter(study=annotator.study).values_list("pk", "key")
    own = annotator.identity_hash
    return [pk for pk, key in listed if own and own in identity_hashes(key)]


_LEAST_LETTERS = 6  # an id of a list may be “3”, which stands for anything elsewhere


def _ids_of(annotator: Annotator) -> set[str]:
    """What names the person: in the study and on the platform. A withdrawal deletes the latter."""
    rows = annotator.prolific_submissions.values_list("submission_id", "participant")
    pids = ProlificIdentity.objects.filter(annotator=annotator).values_list("pid", flat=True)
    ids = {annotator.pseudonym, *pids, *(word for row in rows for word in row)}
    return {word for word in ids if len(word) >= _LEAST_LETTERS}


def _rename(annotator: Annotator, old: str, new: str, words: set[str]) -> None:
    """Replace the name in logs, of the study and of people who used the same browser.

    Researchers may have written it, or an id, in the reason for an exclusion or a bonus. A name
    that a file gave can be any word, so it is replaced only where it stands alone.
    """
    if annotator.is_imported:
        for entry in _log(annotator):
            entry.detail["rater"] = new
            entry.save(update_fields=["detail"])
    else:
        _replace_in_texts(annotator, words, new)
    others = AnnotatorEvent.objects.filter(annotator__study=annotator.study, detail__with=old)
    for event in others:
        event.detail["with"] = new
        event.save(update_fields=["detail"])


def _replace_in_texts(annotator: Annotator, words: set[str], new: str) -> None:
    """Replace any of the words in the study's log, and empty reasons of bonuses with one."""
    named = re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, sorted(words)))})(?!\w)")
    about = Q()
    for word in words:
        about |= Q(detail__icontains=word)
    for entry in StudyLog.objects.filter(about, study=annotator.study):
        entry.detail = _replaced(entry.detail, named, new)
        entry.save(update_fields=["detail"])
    for bonus in Bonus.objects.filter(submission__in=annotator.prolific_submissions.all()):
        if named.search(bonus.reason):
            bonus.reason = f"reason removed ({bonus.pk})"  # one payment has each reason once
            bonus.save(update_fields=["reason"])


def _replaced(value: Any, named: re.Pattern[str], new: str) -> Any:
    """The same structure with `new` in its texts."""
    if isinstance(value, dict):
        return {key: _replaced(part, named, new) for key, part in value.items()}
    if isinstance(value, list):
        return [_replaced(part, named, new) for part in value]
    return named.sub(new, value) if isinstance(value, str) else value


@transaction.atomic
def remove_invitation(*, study_id: int, invitation_id: int, user: User) -> str:
    """Remove an id from the list of a study; its link no longer works."""
    study = lock_study(study_id)
    Invitation.objects.filter(study=study, pk=invitation_id).delete()
    return note(study, "removed from the list", user=user)


def certificate_of(study: Study, reference: str) -> StudyLog | None:
    """The log entry on what was done for a request."""
    entries = StudyLog.objects.filter(study=study, event=REQUEST, detail__reference=reference)
    return entries.select_related("user").first()


def is_deleted(annotator: Annotator) -> bool:
    return annotator.events.filter(event=AnnotatorEvent.DELETED).exists()
