"""How many seats and places a study has, and what more of them would take."""

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass

from django.db.models import Sum

from annotation.models import QuotaGroup
from annotation.seats.forecast import Forecast, forecast_of, widened
from studies.models import Item, Study
from studies.money import format_money


@dataclass(frozen=True)
class GroupTarget:
    """A quota group with its places, now and as planned."""

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
    """The seats at a study's items, the people who fill the open ones, and what they are paid.

    Prolific's fee and tax come on top of `pay`; the page of the recruitment asks Prolific.
    """

    study: Study
    annotations_per_item: int
    items: int
    seats: int
    taken: int
    groups: tuple[GroupTarget, ...]
    forecast: Forecast

    @property
    def open(self) -> int:
        return self.seats - self.taken

    @property
    def people(self) -> int:
        """How many people fill the open seats."""
        return self.forecast.needed

    @property
    def room(self) -> int | None:
        """How many more people the groups let in; None where there are no groups."""
        return self.forecast.room

    @property
    def pay(self) -> str:
        return format_money(self.people * self.study.reward, self.study.currency)


def places_of(
    study: Study, *, annotations_per_item: int = 0, targets: Mapping[int, int] | None = None
) -> SeatCapacity:
    """The places as they are, or as they would be with more answers an item or larger groups."""
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
        ),
    )
