"""Checks of seats, answers and quota groups against what annotators hold."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from django.db import transaction
from django.db.models import Count, F, Max, OuterRef, Q, QuerySet, Subquery

from annotation.models import (
    Annotation,
    AnnotationRevision,
    Annotator,
    Assignment,
    Bonus,
    BonusPayment,
    Draft,
    ProlificSubmission,
    QuotaGroup,
)
from annotation.prolific.api import types
from annotation.prolific.money import FOR_WORK
from annotation.seats import flow
from extras.administration.doctor.checks import PORTION, InvariantCheck, InvariantFault, portions
from studies.models import Item, Study
from studies.services.items import seat_items
from studies.services.studies import lock_study

_HELD = (Assignment.State.RESERVED, Assignment.State.ANSWERED)
_ENDED = sorted(set(Annotator.State.values) - set(flow.ACTIVE) - {str(Annotator.State.COMPLETED)})


def _held(item_ids: Sequence[int] | None = None, **among: Any) -> dict[int, tuple[int, int]]:
    seats = Assignment.objects.filter(is_surplus=False, state__in=_HELD, **among)
    if item_ids is not None:
        seats = seats.filter(item__in=item_ids)
    answered = Count("pk", filter=Q(state=Assignment.State.ANSWERED))
    rows = seats.order_by().values_list("item").annotate(taken=Count("pk"), answered=answered)
    return {item: (taken, done) for item, taken, done in rows}


def wrong_item_counters() -> Iterator[InvariantFault]:
    for low, high in portions(Item.everything, Item):
        held = _held(item__pk__range=(low, high))
        rows = Item.everything.filter(pk__range=(low, high)).values_list(
            "pk", "key", "study__slug", "seats_taken", "answered"
        )
        for pk, key, study, taken, answered in list(rows):
            if (taken, answered) != held.get(pk, (0, 0)):
                seats, answers = held.get(pk, (0, 0))
                yield InvariantFault(
                    f"Item {key}: it counts {taken} seats taken and {answered} answers; annotators "
                    f"hold {seats} seats and gave {answers} answers.",
                    study,
                    pk,
                )


@transaction.atomic
def repair_item_counters(fault: InvariantFault) -> str:
    study_id = Item.everything.values_list("study", flat=True).get(pk=fault.key)
    lock_study(study_id)
    # An answer being stored holds this row, or waits for it and counts itself afterwards.
    item = Item.everything.select_for_update(no_key=True).get(pk=fault.key)
    taken, answered = _held([item.pk]).get(item.pk, (0, 0))
    if taken > item.seats_needed or (taken, answered) == (item.seats_taken, item.answered):
        return ""
    Item.everything.filter(pk=item.pk).update(seats_taken=taken, answered=answered)
    return f"Item {item.key}: counts {taken} seats taken and {answered} answers."


# Items that have seats; those that were taken out keep the seats of their answers.
_SEATED = (Item.Split.MAIN, Item.Split.LEFT_OUT)


def wrong_seat_numbers() -> Iterator[InvariantFault]:
    """Items whose number of seats differs from what their study wants."""
    studies = Study.objects.values_list(
        "pk", "slug", "annotations_per_item", "human_sample", "draw", "set_display"
    ).order_by("pk")
    for pk, slug, wanted, sample, draw, sets in list(studies):
        own = Item.everything.filter(study=pk)
        short = Q(split=Item.Split.MAIN, is_held_back=False, seats_needed__lt=wanted)
        if sample is not None or draw or sets == Study.SetDisplay.WHOLE:
            short &= Q(seats_needed__gt=0)
        beyond = Q(seats_needed__gt=wanted) & Q(seats_needed__gt=F("seats_taken"))
        other = ~Q(split__in=_SEATED) & Q(seats_needed__gt=0)
        rows = own.filter(short | beyond | other).order_by("pk")
        if number := rows.count():
            first, needed = rows.values_list("key", "seats_needed")[0]
            yield InvariantFault(
                f"{number:,} items do not have the {wanted} seats that the study wants for each of "
                f"people's items; the first is {first} with {needed}.",
                slug,
                pk,
            )


@transaction.atomic
def repair_seat_numbers(fault: InvariantFault) -> str:
    study = lock_study(fault.key)
    Item.everything.filter(study=study, seats_taken=0).exclude(split__in=_SEATED).update(
        seats_needed=0
    )
    items = seat_items(study)
    return f"{items:,} items have {study.annotations_per_item} seats each."


def too_many_holders() -> Iterator[InvariantFault]:
    """Items with more holders than seats, which a constraint keeps out of the counter."""
    for low, high in portions(Item.everything, Item):
        held = _held(item__pk__range=(low, high))
        needed = Item.everything.filter(pk__in=held).values_list(
            "pk", "key", "study__slug", "seats_needed"
        )
        for pk, key, study, seats in list(needed):
            if held[pk][0] > seats:
                yield InvariantFault(
                    f"Item {key}: {held[pk][0]} annotators hold its {seats} seats.", study, pk
                )


def twice_at_an_item() -> Iterator[InvariantFault]:
    for low, high in portions(Annotator.objects, Annotator):
        rows = (
            Assignment.objects.filter(annotator__pk__range=(low, high))
            .order_by()
            .values_list("annotator__pseudonym", "item__key", "annotator__study__slug")
            .annotate(n=Count("pk"))
            .filter(n__gt=1)
        )
        for pseudonym, key, study, times in list(rows):
            yield InvariantFault(f"Annotator {pseudonym} has {times} places at item {key}.", study)


def wrong_group_counters() -> Iterator[InvariantFault]:
    rows = _counted_groups(QuotaGroup.objects.select_related("study").order_by("pk"))
    for group in rows.iterator(PORTION):
        if (group.reserved, group.completed) != (group.holding, group.filled):
            yield InvariantFault(
                f"Quota group “{group}”: it counts {group.reserved} reserved and {group.completed} "
                f"completed places; annotators hold {group.holding} and completed {group.filled}.",
                group.study.slug,
                group.pk,
            )


def _counted_groups(groups: QuerySet[QuotaGroup]) -> QuerySet[Any]:
    counts = {
        name: Count("annotators", filter=Q(annotators__quota=state))
        for name, state in (
            ("holding", Annotator.Quota.RESERVED),
            ("filled", Annotator.Quota.COMPLETED),
        )
    }
    return groups.annotate(**counts)


@transaction.atomic
def repair_group_counters(fault: InvariantFault) -> str:
    lock_study(QuotaGroup.objects.values_list("study", flat=True).get(pk=fault.key))
    QuotaGroup.objects.select_for_update(no_key=True).get(pk=fault.key)
    group = _counted_groups(QuotaGroup.objects.filter(pk=fault.key)).get()
    if group.holding + group.filled > group.target:
        return ""
    QuotaGroup.objects.filter(pk=group.pk).update(reserved=group.holding, completed=group.filled)
    return f"Quota group “{group}”: counts {group.holding} reserved, {group.filled} completed."


def contradicting_answers() -> Iterator[InvariantFault]:
    """Seats whose state contradicts their answer."""
    states, standings = Assignment.State, Annotation.Standing
    main = Q(item__split__in=_SEATED)
    counted = Q(annotation__standing=standings.COUNTED)
    wrong = {
        "is answered, but there is no answer": Q(state=states.ANSWERED, annotation=None),
        "is not answered, but there is an answer": Q(
            state__in=[states.RESERVED, states.SKIPPED], annotation__isnull=False
        ),
        "has an answer that counts, but holds no seat": counted
        & (~Q(state=states.ANSWERED) | Q(is_surplus=True) | ~main),
        "holds a seat, but its answer does not count": main
        & Q(state=states.ANSWERED, is_surplus=False, annotation__isnull=False)
        & ~counted,
        "holds a seat, but its annotator's part has ended": Q(
            annotator__state__in=_ENDED, state__in=_HELD, is_surplus=False
        ),
    }
    for low, high in portions(Assignment.objects, Assignment):
        for sentence, condition in wrong.items():
            rows = Assignment.objects.filter(condition, pk__range=(low, high)).order_by("pk")
            for pseudonym, key, study in list(
                rows.values_list("annotator__pseudonym", "item__key", "item__study__slug")
            ):
                yield InvariantFault(f"The place of {pseudonym} at item {key} {sentence}.", study)


def wrong_revisions() -> Iterator[InvariantFault]:
    """Answers that differ from their last revision, or whose revisions have gaps."""
    for low, high in portions(Annotation.objects, Annotation):
        last = AnnotationRevision.objects.filter(
            annotation=OuterRef("pk"), number=OuterRef("revision")
        )
        rows = (
            Annotation.objects.filter(pk__range=(low, high))
            .exclude(standing=Annotation.Standing.IMPORTED)
            .annotate(
                kept=Count("revisions"),
                newest=Max("revisions__number"),
                last_choice=Subquery(last.values("choice")[:1]),
                last_certainty=Subquery(last.values("certainty")[:1]),
                last_ranking=Subquery(last.values("ranking")[:1]),
            )
            .values_list(
                "assignment__annotator__pseudonym",
                "assignment__item__key",
                "assignment__item__study__slug",
                "revision",
                "kept",
                "newest",
                "choice",
                "certainty",
                "ranking",
                "last_choice",
                "last_certainty",
                "last_ranking",
            )
        )
        for pseudonym, key, study, number, kept, newest, *answers in list(rows):
            if not number == kept == newest or answers[:3] != answers[3:]:
                yield InvariantFault(
                    f"The answer of {pseudonym} at item {key} is revision {number}; {kept} are "
                    f"kept, up to number {newest or 0}, and the last one "
                    f"{'agrees' if answers[:3] == answers[3:] else 'differs'}.",
                    study,
                )


def wrong_rankings() -> Iterator[InvariantFault]:
    """Rankings that contradict what was shown, or the stored choice."""
    for low, high in portions(Annotation.objects, Annotation):
        rows = Annotation.objects.filter(pk__range=(low, high)).filter(
            Q(ranking__isnull=False) | Q(assignment__option_order__isnull=False)
        )
        for answer in rows.select_related("assignment__annotator__study", "assignment__item"):
            assignment = answer.assignment
            order, ranking = assignment.option_order, answer.ranking
            if (
                order
                and ranking
                and ranking["shown"] == order
                and sorted(ranking["ranking"]) == sorted(order)
                and assignment.item.choice_of(ranking["ranking"]) == answer.choice
            ):
                continue
            yield InvariantFault(
                f"The answer of {assignment.annotator.pseudonym} at item {assignment.item.key} is "
                f"{answer.choice}, its ranking {ranking}, and the order shown {order}.",
                assignment.annotator.study.slug,
            )


def drafts_without_place() -> Iterator[InvariantFault]:
    """Drafts whose place is gone, which foreign keys normally prevent."""
    places = Assignment.objects.filter(pk=OuterRef("assignment_id")).values("pk")
    for low, high in portions(Draft.objects, Draft):
        rows = Draft.objects.filter(pk__range=(low, high)).annotate(place=Subquery(places))
        for pk, place in list(rows.filter(place=None).values_list("pk", "assignment_id")):
            yield InvariantFault(
                f"Draft {pk} belongs to place {place}, which does not exist.", key=pk
            )


@transaction.atomic
def remove_draft(fault: InvariantFault) -> str:
    gone = Draft.objects.filter(pk=fault.key)
    if gone.filter(assignment_id__in=Assignment.objects.values("pk")).exists():
        return ""
    gone.delete()
    return f"Draft {fault.key}: deleted."


def paid_twice() -> Iterator[InvariantFault]:
    """People paid by a bonus and an approval, or with two bonuses for one reason.

    Also bonuses that are cancelled although their payment is not, and the other way round.
    """
    approved = ProlificSubmission.objects.filter(status=types.APPROVED)
    people = set(approved.exclude(annotator=None).values_list("annotator", flat=True))
    submissions = set(approved.values_list("pk", flat=True))
    seen = Counter[tuple[Any, ...]]()
    lines = Bonus.objects.order_by("pk").values_list(
        *("payment", "payment__state", "is_open", "reason", "submission"),
        *("submission__annotator", "payment__prolific_study__study__slug"),
    )
    for payment, state, is_open, reason, submission, person, study in list(lines):
        if is_open == (state == BonusPayment.State.CANCELLED):
            yield InvariantFault(f"Payment {payment} is {state}, and a bonus of it is not.", study)
        if not is_open or submission is None:
            continue
        who = f"Annotator {person}" if person else f"Submission {submission}"
        kind = "work" if reason in FOR_WORK else reason
        if kind == "work" and (person in people or submission in submissions):
            yield InvariantFault(
                f"{who}: approved, and payment {payment} pays for the work too.", study
            )
        seen[study, person or submission, bool(person), kind] += 1
        if seen[study, person or submission, bool(person), kind] == 2:
            yield InvariantFault(f"{who}: payment {payment} is a second bonus for “{kind}”.", study)


CHECKS = [
    InvariantCheck(
        "item-counters",
        "Each item counts the seats and answers that annotators hold",
        wrong_item_counters,
        "doctor --repair counts them again.",
        repair_item_counters,
    ),
    InvariantCheck(
        "seats",
        "Each item has the number of seats that its study wants",
        wrong_seat_numbers,
        "doctor --repair gives the study's items their seats again.",
        repair_seat_numbers,
    ),
    InvariantCheck(
        "seat-holders",
        "No item has more annotators with a seat than seats",
        too_many_holders,
        "Release or exclude one of the annotators with “reopen seats”, or raise answers per item.",
    ),
    InvariantCheck(
        "once-per-item",
        "No annotator has two places at one item",
        twice_at_an_item,
        "A constraint prevents this: restore a backup, or delete the later place by hand.",
    ),
    InvariantCheck(
        "group-counters",
        "Each quota group counts the places that annotators hold",
        wrong_group_counters,
        "doctor --repair counts them again.",
        repair_group_counters,
    ),
    InvariantCheck(
        "answers",
        "The state of each place agrees with its answer",
        contradicting_answers,
        "Answers are original data: compare with a backup before you change anything.",
    ),
    InvariantCheck(
        "revisions",
        "Each answer is its own last revision, and no revision is missing",
        wrong_revisions,
        "Revisions are original data: compare with a backup before you change anything.",
    ),
    InvariantCheck(
        "rankings",
        "Each ranking of a set agrees with what was shown and with the choice",
        wrong_rankings,
        "Answers are original data: compare with a backup before you change anything.",
    ),
    InvariantCheck(
        "drafts",
        "Each draft belongs to a place",
        drafts_without_place,
        "doctor --repair deletes drafts without a place.",
        remove_draft,
    ),
    InvariantCheck(
        "payments",
        "Nobody is paid twice for the same work",
        paid_twice,
        "Cancel the bonus under Bonuses if it is not paid. Prolific cannot take back payments.",
    ),
]
