"""Changes of personas, checks and practice items, as long as nothing depends on any item.

Every change holds the study's lock. Assigning items, creating a run and storing the first answer
wait for it.
"""

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction

from studies.errors import StaleVersion, StudyError
from studies.exporters.items import raw_item
from studies.importers.files.faults import Faults, ImportRow, Refused
from studies.importers.items.records import CONTENT, ItemRecord, PersonaRecord, read_persona
from studies.importers.items.storage import why_not
from studies.importers.items.validation import Validator
from studies.media import keeper
from studies.models import Item, Persona, Side, Study
from studies.services.items import seat_items, study_content_hash
from studies.services.studies import lock_study, record

LOGGED = 300  # characters of a text in the log
_CHUNK = 500


@transaction.atomic
def edit_persona(
    *,
    study_id: int,
    key: str,
    features: list[dict[str, str]],
    text: str,
    seen: str,
    user: User | None = None,
) -> Persona:
    """Change what is known of a persona, for all its items; `seen` is the fingerprint it had.

    Raises `Refused` if an item breaks a rule of the item format, `StaleVersion` if somebody else
    changed the persona, and `StudyError` if anything depends on the items.
    """
    study = unused_study(study_id)
    persona = Persona.objects.get(study=study, key=key)
    old = record_of(persona)
    if old.fingerprint != seen:
        raise StaleVersion(
            "Somebody else changed this persona. Check their change, then edit it again."
        )
    row = ImportRow(1)
    new = read_persona(
        row, {"id": key, "features": features, "text": text, "history": persona.history}
    )
    if row.faults or new is None:
        raise Refused(row.faults)
    if new.fingerprint == old.fingerprint:
        return persona
    persona.features, persona.text = new.features, new.text
    persona.save(update_fields=["features", "text"])
    items = Item.everything.filter(persona=persona).select_related("persona", "study")
    for item in items.iterator(chunk_size=_CHUNK):
        store_item(item, validated(item, raw_item(item)))
    changes = {name: [_facts(old), _facts(new)] for name in ("features",)}
    note_change(study, "persona edited", user=user, persona=key, changed=changes)
    return persona


@transaction.atomic
def use_item_as(
    *,
    study_id: int,
    key: str,
    split: str,
    correct: str = "",
    instruction: str = "",
    user: User | None = None,
) -> Item:
    """Make an item a practice item, an attention check, or an ordinary item again.

    A check needs the `correct` response and an `instruction` that names it, which is added to the
    question if it is missing; an ordinary item loses it. Raises as `edit_persona` does.
    """
    study = unused_study(study_id)
    item = find_item(study, key)
    before, raw = item.split, raw_item(item)
    if split == Item.Split.PRACTICE and not item.first_person:
        raise StudyError(
            f"A practice item shows the persona’s own answer as feedback, but “{key}” has none. "
            "Choose another item."
        )
    is_check = split == Item.Split.ATTENTION_CHECK
    question = item.question.removesuffix(item.check_instruction).rstrip()
    if is_check and instruction not in question:
        question = f"{question} {instruction}".strip()
    raw |= {"split": split, "question": question or None}
    raw["check"] = {"correct": correct, "instruction": instruction} if is_check else None
    store_item(item, validated(item, raw))
    if split != Item.Split.MAIN:
        Item.everything.filter(pk=item.pk).update(seats_needed=0)
    note_change(study, "item used otherwise", user=user, item=key, before=before, after=split)
    return item


@transaction.atomic
def add_checks(
    *, study_id: int, checks: Sequence[Mapping[str, str]], user: User | None = None
) -> list[str]:
    """Add attention checks about personas of the study's items, and return their ids.

    A check has a `question`, the `instruction` that is added to it, and the `right` and the `wrong`
    response. The items stay as they are. Raises as `edit_persona` does.
    """
    study = lock_study(study_id)
    if reason := why_no_checks(study):
        raise StudyError(reason)
    patterns = list(Item.objects.filter(study=study).select_related("persona").order_by("key")[:50])
    if not patterns:
        raise StudyError("Attention checks are about the personas of items. Import items first.")
    taken = set(Item.everything.filter(study=study).values_list("key", flat=True))
    names = (f"attention-check-{number}" for number in itertools.count(1))
    keys = list(itertools.islice((name for name in names if name not in taken), len(checks)))
    for number, (key, check) in enumerate(zip(keys, checks, strict=True)):
        pattern = patterns[number * (len(patterns) - 1) // max(1, len(checks) - 1)]
        sides = Side.values[:: (1, -1)[number % 2]]
        texts = dict(zip(sides, (check["right"], check["wrong"]), strict=True))
        raw = {
            "id": key,
            "task": pattern.task,
            "persona": raw_item(pattern)["persona"],
            "question": f"{check['question']} {check['instruction']}",
            "responses": [{"key": side, "text": texts[side]} for side in Side.values],
            "split": Item.Split.ATTENTION_CHECK,
            "check": {"correct": sides[0], "instruction": check["instruction"]},
        }
        item = Item(study=study, persona=pattern.persona, task=pattern.task, key=key)
        checked = validated(item, raw)
        for name in CONTENT:
            setattr(item, name, checked.values[name])
        item.content_hash = checked.content_hash
        item.save()
    note_change(study, "attention checks added", user=user, items=keys)
    return keys


def why_no_checks(study: Study) -> str:
    """Why checks cannot be added; empty in a draft, where judges may have items and nobody else."""
    return "" if study.state == Study.State.DRAFT else why_not(study)


def record_of(persona: Persona) -> PersonaRecord:
    return PersonaRecord(persona.key, persona.features, persona.text, persona.history)


def unused_study(study_id: int) -> Study:
    """The locked study, if nothing depends on its items."""
    study = lock_study(study_id)
    if reason := why_not(study):
        raise StudyError(reason)
    return study


def find_item(study: Study, key: str) -> Item:
    try:
        return Item.everything.select_related("persona").get(study=study, key=key)
    except Item.DoesNotExist:
        raise StaleVersion("Somebody else deleted this item.") from None


def validated(item: Item, raw: dict[str, Any]) -> ItemRecord:
    faults = Faults()
    media = keeper().stored(item.study)
    checked = Validator(file="", task=item.task, faults=faults, media=media).item(1, raw)
    if checked is None:
        raise Refused(faults)
    return checked


def store_item(item: Item, checked: ItemRecord) -> None:
    for name in CONTENT:
        setattr(item, name, checked.values[name])
    item.content_hash = checked.content_hash
    item.save(update_fields=[*CONTENT, "content_hash"])


def _facts(persona: PersonaRecord) -> str:
    facts = ", ".join(f"{f['label']}: {f['value']}" for f in persona.features)
    return f"{facts}; {persona.text}"[:LOGGED]


def note_change(study: Study, event: str, *, user: User | None, **detail: Any) -> None:
    """Count seats and content of the study again, and log the change."""
    seat_items(study)
    study.content_hash = study_content_hash(study)
    study.save(update_fields=["content_hash"])
    record(study, event, user=user, **detail)
