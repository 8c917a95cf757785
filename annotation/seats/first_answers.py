"""The time limit for a first answer, of people for whom nobody vouches.

They came by an open link, or with an id that the platform does not confirm. The platform and a list
of invited ids know the holders of seats and places, so there the time limit of the study is enough.
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


def limit() -> dt.datetime:
    """When the time for a first answer is over that begins now."""
    return clock.now() + dt.timedelta(minutes=settings.FIRST_ANSWER_MINUTES)


def renew(annotator: Annotator) -> bool:
    """Extend the time for a first answer at each step; True if that changed anything.

    Who came with an id that nobody vouched for has a limit from the start, others by an open link.
    """
    by_link = annotator.study.entry == Study.Entry.LINK and annotator.state == State.SCREENED
    if annotator.state not in _HOLDS or not (annotator.first_answer_by or by_link):
        return False
    annotator.first_answer_by = limit()
    return True


def lift(annotator: Annotator) -> None:
    """Remove the limit after the first answer, or when the platform confirms who somebody is.

    From then on only the study's time limit applies.
    """
    if annotator.first_answer_by is not None:
        annotator.first_answer_by = None
        annotator.save(update_fields=["first_answer_by"])


def is_over() -> Q:
    """The filter for active annotators whose time is over."""
    now = clock.now()
    return Q(expires_at__lt=now) | Q(first_answer_by__lt=now, state__in=_HOLDS)


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
