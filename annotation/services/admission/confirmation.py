"""Annotators unknown to the recruiting platform: they hold nothing until it knows them.

Anyone can open a link with an invented id. A place that is seconds old may be unknown as well, so
nobody is rejected: an unknown annotator works without a seat, and takes seats once they are known.
"""

import datetime as dt

from django.db import transaction
from django.db.models import F

from annotation.models import AnnotatorEvent, ProlificIdentity
from annotation.seats import first_answers, flow
from studies.statements import clock

# An annotator unknown for this long gives back the seats that they took before this was known.
PATIENCE = dt.timedelta(minutes=5)


@transaction.atomic
def doubt(*, annotator_id: int) -> None:
    """Record that the platform does not know the annotator's session.

    Only such an answer counts: a platform that cannot be read says nothing about anyone.
    """
    annotator = flow.lock(annotator_id)
    identity = _identity(annotator_id)
    if identity is None or identity.is_signed or annotator.prolific_submissions.exists():
        return
    now = clock.now()
    if identity.unknown_since is None:
        identity.unknown_since = now
        AnnotatorEvent.objects.create(annotator=annotator, event="unknown on Prolific")
    identity.looked_at, identity.looks = now, F("looks") + 1
    identity.save(update_fields=["unknown_since", "looked_at", "looks"])
    if now - identity.unknown_since >= PATIENCE:
        flow.unseat(annotator)


@transaction.atomic
def confirm(*, annotator_id: int) -> None:
    """Record that the platform knows the annotator after all; repeats change nothing."""
    annotator = flow.lock(annotator_id)
    identity = _identity(annotator_id)
    if identity is None:
        return
    if annotator.state in flow.ACTIVE:
        first_answers.lift(annotator)
    if identity.unknown_since is None:
        return
    identity.unknown_since = None
    identity.save(update_fields=["unknown_since"])
    AnnotatorEvent.objects.create(annotator=annotator, event="known on Prolific")
    flow.seat_again(annotator)


def note_signed(*, annotator_id: int) -> None:
    """Record that the platform itself has signed the link that the annotator opened."""
    ProlificIdentity.objects.filter(annotator=annotator_id).update(is_signed=True)
    confirm(annotator_id=annotator_id)


def _identity(annotator_id: int) -> ProlificIdentity | None:
    found = ProlificIdentity.objects.select_for_update(no_key=True)
    return found.filter(annotator=annotator_id).first()
