"""Messages to annotators on Prolific: drafted here, sent by a user, to nobody twice.

Each recipient is stored as “sending” before the request. After a crash or a lost answer, Prolific's
own list of messages says who has received it; only the others are sent it again.
"""

import datetime as dt
import html
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Q, QuerySet

from annotation.models import Annotator, ProlificSubmission
from annotation.prolific.api import types
from annotation.prolific.api.claims import claimed
from annotation.prolific.api.client import ProlificClient, connect
from annotation.prolific.api.transport import (
    NotAllowed,
    NotFound,
    ProlificError,
    ProlificRejected,
)
from annotation.researchers.reaching import AUDIENCES, ONE_PERSON, Audience
from annotation.seats import flow
from extras.messages.models import MessageRecipient, ProlificMessage
from extras.messages.remote import messages_with, write
from studies.models import Study
from studies.services.studies import record
from studies.statements import clock

LONGEST = 3000
_TOGETHER = 50
# Prolific may show a message some time after it accepted it, and its clock differs from ours.
_SHOWN_WITHIN, _CLOCKS_DIFFER = dt.timedelta(minutes=1), dt.timedelta(minutes=2)
_To = MessageRecipient.State
_State = Annotator.State


def _in_states(*states: str) -> Callable[[Study], QuerySet[Annotator]]:
    return lambda study: Annotator.objects.filter(study=study, state__in=states)


def _asked_to_return(study: Study) -> QuerySet[Annotator]:
    waiting = ProlificSubmission.objects.filter(
        prolific_study__study=study,
        status=types.AWAITING_REVIEW,
        return_requested_at__isnull=False,
    )
    return Annotator.objects.filter(study=study, prolific_submissions__in=waiting)


_OWN = (
    Audience("everybody", "Everybody who arrived", lambda s: Annotator.objects.filter(study=s)),
    Audience("working", "At work now", _in_states(*flow.ACTIVE)),
    Audience("completed", "Completed", _in_states(_State.COMPLETED)),
    Audience("left", "Returned or timed out", _in_states(_State.RETURNED, _State.TIMED_OUT)),
    Audience("return", "Asked to return, and not returned yet", _asked_to_return),
)


def audiences(study: Study) -> list[Audience]:
    """The groups of people that a message can go to."""
    groups = [
        Audience(
            f"group-{group.pk}",
            f"Quota group: {group}",
            lambda s, pk=group.pk: Annotator.objects.filter(study=s, quota_group=pk),  # type: ignore[misc]
        )
        for group in study.quota_groups.all()
    ]
    return [*_OWN, *AUDIENCES, *groups]


def audience_of(study: Study, name: str) -> Audience:
    """The audience with this name. Raises `NotAllowed`."""
    if name.startswith(ONE_PERSON):
        pseudonym = name.removeprefix(ONE_PERSON)
        one = Annotator.objects.filter(study=study, pseudonym=pseudonym)
        if one.exists():
            return Audience(
                name, pseudonym, lambda s: Annotator.objects.filter(study=s, pseudonym=pseudonym)
            )
    for audience in audiences(study):
        if audience.name == name:
            return audience
    raise NotAllowed("Choose who gets the message.")


def recipients_of(study: Study, audience: Audience) -> list[ProlificSubmission]:
    """The newest submission of each person in the audience whom Prolific can reach.

    People who declined or withdrew, and those whose ids were deleted, get no messages.
    """
    found = (
        ProlificSubmission.objects.filter(
            prolific_study__study=study, annotator__in=audience.find(study)
        )
        .exclude(participant="")
        .exclude(annotator__state__in=[_State.WITHDREW, _State.DECLINED])
        .select_related("annotator", "prolific_study")
        .order_by("started_at", "pk")
    )
    return sorted({one.annotator_id: one for one in found}.values(), key=lambda one: one.pk)


def save_draft(
    *,
    study_id: int,
    audience: str,
    text: str,
    user: User | None = None,
    draft_id: int | None = None,
) -> ProlificMessage:
    """Store a draft, or change one that was not sent. Raises `NotAllowed`."""
    study = Study.objects.get(pk=study_id)
    audience_of(study, audience)
    text = text.replace("\r\n", "\n").strip()
    if not text:
        raise NotAllowed("Write the text of the message.")
    if len(text) > LONGEST:
        raise NotAllowed(f"The text has {len(text):,} characters. Shorten it to {LONGEST:,}.")
    if draft_id is None:
        return ProlificMessage.objects.create(study=study, audience=audience, text=text, user=user)
    changed = ProlificMessage.objects.filter(study=study, pk=draft_id, sent_at=None)
    if not changed.update(audience=audience, text=text):
        raise NotAllowed("This message was sent and cannot be changed. Write another one.")
    return ProlificMessage.objects.get(pk=draft_id)


def delete_draft(*, study_id: int, message_id: int) -> None:
    """Delete a message that was not sent. Raises `NotAllowed`."""
    if not ProlificMessage.objects.filter(study=study_id, pk=message_id, sent_at=None).delete()[0]:
        raise NotAllowed("This message was sent. It stays in the list.")


@dataclass(frozen=True)
class MessageCounts:
    """The recipients of a sent message; `unsure` may have received it."""

    people: int
    sent: int
    refused: int
    unsure: int

    @property
    def left(self) -> int:
        """How many are still to be sent it or looked up."""
        return self.people - self.sent - self.refused


