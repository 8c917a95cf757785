"""The seats and places of a study, the cost of more, and whether enough people can come.

Seats belong to items, places to people: a study can be filled only if as many people can still come
as its open seats need. Everybody gets `items_per_person` different items.
"""

import dataclasses
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from django.db.models import Count, Sum

from annotation.models import Annotator, QuotaGroup
from studies.models import Item, Study
from studies.money import format_money
from studies.selectors import SeatGroup, seat_groups

_MOST_NAMED = 6

# Number of open seats at an item → number of items with this many.
OpenSeats = Mapping[int, int]


def count_open(seats: OpenSeats) -> int:
    return sum(width * items for width, items in seats.items())


def people_needed(seats: OpenSeats, items_per_person: int) -> int:
    """How many newcomers fill these seats if nobody has two seats at an item.

    This is exact: this many people fill all seats if each takes the items with the most open ones.
    """
    widest = max((width for width, items in seats.items() if items), default=0)
    return max(math.ceil(count_open(seats) / items_per_person), widest) if items_per_person else 0


def seats_filled(seats: OpenSeats, items_per_person: int, people: int) -> int:
    """The maximum number of these seats that this many newcomers can fill."""
    within = sum(min(width, people) * items for width, items in seats.items())
    return min(items_per_person * people, within)


def widened(seats: OpenSeats, *, by: int, items: int) -> OpenSeats:
    """The open seats if each of `items` items needs this many more answers."""
    full = items - sum(seats.values())
    return Counter({width + by: n for width, n in {**seats, 0: full}.items()})


def without(seats: OpenSeats, taken: OpenSeats) -> OpenSeats:
    """The open seats if one seat is taken at each item of `taken`."""
    left = Counter(seats)
    for width, items in taken.items():
        left[width] -= items
        left[width - 1] += items
    return left


def seats(study: Study) -> int:
    """How many answers the study's items need in total."""
    total = Item.objects.filter(study=study).aggregate(seats=Sum("seats_needed"))["seats"]
    return int(total or 0)


def needed_places(study: Study) -> int:
    """How many people fill every seat; nobody has two seats at an item."""
    wanted = Item.objects.filter(study=study, seats_needed__gt=0)
    sums = wanted.aggregate(seats=Sum("seats_needed"), items=Count("pk"))
    return people_for(study, items=sums["items"], seats=sums["seats"] or 0)


def people_for(study: Study, *, items: int, seats: int) -> int:
    """How many people answer so many items with so many seats in all."""
    each = min(study.items_per_annotator, items)
    return math.ceil(seats / each) if each else 0


def shared_out(total: int, weights: Sequence[Fraction]) -> list[int]:
    """`total` in whole parts close to the weights; the first parts get the remainder."""
    everything = sum(weights)
    if not everything:
        return [0] * len(weights)
    exact = [weight * total / everything for weight in weights]
    parts = [math.floor(part) for part in exact]
    left = total - sum(parts)
    by_remainder = sorted(range(len(parts)), key=lambda n: (parts[n] - exact[n], n))
    for number in by_remainder[:left]:
        parts[number] += 1
    return parts


