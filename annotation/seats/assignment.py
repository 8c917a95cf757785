"""Seats: which annotator judges which items, and the counters of an item's seats.

Every function here runs under the lock of the Study row, so arrivals in a study wait for each
other. Skipping locked rows would reject annotators while seats are open.
"""

import itertools
import random
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from django.db.models import Count, Exists, F, OuterRef, Q, QuerySet

from annotation.models import (
    Annotation,
    Annotator,
    Assignment,
    ProlificIdentity,
    StandingChange,
)
from annotation.seats.side_order import (
    Showing,
    choose_orders,
    draw_option_order,
    mix_in,
    spread_groups,
)
from studies.extra import Kind
from studies.models import Item, Side, Study
from studies.statements.bulk import insert_rows


class VersionRule(Protocol):
    """For studies in which several items are versions of one: nobody gets two of them."""

    name: str

    def versions(self, study: Study) -> int:
        """How many versions each item has at most; 0 in other studies."""

    def pick(self, items: Sequence[Item], wanted: int, *, besides: Iterable[Item]) -> list[Item]:
        """At most `wanted` of the `items`, without further versions of each other or `besides`.

        The items are in the order in which they should be taken.
        """


VERSIONS: Kind[VersionRule] = Kind("seat_rules", "versions")


@dataclass(frozen=True)
class LaterItems:
    """Items that a study gets while people take part.

    `words` says so in a sentence; empty in a study without such items. `consented` is called with
    a locked annotator who agreed to take part. `holds` says whether one who would get items now has
    to wait, or has ended; the page `template` is shown to who waits.
    """

    name: str
    template: str
    words: Callable[[Study], str]
    consented: Callable[[Annotator], object]
    holds: Callable[[Annotator], bool]


LATER: Kind[LaterItems] = Kind("seat_rules", "later")

# With one of these statuses, a participant has no place on the platform, without a rejection.
LEFT = frozenset({"RETURNED", "TIMED-OUT", "SCREENED OUT", "PARTIALLY APPROVED"})


def has_lost_place(annotator: Annotator) -> bool:
    """Whether the platform has given the annotator's place away, as last read."""
    newest = annotator.prolific_submissions.order_by("-started_at", "-pk").first()
    return newest is not None and newest.status in LEFT


def is_doubtful(annotator: Annotator) -> bool:
    """Whether the platform says that it does not know the annotator's session.

    Such an annotator holds no seat or place and sees no completion code until it does.
    """
    return ProlificIdentity.objects.filter(
        annotator=annotator, unknown_since__isnull=False
    ).exists()


_SHUFFLE_KEYS = 2**62
# What of an item decides who gets it, where and in which order; its texts may be long.
_CHOSEN_BY = (
    "pk",
    "key",
    "study_id",
    "group",
    "first_person",
    "fixed_first",
    "shuffle_sides",
    "option_set",
    "seats_needed",
    "seats_taken",
)
_LONG_STUDY_MINUTES = 5