def counts_of(messages: Iterable[ProlificMessage]) -> dict[int, MessageCounts]:
    """How far each message was sent, in one query."""
    found: defaultdict[int, Counter[str]] = defaultdict(Counter)
    rows = MessageRecipient.objects.filter(message__in=list(messages))
    for message, state in rows.values_list("message", "state"):
        found[message][state] += 1
    return {
        pk: MessageCounts(
            states.total(), states[_To.SENT], states[_To.REFUSED], states[_To.SENDING]
        )
        for pk, states in found.items()
    }


def send(
    *, study_id: int, message_id: int, confirmed: int, user: User | None = None
) -> MessageCounts:
    """Send a message to as many people as a user confirmed, or go on where it stopped.

    A refused recipient does not keep the others from getting it. Raises `NotAllowed` if the number
    of people has changed, and `ProlificError`; calling it again continues.
    """
    study = Study.objects.get(pk=study_id)
    client = connect(study_id)
    with claimed(study_id, client):
        message = ProlificMessage.objects.filter(study=study, pk=message_id).first()
        if message is None:
            raise NotAllowed("This draft was deleted.")
        if message.sent_at is None:
            _begin(study, message, confirmed, user)
        _look_up(client, message.recipients.filter(state=_To.SENDING))
        for study_on_prolific, people in _batches(message):
            _send(client, message.text, study_on_prolific, people)
    return counts_of([message])[message.pk]


@transaction.atomic
def _begin(study: Study, message: ProlificMessage, confirmed: int, user: User | None) -> None:
    """Store the recipients; from here on, the message is sent to these and nobody else."""
    audience = audience_of(study, message.audience)
    people = recipients_of(study, audience)
    if not people:
        raise NotAllowed("Prolific can reach none of these people now. Choose others.")
    if len(people) != confirmed:
        raise NotAllowed(f"The message now goes to {len(people):,} people. Check it, then send.")
    MessageRecipient.objects.bulk_create(
        MessageRecipient(message=message, submission=one) for one in people
    )
    message.sent_at, message.user = clock.now(), user or message.user
    message.save(update_fields=["sent_at", "user"])
    record(
        study,
        "message on Prolific",
        user=user,
        people=len(people),
        to=audience.title,
        message=message.pk,
    )


def _batches(message: ProlificMessage) -> list[tuple[str, list[MessageRecipient]]]:
    """Those who are still to get it, by their study on Prolific and some at a time."""
    waiting = message.recipients.filter(state=_To.WAITING)
    # Their ids were deleted, or they withdrew, since the message was sent.
    unreachable = waiting.filter(Q(submission=None) | Q(submission__participant=""))
    gone = list(unreachable.values_list("pk", flat=True))
    message.recipients.filter(pk__in=gone).update(state=_To.REFUSED)
    by_study: defaultdict[str, list[MessageRecipient]] = defaultdict(list)
    for one in waiting.select_related("submission__prolific_study"):
        assert one.submission is not None  # noqa: S101  the others are refused
        by_study[str(one.submission.prolific_study.prolific_id)].append(one)
    return [
        (study, people[start : start + _TOGETHER])
        for study, people in by_study.items()
        for start in range(0, len(people), _TOGETHER)
    ]


def _send(
    client: ProlificClient, text: str, study_id: str, people: Sequence[MessageRecipient]
) -> None:
    """Send a message to some people; if Prolific refuses all of them, to each one alone."""
    rows = MessageRecipient.objects.filter(pk__in=[one.pk for one in people])
    rows.update(state=_To.SENDING, tried_at=clock.now())
    ids = [one.submission.participant for one in people if one.submission]
    try:
        write(client, ids, text, study_id=study_id)
    except (ProlificRejected, NotFound):
        if len(people) == 1:
            rows.update(state=_To.REFUSED)
            return
        _look_up(client, rows, waits=False)
        for one in rows.filter(state=_To.WAITING).select_related("submission"):
            _send(client, text, study_id, [one])
    except ProlificError as error:
        if not error.outcome_unknown:
            rows.update(state=_To.WAITING)
        raise
    else:
        rows.update(state=_To.SENT)


def _look_up(
    client: ProlificClient, rows: QuerySet[MessageRecipient], *, waits: bool = True
) -> None:
    """Find out who has received the message; those who have not wait to be sent it.

    With `waits`, somebody who was sent it a moment ago stays unsure, because Prolific may not show
    it yet.
    """
    for one in rows.select_related("submission", "message"):
        row = MessageRecipient.objects.filter(pk=one.pk)
        if one.submission is not None and one.submission.participant:
            if _has_received(client, one, one.submission.participant):
                row.update(state=_To.SENT)
                continue
        if not waits or one.tried_at is None or clock.is_long_ago(one.tried_at, _SHOWN_WITHIN):
            row.update(state=_To.WAITING)


def _has_received(client: ProlificClient, one: MessageRecipient, participant: str) -> bool:
    since = (one.tried_at or one.created_at) - _CLOCKS_DIFFER
    return any(
        each.sender != participant
        and each.sent_at is not None
        and each.sent_at >= since
        and _letters(each.text) == _letters(one.message.text)
        for each in messages_with(client, participant)
    )


def _letters(text: str) -> str:
    """What stays of a text when Prolific sanitises it."""
    return "".join(sign for sign in re.sub(r"<[^>]*>", "", html.unescape(text)) if sign.isalnum())
