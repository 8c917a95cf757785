"""Handing on group places and taking them again, so that full groups mean full items.

Seats belong to items, group places to people. A place is worth the seats that its holder fills:
somebody new fills as many as a person gets, somebody whose work is there already only those that
are open at their own items. So a place goes to work that is there only if the places that are left
then still bring enough people for the seats that are left. Otherwise it stays open for somebody
new. Every function here runs under the lock of the Study row.
"""

import dataclasses

from django.db.models import Q

from annotation.models import Annotator
from annotation.seats import assignment, quotas
from annotation.seats.forecast import forecast_of, without
from annotation.seats.platform_status import has_lost_place, is_doubtful
from studies.models import Study


def take_again(annotator: Annotator) -> bool:
    """Reserve a group place for somebody who comes back with their items; False if none is free.

    None is free for them either where their items have too few open seats by now.
    """
    return _needs_a_place(annotator) and quotas.reserve(annotator)


def hand_on(study: Study) -> None:
    """Give open places of groups to those who work beyond them, with the seats of their items.

    Those come first who fill the most seats, then the earliest.
    """
    rooms = [group.pk for group in study.quota_groups.all() if group.open > 0]
    if not rooms:
        return
    beyond = (
        # Nobody here holds a seat, so whoever saves an answer of theirs waits for no item: to be
        # locked after items can close no circle.
        Annotator.objects.select_for_update(no_key=True, of=("self",))
        .filter(study=study, works_surplus=True, excluded_at=None, quota_group__in=rooms)
        .filter(_goes_on())
        .order_by("screened_at", "pk")
    )
    waiting = [a for a in beyond if not has_lost_place(a) and not is_doubtful(a)]
    for annotator in sorted(waiting, key=lambda a: -assignment.within_reach(a).total()):
        annotator.study = study
        if not _needs_a_place(annotator) or not quotas.reserve(annotator):
            continue
        annotator.works_surplus = False
        annotator.save(update_fields=["works_surplus"])
        if annotator.state == Annotator.State.COMPLETED:
            quotas.fill(annotator)
        assignment.seat_surplus(annotator)


def _goes_on() -> Q:
    # An end clears the time limit.
    return Q(expires_at__isnull=False) | Q(state=Annotator.State.COMPLETED)


def _needs_a_place(annotator: Annotator) -> bool:
    """Whether the places left still bring enough people once this person holds one of them."""
    before = forecast_of(annotator.study)
    if before.room is None or not annotator.assignments.exists():
        return True
    seats = without(before.seats, assignment.within_reach(annotator))
    after = dataclasses.replace(before, seats=seats, room=before.room - 1)
    return after.missing_room <= before.missing_room
