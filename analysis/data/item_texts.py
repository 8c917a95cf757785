"""Items with all texts, as annotators and judges saw them, and as the audit reads them."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from analysis.data.answer_rows import SetPairs
from studies.models import Item, Study
from studies.personas import profile_for, profile_text

_ITEMS_PER_READ = 500


@dataclass(frozen=True)
class ItemTexts:
    """One item; `profile` is the persona as text, `responses` are stored by r1 and r2."""

    key: str
    topic: str
    first_person: str
    profile: str
    context: str
    question: str
    responses: Mapping[str, Mapping[str, Any]]


@dataclass(frozen=True)
class TextsOfItem:
    pk: int
    key: str
    content_hash: str
    answers: int  # answers of annotators that hold a seat


def item_texts(study: Study, keys: Collection[str] | None = None) -> Iterator[ItemTexts]:
    """The items that count, optionally only those with the given keys, by key."""
    items = Item.objects.filter(study=study).select_related("persona", "study").order_by("key")
    if keys is not None:
        items = items.filter(key__in=keys)
    for item in items.iterator(chunk_size=_ITEMS_PER_READ):
        profile = profile_text(profile_for(item, features=None), style=study.persona_style)
        yield ItemTexts(
            key=item.key,
            topic=item.topic,
            first_person=item.first_person,
            profile=profile,
            context=item.context,
            question=item.question,
            responses={"r1": item.r1, "r2": item.r2},
        )


def item_keys(study: Study) -> list[str]:
    """The keys of the items that count, sorted by the database."""
    return list(Item.objects.filter(study=study).order_by("key").values_list("key", flat=True))


def items_by_id(ids: Collection[int]) -> dict[int, Item]:
    """Items of any split by id, without the parts that only their own pages show."""
    return Item.everything.defer("metadata", "warnings").in_bulk(ids)


def item_facts(study: Study, keys: Collection[str] | None = None) -> dict[str, TextsOfItem]:
    """Facts of the items that count, or of some of them, by key."""
    rows = Item.objects.filter(study=study)
    columns = ("pk", "key", "content_hash", "answered")
    if keys is None:
        listed = list(rows.values_list(*columns))
    else:
        wanted = sorted(keys)
        listed = [
            row
            for start in range(0, len(wanted), _ITEMS_PER_READ)
            for row in rows.filter(key__in=wanted[start : start + _ITEMS_PER_READ]).values_list(
                *columns
            )
        ]
    facts = {row[1]: TextsOfItem(*row) for row in listed}
    return facts | _of_whole_sets(study, facts) if study.shows_whole_sets else facts


def _of_whole_sets(study: Study, facts: Mapping[str, TextsOfItem]) -> dict[str, TextsOfItem]:
    """The same facts for pairs of sets, whose answers belong to the item that shows the set."""
    pairs = SetPairs(study, facts.keys())
    items = Item.objects.filter(study=study, answered__gt=0).exclude(option_set={})
    answered = dict(items.values_list("pk", "answered"))
    return {
        key: replace(one, answers=max(answered.get(pk, 0) for pk in pairs.of_set(one.pk)))
        for key, one in facts.items()
        if one.pk in pairs.items
    }
