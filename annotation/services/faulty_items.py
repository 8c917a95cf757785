"""Taking faulty items out of the analysis and putting them back, after people answered them.

Their answers stay. Nobody is asked about them meanwhile, and nobody's pay changes.
"""

from dataclasses import dataclass

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Q, QuerySet

from annotation.errors import ItemError
from annotation.models import Annotation, Annotator, Assignment
from annotation.seats import assignment, flow
from studies.models import Item, Study
from studies.services.items import has_begun, seat_items, seats_changing
from studies.services.studies import lock_study, record

# Events of the study's log. Logs of existing studies contain these texts.
TAKEN_OUT, PUT_BACK = "item taken out", "item put back"
LONGEST_REASON = 1_000


@dataclass(frozen=True)
class FaultyItem:
    """An item, the pairs that are shown with it, and what taking it out would concern.

    `answers` are those that stay, `waiting` the annotators who would not be asked any more, and
    `corrected` the keys of items that follow it.
    """

    item: Item
    together: tuple[str, ...]
    answers: int
    waiting: int
    corrected: tuple[str, ...]


def describe(item: Item) -> FaultyItem:
    items = _together(item)
    ids = [member.pk for member in items]
    answers = Annotation.objects.filter(assignment__item__in=ids)
    under_way = Assignment.objects.filter(item__in=ids, state=Assignment.State.RESERVED)
    following = Item.everything.filter(
        study=item.study_id, **{f"metadata__{Item.REPLACES}": item.key}
    ).order_by("key")
    return FaultyItem(
        item=item,
        together=tuple(member.key for member in items if member.pk != item.pk),
        answers=answers.exclude(standing=Annotation.Standing.WITHDRAWN).count(),
        waiting=under_way.filter(
            annotation=None, annotator__state=Annotator.State.ANNOTATING
        ).count(),
        corrected=tuple(following.values_list("key", flat=True)),
    )


def taken_out(study: Study) -> QuerySet[Item]:
    """The items of a study that are out, by key."""
    return Item.everything.filter(study=study, split=Item.Split.LEFT_OUT).order_by("key")


@transaction.atomic
def take_out(*, study_id: int, key: str, reason: str, user: User | None = None) -> Item:
    """Take an item out of every report; repeats change nothing.

    The pairs of a set that people see as a whole go together. If people get a sample of the items,
    another item takes its place. Raises `ItemError`.
    """
    study = lock_study(study_id)
    item = _found(study, key)
    reason = reason.strip()
    if not reason or len(reason) > LONGEST_REASON:
        raise ItemError(f"State the reason, in at most {LONGEST_REASON:,} characters.")
    if item.split == Item.Split.LEFT_OUT:
        return item
    if item.split != Item.Split.MAIN:
        raise ItemError(
            f"“{key}” is no item of the analysis ({item.get_split_display()}). Nothing was changed."
        )
    if not has_begun(study):
        raise ItemError("Nobody has this item yet. Correct it or delete it under Items instead.")
    items = _together(item)
    if len(items) == Item.objects.filter(study=study).count():
        raise ItemError("This is the study's last item. Close the study instead.")
    ids = [member.pk for member in items]
    with seats_changing(study):
        waiting = assignment.leave_items(ids)
        Item.everything.filter(pk__in=ids).update(split=Item.Split.LEFT_OUT, left_out_reason=reason)
        seat_items(study)
    for member in items:
        record(study, TAKEN_OUT, user=user, item=member.key, reason=reason, waiting=waiting)
    item.refresh_from_db()
    return item


@transaction.atomic
def put_back(*, study_id: int, key: str, user: User | None = None) -> Item:
    """Let an item count again, with the answers that it had; repeats change nothing.

    Raises `ItemError` while a corrected item counts in its place.
    """
    study = lock_study(study_id)
    item = _found(study, key)
    if item.split != Item.Split.LEFT_OUT:
        return item
    items = _together(item)
    follows = {f"metadata__{Item.REPLACES}__in": [member.key for member in items]}
    corrected = Item.objects.filter(study=study, **follows).order_by("key").first()
    if corrected is not None:
        raise ItemError(
            f"The corrected item “{corrected.key}” counts in its place. Take that one out first."
        )
    ids = [member.pk for member in items]
    with seats_changing(study):
        Item.everything.filter(pk__in=ids).update(split=Item.Split.MAIN, left_out_reason="")
        seat_items(study)
        assignment.return_to_items(ids)
        flow.use_surplus(study, among=Q(item__in=ids))
    for member in items:
        record(study, PUT_BACK, user=user, item=member.key)
    item.refresh_from_db()
    return item


def _found(study: Study, key: str) -> Item:
    item = Item.everything.filter(study=study, key=key).first()
    if item is None:
        raise ItemError(f"The study has no item “{key}”. Copy its id from the list of items.")
    return item


def _together(item: Item) -> list[Item]:
    """The item, and the pairs of its set if people see whole sets."""
    if not (item.study.shows_whole_sets and item.option_set):
        return [item]
    return list(
        Item.everything.filter(
            study=item.study_id,
            persona=item.persona_id,
            option_set__id=item.option_set["id"],
            split__in=(Item.Split.MAIN, Item.Split.LEFT_OUT),
        ).order_by("key")
    )
