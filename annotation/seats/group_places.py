"""Pass on quota group places and take them again, so that full groups mean full items.

Seats belong to items, group places to people. A place is worth the seats that its holder fills: a
new annotator fills as many as each annotator gets; an annotator whose work already exists fills
only those that are open at their own items. So existing work gets a place only if the remaining
places then still bring enough people for the remaining seats. Otherwise the place stays open for a
new annotator. Every function here runs under the lock of the Study row.
"""

import dataclasses

from django.db.models import Q

from annotation.models import Annotator
from annotation.seats import assignment, quotas
from annotation.seats.forecast import forecast_of, without
from annotation.seats.platform_status import has_lost_place, is_doubtful
from studies.models import Study


def take_again(annotator: Annotator) -> bool:
    """Reserve a group place for an annotator who returns with their items; False if none is free.

    None is free for them either if their items now have too few open seats.
    """
    return _needs_a_place(annotator) and quotas.reserve(annotator)


def hand_on(study: Study) -> None:
    """Give open group places to annotators who work beyond their group, with their items' seats.

    Annotators who fill the most seats come first, then the earliest.
    """
    rooms = [group.pk for group in study.quota_groups.all() if group.open > 0]
    if not rooms:
        return
    beyond = (
        # Nobody here holds a seat, so a transaction that saves an answer of theirs waits for no
        # item: locking them after items cannot cause a deadlock.
        Annotator.objects.select_for_update(no_key=True, of=("self",))
        .filter(study=study, works_surplus=True, excluded_at=None, quota_group__in=rooms)
        .filter(_goes_on())
        .order_by("screened_at", "pk")
    )
    waiting = [a for a in beyond if not has_lost_place(a) and not is_doubtful(a)]
    for annotator in sorted(waiting, key=lambda a: -assignment.within_reach(a).total()):
        annotator.study = study
        if not assignment.fills_a_place(annotator) or not _needs_a_place(annotator):
            continue
        if not quotas.reserve(annotator):
            continue
        annotator.works_surplus = False
        annotator.save(update_fields=["works_surplus"])
        if annotator.state == Annotator.State.COMPLETED:
            quotas.fill(annotator)
        assignment.seat_surplus(annotator)


def _goes_on() -> Q:
    # An ending clears the time limit.
    return Q(expires_at__isnull=False) | Q(state=Annotator.State.COMPLETED)


def _needs_a_place(annotator: Annotator) -> bool:
    """Whether the remaining places still bring enough people if this annotator holds one."""
    # The forecast reads every open item, so only studies with groups make one.
    if not annotator.study.quota_groups.exists() or not annotator.assignments.exists():
        return True
    before = forecast_of(annotator.study)
    seats = without(before.seats, assignment.within_reach(annotator))
    after = dataclasses.replace(before, seats=seats, room=(before.room or 0) - 1)
    return after.missing_room <= before.missing_room