def assign(annotator: Annotator) -> bool:
    """Assign items to an annotator who is locked together with the study; repeats change nothing.

    Returns whether the annotator has any.

    The least covered items come first, from a random point of the shuffled order. If fewer seats
    are open than the annotator needs, the rest is surplus work on the least covered items, without
    seats. An annotator admitted beyond a full quota gets only surplus work, on the items of an
    annotator who may leave: see `_stand_in`. Attention checks are mixed in and hold no seats.
    """
    study = annotator.study
    if annotator.assignments.exists():
        return True

    rng = random.Random(annotator.seed)  # noqa: S311  for balance, not secrecy
    wanted = study.items_per_annotator
    is_stand_in = annotator.works_surplus and not is_doubtful(annotator)
    orders_of_other = _stand_in(annotator) if is_stand_in else {}
    again = _same_again(annotator, wanted)
    rule = next((rule for rule in VERSIONS.of(study) if rule.versions(study)), None)
    ahead = len(again) + (wanted if rule is None else wanted * rule.versions(study))
    seats: list[Item] = []
    if not annotator.works_surplus:
        own = {item.pk for item in again}
        free = _open_seats(study, ahead, rng) if len(again) < wanted else ()
        new, missing = [item for item in free if item.pk not in own], wanted - len(again)
        new = new[:missing] if rule is None else rule.pick(new, missing, besides=again)
        seats = [item for item in again if item.seats_taken < item.seats_needed] + new
    seated = {item.pk for item in seats}
    surplus = [item for item in again if item.pk not in seated]
    if not again:
        surplus = list(Item.objects.filter(pk__in=orders_of_other).order_by("pk"))
    others = [*seats, *surplus]
    missing = wanted - len(others)
    if missing and rule is not None:
        more = _least_covered(study, ahead, rng, besides=others)
        surplus += rule.pick(list(more), missing, besides=others)
    else:
        surplus += _least_covered(study, missing, rng, besides=others)
    if not seats and not surplus:
        return False
    # A separate random generator, so that attention checks do not change an annotator's items and
    # orders.
    checks_rng = random.Random(f"{annotator.seed} checks")  # noqa: S311
    checks = checks_for(study, checks_rng)
    orders = (
        choose_orders(_showings(seats, surplus), rng)
        | orders_of_other
        | choose_orders(_showings([], checks), checks_rng)
    )
    option_orders = _option_orders(study, annotator, [*seats, *surplus], orders)
    seat_ids = {item.pk for item in seats}
    items = mix_in(spread_groups([*seats, *surplus], rng), checks, checks_rng)

    Item.everything.filter(pk__in=seat_ids).update(seats_taken=F("seats_taken") + 1)
    insert_rows(
        Assignment,
        ("annotator", "item", "position", "shown_first", "option_order", "is_surplus"),
        [
            (
                annotator.pk,
                item.pk,
                position,
                orders[item.pk],
                option_orders.get(item.pk),
                item.pk not in seat_ids,
            )
            for position, item in enumerate(items, start=1)
        ],
    )
    return True


@dataclass(frozen=True)
class SameItems:
    """An extra's wish for the items of an annotator, by their ids; empty without one."""

    name: str
    items: Callable[[Annotator], Collection[int]]


SAME_ITEMS: Kind[SameItems] = Kind("seat_rules", "same_items")


def _same_again(annotator: Annotator, wanted: int) -> list[Item]:
    """The items that the annotator should get rather than the least covered ones."""
    pks = [pk for rule in SAME_ITEMS.of(annotator.study) for pk in rule.items(annotator)]
    items = Item.objects.filter(study=annotator.study_id, pk__in=pks, seats_needed__gt=0)
    return list(items.order_by("pk").only(*_CHOSEN_BY)[:wanted]) if pks else []


def _option_orders(
    study: Study, annotator: Annotator, items: Sequence[Item], orders: Mapping[int, str]
) -> dict[int, list[int]]:
    """The order of all responses at each item that shows a whole set.

    `orders` has the response of each item's own pair that comes first.
    """
    if not study.shows_whole_sets:
        return {}
    # Also separate, so that the display of sets does not change an annotator's items.
    rng = random.Random(f"{annotator.seed} options")  # noqa: S311
    return {
        item.pk: draw_option_order(
            item.option_set["place"], item.option_count, first=orders[item.pk], rng=rng
        )
        for item in items
        if item.option_set
    }


def _stand_in(annotator: Annotator) -> dict[int, str]:
    """The items, with the response shown first, of an active annotator in the same group.

    If the active annotator leaves, the annotator beyond the full group takes over their place and
    every seat. The first stand-in gets the one who has been active longest, each further stand-in
    the next.
    """
    group = Annotator.objects.filter(quota_group=annotator.quota_group, excluded_at=None)
    under_way = group.filter(
        quota=Annotator.Quota.RESERVED, state=Annotator.State.ANNOTATING
    ).order_by("started_at", "pk")
    if annotator.quota_group_id is None or not (holders := list(under_way)):
        return {}
    earlier = group.filter(works_surplus=True, assignments__isnull=False).distinct().count()
    seats = holders[earlier % len(holders)].assignments.filter(is_surplus=False)
    return dict(seats.exclude(state=Assignment.State.RELEASED).values_list("item", "shown_first"))


def checks_for(study: Study, rng: random.Random) -> list[Item]:
    """The attention checks that an annotator gets from those of the study.

    Two if the study takes five minutes or more: then only failing both means anything, and no
    platform accepts fewer.
    """
    checks = Item.everything.filter(study=study, split=Item.Split.ATTENTION_CHECK)
    pool = list(checks.order_by("key").only(*_CHOSEN_BY))
    return rng.sample(pool, min(len(pool), checks_needed(study)))