@dataclass(frozen=True)
class SeatForecast:
    """The open seats that remain if every active annotator finishes.

    `on_the_way` annotators have no items yet; those with a group place are `admitted`. `room` is
    the number of open group places, None without groups; `places_left` is the number that the
    recruiting platform still fills, None if unknown or without a platform. If some groups are full,
    `waiting` has the others with their open places, and `beyond` counts the annotators who came for
    a full group and do surplus work. `resting` places are filled only when recruiting is started
    again.
    """

    seats: OpenSeats
    items_per_person: int
    on_the_way: int = 0
    admitted: int = 0
    room: int | None = None
    places_left: int | None = None
    resting: int = 0
    reward: int = 0
    currency: str = ""
    waiting: Sequence[tuple[str, int]] = ()
    beyond: int = 0

    @property
    def open(self) -> int:
        return count_open(self.seats)

    @property
    def needed(self) -> int:
        """How many people without items are needed for the open seats."""
        return people_needed(self.seats, self.items_per_person)

    @property
    def missing_room(self) -> int:
        """How many group places are missing."""
        return 0 if self.room is None else max(0, self.needed - self.admitted - self.room)

    @property
    def missing_places(self) -> int:
        """How many places on the platform are missing."""
        if self.places_left is None:
            return 0
        return max(0, self.needed - self.on_the_way - self.places_left - self.resting)

    @property
    def to_start(self) -> int:
        """How many of the resting places are needed."""
        if self.places_left is None:
            return 0
        return min(self.resting, max(0, self.needed - self.on_the_way - self.places_left))

    @property
    def missing(self) -> int:
        """How many people are needed beyond the remaining places."""
        return max(self.missing_room, self.missing_places)

    @property
    def unfilled(self) -> int:
        """How many seats stay open if every remaining place is used."""
        people = max(0, self.needed - self.missing)
        return self.open - seats_filled(self.seats, self.items_per_person, people)

    @property
    def pay(self) -> int:
        """The pay of the missing people, in minor units and without the platform's fee."""
        return self.missing * self.reward

    @property
    def warning(self) -> str:
        """What is missing for which groups; empty if the remaining places are enough."""
        return " ".join(filter(None, (self._missing_words, self._groups_words)))

    @property
    def _groups_words(self) -> str:
        """The groups that are still needed; empty unless people come for full groups."""
        if not self.waiting or not (self.missing or self.beyond):
            return ""
        came = ""
        if self.beyond:
            people = "1 annotator" if self.beyond == 1 else f"{self.beyond:,} annotators"
            came = f"{people} came for full groups: their answers are not counted. "
        return (
            f"{came}Places are open only for {named_groups(self.waiting)}. Recruit only these "
            "groups, for example with a filter on Prolific: you pay for the answers of others, "
            "and they are not counted."
        )

    @property
    def _missing_words(self) -> str:
        rests = self._resting()
        if not self.missing:
            return rests
        seats = "1 seat stays" if self.unfilled == 1 else f"{self.unfilled:,} seats stay"
        places = "1 more place is" if self.missing == 1 else f"{self.missing:,} more places are"
        pay = format_money(self.pay, self.currency)
        where = []
        if self.missing_room:
            where.append(f"{self.missing_room:,} in the groups")
        if self.missing_places:
            where.append(f"{self.missing_places:,} on Prolific")
        return (
            f"{seats} open even if every remaining place is used. {places} needed "
            f"({', '.join(where)}), which costs {pay} in pay. {rests}"
        ).rstrip()

    def _resting(self) -> str:
        if not self.to_start:
            return ""
        places = "1 place" if self.to_start == 1 else f"{self.to_start:,} places"
        verb = "stays" if self.to_start == 1 else "stay"
        return (
            f"{places} on Prolific {verb} empty until recruiting is started again there. "
            "Use “Refill returned places”."
        )


def named_groups(groups: Sequence[tuple[str, int]]) -> str:
    """Groups with their open places, in words; only the first of many.

    >>> named_groups([("party: a", 3), ("party: b", 1)])
    'party: a (3); party: b (1)'
    """
    named = [f"{name} ({places:,})" for name, places in groups[:_MOST_NAMED]]
    if len(groups) > _MOST_NAMED:
        named.append(f"{len(groups) - _MOST_NAMED:,} more groups")
    return "; ".join(named)


def forecast_of(
    study: Study,
    *,
    places_left: int | None = None,
    resting: int = 0,
    groups: Sequence[SeatGroup] | None = None,
) -> SeatForecast:
    """The current forecast of a study; four queries, or three with its `groups` of items.

    One more if some of its quota groups are full.
    """
    items = Item.objects.filter(study=study, seats_needed__gt=0)
    # An ending clears the time limit, so these are the active annotators without items.
    on_the_way = Annotator.objects.filter(
        study=study, assignments=None, works_surplus=False, expires_at__isnull=False
    )
    quotas = list(study.quota_groups.all())
    waiting = [(str(group), group.open) for group in quotas if group.open]
    has_full = any(group.target and not group.open for group in quotas)
    beyond = Annotator.objects.filter(
        study=study, works_surplus=True, excluded_at=None, quota_group__isnull=False
    )
    admitted = on_the_way.filter(quota=Annotator.Quota.RESERVED) if quotas else on_the_way
    return SeatForecast(
        seats=open_seats(seat_groups(study) if groups is None else groups),
        items_per_person=items[: study.items_per_annotator].count(),
        on_the_way=on_the_way.count(),
        admitted=admitted.count(),
        room=sum(group.open for group in quotas) if quotas else None,
        places_left=places_left,
        resting=resting,
        reward=study.reward,
        currency=study.currency,
        waiting=waiting if has_full else (),
        beyond=beyond.count() if has_full and waiting else 0,
    )


def open_seats(groups: Iterable[SeatGroup]) -> OpenSeats:
    """How many items have one open seat, two open seats, and so on."""
    seats: Counter[int] = Counter()
    for group in groups:
        if group.taken < group.needed:
            seats[group.needed - group.taken] += group.items
    return seats


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
        """How many people fill the open seats."""
        return self.forecast.needed

    @property
    def room(self) -> int | None:
        """How many more annotators the quota groups admit; None without groups."""
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
