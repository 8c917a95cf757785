"""Items that annotators flagged, and the page that takes them out of the analysis."""

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from django.db.models import Count, F, QuerySet
from django.urls import reverse
from django.utils.http import urlencode

from analysis.disagreements.selection import ItemSet
from annotation.models import Annotation
from extras.remarks.asking import asked_in
from extras.remarks.models import ItemFlag, Remarks
from studies.models import Item, Study
from studies.pages.workbench import Need

ENOUGH = 2  # people; one may have misread the item


@dataclass(frozen=True)
class FlaggedItem:
    """An item with the number of people who flagged it, and what they found, most frequent first.

    `address` is the page that takes it out.
    """

    key: str
    people: int
    reasons: str
    address: str


def current_remarks(study: Study) -> QuerySet[Remarks]:
    """The remarks of answers as they are now, without those of people who withdrew."""
    return Remarks.objects.filter(
        answer__assignment__annotator__study=study, revision=F("answer__revision")
    ).exclude(answer__standing=Annotation.Standing.WITHDRAWN)


def flagged_items(study: Study) -> list[FlaggedItem]:
    """Items in the study that somebody flagged, those with the most people first."""
    rows = (
        current_remarks(study)
        .exclude(flag="")
        .filter(answer__assignment__item__split=Item.Split.MAIN)
    )
    of_item: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for key, flag in rows.values_list("answer__assignment__item__key", "flag"):
        of_item[key][flag] += 1
    address = reverse("people:faulty-items", args=[study.slug])
    flagged = [
        FlaggedItem(
            key,
            flags.total(),
            ", ".join(f"{ItemFlag(flag).label} ({n:,})" for flag, n in flags.most_common()),
            f"{address}?{urlencode({'item': key})}",
        )
        for key, flags in of_item.items()
    ]
    return sorted(flagged, key=lambda item: (-item.people, item.key))


def _flagged_set(study: Study, value: str) -> QuerySet[Any] | None:
    """Ids of items that enough people flagged; None in a study that asks for no flags."""
    if value or "flags" not in asked_in(study):
        return None
    items = current_remarks(study).exclude(flag="").values(item=F("answer__assignment__item"))
    enough = items.annotate(people=Count("pk")).filter(people__gte=ENOUGH).order_by()
    return enough.values("item")


FLAGGED = ItemSet(
    "flagged", lambda study, value: f"at least {ENOUGH} people flagged them", _flagged_set
)


def flag_needs(study: Study) -> Iterator[Need]:
    if "flags" not in asked_in(study):
        return
    flagged = [item for item in flagged_items(study) if item.people >= ENOUGH]
    if not flagged:
        return
    first = flagged[0]
    if len(flagged) == 1:
        sentence = f"{first.people:,} people flagged item {first.key}: {first.reasons}."
        yield Need(sentence, first.address, "Look at the item")
        return
    sentence = (
        f"{len(flagged):,} items are flagged by at least {ENOUGH} people, {first.key} by "
        f"{first.people:,}: {first.reasons}."
    )
    yield Need(sentence, reverse("remarks:remarks", args=[study.slug]), "Flagged items")