def items_shown(study: Study) -> int:
    """How many items each annotator sees: their items, and their attention checks.

    A study that has fewer items than each annotator may get shows those it has, unless it gets
    more while people take part, or has none yet.
    """
    checks = Item.everything.filter(study=study.pk, split=Item.Split.ATTENTION_CHECK)
    most = int(study.items_per_annotator)
    present = Item.objects.filter(study=study.pk, seats_needed__gt=0)[:most].count()
    if not present or any(later.words(study) for later in LATER.of(study)):
        present = most
    return present + min(checks.count(), checks_needed(study))


def checks_needed(study: Study) -> int:
    """How many failed attention checks show that an annotator did not read."""
    return 2 if study.minutes >= _LONG_STUDY_MINUTES else 1


def skip(assignment: Assignment) -> None:
    """Mark a locked, unanswered assignment as skipped and give its seat back.

    It is then surplus: if the annotator answers after all, the answer holds no seat.
    """
    if not assignment.is_surplus and assignment.state == Assignment.State.RESERVED:
        _items([assignment.item_id]).update(seats_taken=F("seats_taken") - 1)
    assignment.state = Assignment.State.SKIPPED
    assignment.is_surplus = True
    assignment.save(update_fields=["state", "is_surplus"])


def fills_a_place(annotator: Annotator) -> bool:
    """Whether an annotator has answered enough for a group place: at least half of the items.

    Skipping costs an annotator nothing, but the reopened seats need somebody else of the group.
    """
    skipped = Q(state=Assignment.State.SKIPPED, annotation=None)
    own = annotator.assignments.filter(item__split=Item.Split.MAIN).aggregate(
        all=Count("pk"), skipped=Count("pk", filter=skipped)
    )
    return bool(2 * own["skipped"] <= own["all"])


def release_seats(annotator: Annotator, *, standing: str = Annotation.Standing.RELEASED) -> int:
    """Release every seat that the annotator holds and return how many; answers are kept.

    Their answers get `standing`: released, or withdrawn.
    """
    own = list(annotator.assignments.select_for_update(no_key=True).order_by("pk"))
    active = [a for a in own if a.state in (Assignment.State.RESERVED, Assignment.State.ANSWERED)]
    held = [a for a in active if not a.is_surplus]
    answered = [a.item_id for a in held if a.state == Assignment.State.ANSWERED]
    # In this order, an item never has more answers than seats, even between two statements.
    _items(answered).update(answered=F("answered") - 1)
    _items(a.item_id for a in held).update(seats_taken=F("seats_taken") - 1)
    Assignment.objects.filter(pk__in=[a.pk for a in active]).update(state=Assignment.State.RELEASED)
    # By id: Django would join the table with itself, which took minutes on a database without
    # statistics.
    _set_standing([a.pk for a in own], standing)
    return len(held)


def _set_standing(assignments: Collection[int], standing: str) -> None:
    """Change the standing of the answers of locked assignments, and keep the one before.

    Withdrawn and imported answers and those to checks have theirs for good.
    """
    kinds = Annotation.Standing
    fixed = (kinds.WITHDRAWN, kinds.IMPORTED, kinds.CHECK, standing)
    answers = Annotation.objects.filter(assignment__in=assignments).exclude(standing__in=fixed)
    before = answers.order_by("pk").values_list("pk", "standing")
    if changes := [StandingChange(annotation_id=pk, before=was) for pk, was in before]:
        StandingChange.objects.bulk_create(changes)
        answers.update(standing=standing)


