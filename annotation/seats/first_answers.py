"""The time limit for a first answer, in studies with an open link.

On a platform and on a list of invited ids the holders of seats and places are known, so the time
limit of the study is enough.
"""

import datetime as dt

from django.conf import settings
from django.db.models import Exists, OuterRef, Q, QuerySet

from annotation.models import Annotator, Assignment
from studies.models import Study
from studies.statements import clock

State = Annotator.State

# From the first of these states on, an annotator may hold a quota place, and later seats.
_HOLDS = frozenset({State.SCREENED, State.INSTRUCTED, State.QUALIFIED, State.ANNOTATING})
_ACTIVE = frozenset({State.ARRIVED, State.CONSENTED, *_HOLDS})


def renew(annotator: Annotator, now: dt.datetime) -> bool:
    """Extend the time for a first answer at each step; True if that changed anything."""
    if annotator.state not in _HOLDS or annotator.study.entry != Study.Entry.LINK:
        return False
    if annotator.first_answer_by is None and annotator.state != State.SCREENED:
        return False
    annotator.first_answer_by = now + dt.timedelta(minutes=settings.FIRST_ANSWER_MINUTES)
    return True


def answered(annotator: Annotator) -> None:
    """Remove the limit after the first answer: from then on only the study's time limit applies."""
    if annotator.first_answer_by is not None:
        annotator.first_answer_by = None
        annotator.save(update_fields=["first_answer_by"])


def is_over() -> Q:
    """The filter for active annotators whose time is over."""
    now = clock.now()
    return Q(expires_at__lt=now) | Q(first_answer_by__lt=now)


def lapsed(annotator: Annotator) -> bool:
    """Whether the annotator lost their place before their first answer, and may have it again."""
    return annotator.state == State.TIMED_OUT and annotator.first_answer_by is not None


def never_answered(study: Study) -> QuerySet[Annotator]:
    """Active annotators who hold seats or a quota place and have not answered anything yet."""
    own = Assignment.objects.filter(annotator=OuterRef("pk"))
    seated = own.filter(is_surplus=False, state=Assignment.State.RESERVED)
    return (
        Annotator.objects.filter(study=study, state__in=_ACTIVE, is_imported=False)
        .filter(Exists(seated) | Q(quota=Annotator.Quota.RESERVED))
        .exclude(Exists(own.filter(annotation__isnull=False)))
    )


def seats_held(people: QuerySet[Annotator]) -> int:
    """How many seats these annotators hold without an answer."""
    return Assignment.objects.filter(
        annotator__in=people, is_surplus=False, state=Assignment.State.RESERVED
    ).count()
