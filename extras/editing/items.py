"""Editing and deleting single items, and deleting all, as long as nothing depends on any item."""

from collections.abc import Mapping

from django.contrib.auth.models import User
from django.db import transaction

from studies.errors import StaleVersion, StudyError
from studies.exporters.items import raw_item
from studies.importers.editing import (
    LOGGED,
    find_item,
    note_change,
    store_item,
    unused_study,
    validated,
)
from studies.importers.items.records import ItemRecord
from studies.importers.items.storage import remove_items
from studies.media import keeper
from studies.models import Item

# The fields of a response that can be edited, by the name of the field that edits them.
RESPONSES = {
    f"{name}_{n}": (n - 1, key)
    for n in (1, 2)
    for name, key in (("response", "text"), ("prompt", "prompt"))
}
# What all pairs of a set of options share, or show of it.
_OF_SET = ("question", "context", "context_title", *RESPONSES)
_IN_A_SET = (
    "This item is one pair of a set of options, and the other pairs have the same texts. Change "
    "them in the file, and replace the items by importing it again."
)
EDITABLE = ("question", "context", "context_title", "topic", "group", "first_person", *RESPONSES)


def values_of(item: Item) -> dict[str, str]:
    """The values of an item that can be edited, by their names in `EDITABLE`."""
    values = {name: getattr(item, name) for name in EDITABLE if name not in RESPONSES}
    sides = (item.r1, item.r2)
    return values | {name: sides[n].get(key) or "" for name, (n, key) in RESPONSES.items()}


@transaction.atomic
def edit_item(
    *, study_id: int, key: str, values: Mapping[str, str], seen: str, user: User | None = None
) -> Item:
    """Change an item; `values` are by the names in `EDITABLE`, `seen` is the hash it had.

    Raises `Refused` if the item breaks a rule of the item format, `StaleVersion` if somebody else
    changed it, and `StudyError` if anything depends on the items.
    """
    study = unused_study(study_id)
    item = find_item(study, key)
    if item.content_hash != seen:
        raise StaleVersion(
            "Somebody else changed this item. Check their change, then edit it again."
        )
    before = values_of(item)
    if item.option_set and any(values.get(name, before[name]) != before[name] for name in _OF_SET):
        raise StudyError(_IN_A_SET)
    store_item(item, _checked(item, values))
    changed = _changes(before, values_of(item))
    if changed:
        note_change(study, "item edited", user=user, item=key, changed=changed)
    return item


@transaction.atomic
def delete_item(*, study_id: int, key: str, user: User | None = None) -> None:
    """Delete an item, and its persona if no other item has it."""
    study = unused_study(study_id)
    item = find_item(study, key)
    persona = item.persona
    item.delete()
    if not Item.everything.filter(persona=persona).exists():
        persona.delete()
    keeper().forget_unused(study)
    note_change(study, "item deleted", user=user, item=key, question=item.question[:LOGGED])


@transaction.atomic
def delete_items(*, study_id: int, seen: int, user: User | None = None) -> tuple[int, int]:
    """Delete all items and personas and return their numbers; `seen` is how many were shown."""
    study = unused_study(study_id)
    numbers = remove_items(study, seen=seen)
    study.save(update_fields=["source"])
    note_change(study, "items deleted", user=user, removed=numbers[0])
    return numbers


def _checked(item: Item, values: Mapping[str, str]) -> ItemRecord:
    """The item with other values, by the rules of the item format. Raises `Refused`."""
    raw = raw_item(item)
    for name, value in values.items():
        if name in RESPONSES:
            n, key = RESPONSES[name]
            raw["responses"][n][key] = value or None
        elif name == "first_person":
            raw[name] |= {"label": value or None, "tie": value == Item.FirstPerson.TIE}
        else:
            raw[name] = value or None
    return validated(item, raw)


def _changes(before: Mapping[str, str], after: Mapping[str, str]) -> dict[str, list[str]]:
    return {
        name: [before[name][:LOGGED], after[name][:LOGGED]]
        for name in before
        if before[name] != after[name]
    }