def retake_seats(annotator: Annotator, *, answered: bool, lost_place: bool = False) -> None:
    """Retake the seats of released assignments; `answered`: the work is complete.

    An assignment takes its seat if that is still free, and otherwise becomes surplus. An annotator
    who lost their place takes no seat before the work is complete, because they could block their
    replacement without finishing. Until then their answers stay released.
    """
    released = Q(state=Assignment.State.RELEASED)
    if lost_place and answered:
        released |= Q(state=Assignment.State.ANSWERED, is_surplus=True, item__split=Item.Split.MAIN)
    elif lost_place:
        released &= Q(annotation=None)
    taken_up = list(
        annotator.assignments.select_for_update(no_key=True, of=("self",))
        .filter(released)
        .annotate(has_answer=Exists(Annotation.objects.filter(assignment=OuterRef("pk"))))
        .order_by("pk")
    )
    if not taken_up:
        return
    free: set[int] = set()
    if not annotator.works_surplus and (answered or not lost_place):
        item_ids = [a.item_id for a in taken_up]
        free = set(
            Item.everything.filter(pk__in=item_ids, seats_taken__lt=F("seats_needed")).values_list(
                "pk", flat=True
            )
        )
    _items(free).update(seats_taken=F("seats_taken") + 1)
    _items(a.item_id for a in taken_up if a.has_answer and a.item_id in free).update(
        answered=F("answered") + 1
    )
    for is_surplus, has_answer in itertools.product((False, True), repeat=2):
        ids = [
            a.pk
            for a in taken_up
            if (a.item_id not in free) == is_surplus and a.has_answer == has_answer
        ]
        state = Assignment.State.ANSWERED if has_answer else Assignment.State.RESERVED
        Assignment.objects.filter(pk__in=ids).update(state=state, is_surplus=is_surplus)
        if has_answer:
            standings = Annotation.Standing
            _set_standing(ids, standings.SURPLUS if is_surplus else standings.COUNTED)


def leave_items(items: Collection[int]) -> int:
    """Ask nobody about these items any more; return how many annotators had them before them.

    Who has not answered holds no seat there, and has nothing left to do. Answers keep their seats.
    """
    unanswered = _locked_at(items, Q(annotation=None))
    waiting = list(unanswered.exclude(state=Assignment.State.SKIPPED))
    held = [a for a in waiting if not a.is_surplus and a.state == Assignment.State.RESERVED]
    for item, n in Counter(a.item_id for a in held).items():
        _items([item]).update(seats_taken=F("seats_taken") - n)
    Assignment.objects.filter(pk__in=[a.pk for a in waiting]).update(
        state=Assignment.State.SKIPPED, is_surplus=True
    )
    return sum(a.annotator.state == Annotator.State.ANNOTATING for a in waiting)


def return_to_items(items: Collection[int]) -> None:
    """Ask annotators who have not ended about these items again, with a seat if one is open.

    Those who left meanwhile are asked if they come back.
    """
    unanswered = _locked_at(items, Q(annotation=None, state=Assignment.State.SKIPPED))
    for assignment in unanswered.exclude(annotator__state=Annotator.State.COMPLETED):
        annotator = assignment.annotator
        is_here = annotator.state == Annotator.State.ANNOTATING
        assignment.state = Assignment.State.RESERVED if is_here else Assignment.State.RELEASED
        assignment.save(update_fields=["state"])
        if is_here and not annotator.works_surplus:
            _take_seat(assignment)


def _locked_at(items: Collection[int], condition: Q) -> QuerySet[Assignment]:
    """Some assignments of items, locked after their annotators, so that no answer comes between."""
    people = Annotator.objects.filter(assignments__item__in=items).order_by("pk")
    list(Annotator.objects.select_for_update(no_key=True).filter(pk__in=people.values("pk")))
    return (
        Assignment.objects.select_for_update(no_key=True, of=("self",))
        .filter(condition, item__in=items)
        .select_related("annotator")
        .order_by("pk")
    )


def within_reach(annotator: Annotator) -> Counter[int]:
    """The open seats at the annotator's own items, as `capacity.OpenSeats`.

    These are the seats that they would fill: not those that they hold, nor those at skipped items.
    """
    rows = (
        annotator.assignments.filter(
            item__split=Item.Split.MAIN, item__seats_taken__lt=F("item__seats_needed")
        )
        .filter(Q(is_surplus=True) | Q(state=Assignment.State.RELEASED))
        .exclude(state=Assignment.State.SKIPPED)
        .annotate(width=F("item__seats_needed") - F("item__seats_taken"))
        .order_by()
        .values_list("width")
        .annotate(items=Count("pk"))
    )
    return Counter(dict(rows))


def seat_surplus(annotator: Annotator) -> None:
    """Give a locked annotator the open seats of their surplus items."""
    surplus = annotator.assignments.select_for_update(no_key=True, of=("self",)).filter(
        is_surplus=True,
        state__in=[Assignment.State.RESERVED, Assignment.State.ANSWERED],
        item__split=Item.Split.MAIN,
    )
    for assignment in surplus.order_by("pk"):
        _take_seat(assignment)


