"""Rows of released files together with the items that a study already has."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from studies.importers.files.faults import Faults, Refused
from studies.importers.items.item_bundle import ReadItems
from studies.importers.items.joining import (
    KEPT,
    Profiles,
    alike_sides,
    contradict,
    facts_of,
    profile_fault,
    truth_fault,
    with_profile,
)
from studies.importers.items.records import CONTENT, ItemRecord, KeptItems, PersonaRecord
from studies.models import Item, Persona, Study
from studies.services.items import shown_items

_CHUNK = 500


class ReleasedItems:
    """The items of released files, completed by those of a study, and the other way round.

    `files` are the files with completed profiles. `faults` are rows that contradict an item of the
    study; with `skip` they are left out, otherwise they raise `Refused`.
    """

    def __init__(self, study: Study, files: Sequence[ReadItems], *, skip: bool) -> None:
        self.faults = Faults(skip=skip)
        self.files = files
        self._study = study
        self._stored: dict[str, ItemRecord] = {}
        self._fuller: dict[str, ItemRecord] = {}  # items of the study, with a fuller profile
        if any(item.is_released for file in files for item in file.items.facts.first):
            self._stored = {item.key: item for item in _stored_items(study)}
        if self._stored:
            self._compare()
            if self.faults:
                raise Refused(self.faults)
            self._complete()

    def _compare(self) -> None:
        """Find rows that contradict an item of the study, and those that know more."""
        for file in self.files:
            for item in file.items:
                known = self._stored.get(item.key)
                if known is None or not item.is_released:
                    continue
                mine, theirs = facts_of(item.persona), facts_of(known.persona)
                there = f"the study “{self._study.slug}”"
                alike = alike_sides(item, known.values)
                if contradict(mine, theirs):
                    self.faults.append(profile_fault(item, there, known.persona))
                elif _differ(alike, known.values):
                    self.faults.append(truth_fault(item, there, known.values, remedy=KEPT))
                elif theirs < mine or (theirs == mine and known.is_partial > item.is_partial):
                    fuller = with_profile(known, item.persona, partial=item.is_partial)
                    self._fuller[item.key] = fuller

    def _complete(self) -> None:
        """Complete new items by those of the study, and those of the study by all."""
        faulty = {fault.item for fault in self.faults.skipped}
        everything = {**self._stored, **self._fuller}
        new = (i for file in self.files for i in file.items if i.key not in self._stored)
        profiles = Profiles([*everything.values(), *new])
        for key, item in everything.items():
            if (completed := profiles.complete(item)) is not item:
                self._fuller[key] = completed
        files = []
        for file in self.files:
            items = KeptItems()
            for item in file.items:
                if item.key not in faulty:
                    items.append(profiles.complete(item) if item.is_released else item)
            files.append(replace(file, items=items))
        self.files = files

    def complete_stored(self) -> int:
        """Give the study's items their fuller profiles, and return how many changed.

        An item that people or judges have seen keeps its profile.
        """
        fuller = {k: i for k, i in self._fuller.items() if k not in shown_items(self._study)}
        if not fuller:
            return 0
        items = list(Item.everything.filter(study=self._study, key__in=[*fuller]))
        before = {item.persona_id for item in items}
        personas = self._personas([item.persona for item in fuller.values()])
        for item in items:
            record = fuller[item.key]
            item.persona_id = personas[record.persona.key]
            item.metadata = record.values["metadata"]
            item.content_hash = record.content_hash
            item.is_held_back = item.is_held_back and record.is_partial
        changed = ["persona", "metadata", "content_hash", "is_held_back"]
        Item.everything.bulk_update(items, changed, batch_size=_CHUNK)
        Persona.objects.filter(pk__in=before, all_items=None).delete()
        return len(items)

    def _personas(self, wanted: Sequence[PersonaRecord]) -> dict[str, int]:
        """The ids of personas by key; those that the study lacks are stored."""
        own = self._study.personas
        there = dict(own.values_list("key", "pk"))
        for persona in wanted:
            if persona.key not in there:
                content = {**persona.content, "key": persona.key}
                there[persona.key] = own.create(**content).pk
        return there


def _differ(item: ItemRecord, known: Mapping[str, object]) -> bool:
    """Whether both state a right answer, but not the same one."""
    return len({item.values["first_person"], known["first_person"]} - {""}) > 1


def _stored_items(study: Study) -> Iterator[ItemRecord]:
    for item in Item.everything.filter(study=study).select_related("persona").iterator(_CHUNK):
        there = item.persona
        persona = PersonaRecord(there.key, there.features, there.text, there.history)
        values = {name: getattr(item, name) for name in CONTENT}
        yield ItemRecord(0, "", persona, values, is_released=True)
