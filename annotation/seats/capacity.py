"""The number of seats and places of a study, and the cost of more."""

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass

from django.db.models import Sum

from annotation.models import QuotaGroup
from annotation.seats.forecast import SeatForecast, forecast_of, widened
from studies.models import Item, Study
from studies.money import format_money


@dataclass(frozen=True)
class GroupTarget:
    """A quota group with its current and its planned places."""

    quota_group: QuotaGroup
    target: int

    @property
    def open(self) -> int:
        return self.target - self.quota_group.reserved - self.quota_group.completed

    @property
    def added(self) -> int:
        return self.target - self.quota_group.target


@dataclass(frozen=True)
class SeatCapacity:
    """The seats at a study's items, the people who fill the open ones, and their pay.

    Prolific's fee and tax are added to `pay`; the recruitment page asks Prolific for them.
    """

    study: Study
    annotations_per_item: int
    items: int
    seats: int
    taken: int
    groups: tuple[GroupTarget, ...]
    forecast: SeatForecast

    @property
    def open(self) -> int:
        return self.seats - self.taken

    @property
    def people(self) -> int:
        """The number of people who fill the open seats."""
        return self.forecast.needed

    @property
    def room(self) -> int | None:
        """How many more annotators the quota groups admit; None if there are no groups."""
        return self.forecast.room

    @property
    def pay(self) -> str:
        return format_money(self.people * self.study.reward, self.study.currency)


def places_of(
    study: Study, *, annotations_per_item: int = 0, targets: Mapping[int, int] | None = None
) -> SeatCapacity:
    """The current capacity, or that with more answers per item or larger quota groups."""
    planned = max(annotations_per_item, study.annotations_per_item)
    more = planned - study.annotations_per_item
    items = Item.objects.filter(study=study, seats_needed__gt=0)
    now = items.aggregate(seats=Sum("seats_needed"), taken=Sum("seats_taken"))
    count = items.count()
    wanted = targets or {}
    groups = tuple(
        GroupTarget(group, wanted.get(group.pk, group.target)) for group in study.quota_groups.all()
    )
    forecast = forecast_of(study)
    return SeatCapacity(
        study=study,
        annotations_per_item=planned,
        items=count,
        seats=(now["seats"] or 0) + more * count,
        taken=now["taken"] or 0,
        groups=groups,
        forecast=dataclasses.replace(
            forecast,
            seats=widened(forecast.seats, by=more, items=count),
            room=sum(group.open for group in groups) if groups else None,
            waiting=() if wanted else forecast.waiting,
        ),
    )