def fill_from_surplus(among: Q) -> None:
    """Let surplus answers take the open seats of their items, earliest first.

    This work is paid for, so nobody has to be recruited to repeat it. Only answers of annotators
    who completed are used, but not those beyond a full quota or excluded from the analysis. `among`
    selects the assignments to consider.
    """
    waiting = (
        Assignment.objects.select_for_update(no_key=True, of=("self",))
        .filter(
            among,
            annotation__standing=Annotation.Standing.SURPLUS,
            annotator__state=Annotator.State.COMPLETED,
            annotator__works_surplus=False,
            annotator__excluded_at=None,
            item__seats_taken__lt=F("item__seats_needed"),
        )
        .order_by("annotation__answered_at", "pk")
    )
    for assignment in waiting:
        _take_seat(assignment)


def _take_seat(assignment: Assignment) -> None:
    """Let a locked surplus assignment take a seat of its item, if one is open."""
    is_answered = assignment.state == Assignment.State.ANSWERED
    taken = Item.everything.filter(pk=assignment.item_id, seats_taken__lt=F("seats_needed")).update(
        seats_taken=F("seats_taken") + 1, answered=F("answered") + int(is_answered)
    )
    if taken:
        Assignment.objects.filter(pk=assignment.pk).update(is_surplus=False)
        if is_answered:
            _set_standing([assignment.pk], Annotation.Standing.COUNTED)


def _items(item_ids: Iterable[int]) -> QuerySet[Item]:
    return Item.everything.filter(pk__in=list(item_ids))


def _open_seats(study: Study, wanted: int, rng: random.Random) -> Iterator[Item]:
    """Up to `wanted` items with an open seat, least covered first."""
    open_items = Item.objects.filter(
        study=study, seats_needed__gt=0, seats_taken__lt=F("seats_needed")
    )
    for coverage in range(study.annotations_per_item):
        batch = _from_random_point(open_items.filter(seats_taken=coverage), wanted, rng)
        yield from batch
        wanted -= len(batch)
        if wanted <= 0:
            return


def _least_covered(
    study: Study, wanted: int, rng: random.Random, *, besides: list[Item]
) -> Iterator[Item]:
    """Up to `wanted` items for annotators in this study, with or without an open seat."""
    items = Item.objects.filter(study=study, seats_needed__gt=0).exclude(
        pk__in=[item.pk for item in besides]
    )
    for coverage in range(study.annotations_per_item + 1):
        if wanted <= 0:
            return
        batch = _from_random_point(items.filter(seats_taken=coverage), wanted, rng)
        yield from batch
        wanted -= len(batch)


def _from_random_point(items: QuerySet[Item], count: int, rng: random.Random) -> list[Item]:
    """Up to `count` items in shuffled order, starting at a random point and wrapping around.

    Two index reads, however many items the study has.
    """
    start = rng.randrange(_SHUFFLE_KEYS)
    ordered = items.order_by("shuffle_key").only(*_CHOSEN_BY)
    chosen = list(ordered.filter(shuffle_key__gte=start)[:count])
    if len(chosen) < count:
        chosen += ordered.filter(shuffle_key__lt=start)[: count - len(chosen)]
    return chosen


def _showings(seats: list[Item], surplus: list[Item]) -> list[Showing]:
    """The orders shown so far for each item; surplus work never fills an item's last seat."""
    sides_shown: defaultdict[int, Counter[str]] = defaultdict(Counter)
    if seats:
        rows = (
            Assignment.objects.filter(item__in=seats, is_surplus=False)
            .exclude(state=Assignment.State.RELEASED)
            .values_list("item_id", "shown_first")
        )
        for item_id, first in rows:
            sides_shown[item_id][first] += 1
    return [
        Showing(
            item_id=item.pk,
            seats_left=item.seats_needed - item.seats_taken,
            r1_first=sides_shown[item.pk][Side.R1],
            r2_first=sides_shown[item.pk][Side.R2],
            truth=item.first_person,
            fixed=item.fixed_first or ("" if item.shuffle_sides else Side.R1),
        )
        for item in [*seats, *surplus]
    ]
