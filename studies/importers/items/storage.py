"""Storing checked items: all in one transaction, or none."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction

from studies.errors import UnknownStudy
from studies.importers.files.faults import Fault, Faults, Refused
from studies.importers.items.item_bundle import ReadItems
from studies.importers.items.records import CONTENT, ItemRecord, PersonaRecord, Warning
from studies.importers.items.replacement import remove_items
from studies.importers.sets import SETS
from studies.models import Item, Persona, Side, Study
from studies.redistribution import REDISTRIBUTION
from studies.services.content_hash import study_content_hash
from studies.services.sampling import seat_items
from studies.services.studies import create_study, lock_study, record

_CHUNK = 500
_ABOUT = ("name", "description", "importer", "content_warning")
_SWAP = {Side.R1.value: Side.R2.value, Side.R2.value: Side.R1.value}


@dataclass(frozen=True)
class ImportResult:
    """The result of an import, or with `dry_run` the expected result."""

    study: Study
    dry_run: bool
    read: int
    created: int
    unchanged: int
    personas: int
    seated: int
    by_split: dict[str, int]
    by_label: dict[str, int]
    by_topic: dict[str, int]
    warnings: tuple[Warning, ...]
    removed: tuple[int, int] = (0, 0)  # items and personas that the import replaces

    def __str__(self) -> str:
        would = "Would import" if self.dry_run else "Imported"
        parts = [
            f"{would} {_n(self.created, 'item')} and {_n(self.personas, 'persona')} "
            f"into “{self.study.slug}”"
        ]
        if any(self.removed):
            items, personas = self.removed
            parts[0] += f" in place of {_n(items, 'item')} and {_n(personas, 'persona')}"
        if self.unchanged:
            parts.append(f"{self.unchanged:,} were there already")
        if self.seated < self.by_split.get(Item.Split.MAIN, 0):
            parts.append(f"people get {_n(self.seated, 'item')}")
        return f"{'; '.join(parts)}. {self._own_answers()}"

    def _own_answers(self) -> str:
        """The number of items with the persona's own answer; without any there is no accuracy."""
        total = sum(self.by_label.values())
        own = total - self.by_label.get("", 0)
        if not own:
            return f"Own answers: none of {_n(total, 'item')}, so no accuracy can be computed."
        return f"Own answers: {own:,} of {_n(total, 'item')}."


def import_items(
    slug: str,
    files: Sequence[ReadItems],
    *,
    create: bool = False,
    dry_run: bool = False,
    replace: int | None = None,
    user: User | None = None,
    **fields: Any,
) -> ImportResult:
    """Store the items of `files` in the study `slug`, all of them or none.

    With `create`, a missing study is created from `fields` and from the files' own description.
    An item that already exists with the same content changes nothing; one that exists with
    other content refuses the import. `replace` is the number of items that the user has seen
    in the study: these items then replace all of them, as long as nobody has answered or been
    given one. Raises `UnknownStudy`, `StudyError` or
    `Refused`.
    """
    with transaction.atomic():
        known = Study.objects.filter(slug=slug).values_list("pk", flat=True).first()
        if known is None:
            if not create:
                raise UnknownStudy(slug)
            known = create_study(slug=slug, owner=user, **_described(files) | fields).pk
            created_study = True
        else:
            created_study = False
        study = lock_study(known)
        removed = (0, 0) if replace is None else remove_items(study, seen=replace)
        items = _merged(files)
        faults = Faults()
        new = _new_items(study, items, faults)
        personas, new_personas = _personas(study, new, faults)
        if faults:
            raise Refused(faults)
        Item.everything.bulk_create(
            [
                Item(
                    study=study,
                    persona=personas[item.persona.key],
                    content_hash=item.content_hash,
                    **item.values,
                )
                for item in new
            ],
            batch_size=_CHUNK,
        )
        seated = seat_items(study)
        if new or created_study:
            _describe(study, files)
            study.content_hash = study_content_hash(study)
            study.save(update_fields=["source", "content_hash"])
            names = [name for file in files for name in file.names]
            how = {"created": len(new), "read": [_reading(file) for file in files]}
            how |= {"removed": removed[0]} if any(removed) else {}
            record(study, "items imported", user=user, files=names, **how)
        if dry_run:
            transaction.set_rollback(True)
    return ImportResult(
        study=study,
        dry_run=dry_run,
        read=sum(len(file.items) for file in files),
        created=len(new),
        unchanged=len(items) - len(new),
        personas=new_personas,
        seated=seated,
        by_split=_count(items, "split"),
        by_label=_count(items, "first_person"),
        by_topic=_count(items, "topic"),
        warnings=tuple(warning for file in files for warning in file.warnings),
        removed=removed,
    )


def _merged(files: Iterable[ReadItems]) -> list[ItemRecord]:
    """The items of all files; an item that is equal in two files counts once."""
    first: dict[str, ItemRecord] = {}
    faults = Faults()
    for file in files:
        for item in file.items:
            known = first.setdefault(item.key, item)
            if item.content_hash != known.content_hash and not _same_released(item, known.values):
                faults.append(_conflict(item, f"in {known.file}, line {known.line},", known.values))
    if faults:
        raise Refused(faults)
    return list(first.values())


def _new_items(
    study: Study,
    items: list[ItemRecord],
    faults: Faults,
) -> list[ItemRecord]:
    hashes = dict(Item.everything.filter(study=study).order_by().values_list("key", "content_hash"))
    differing = [
        item.key for item in items if hashes.get(item.key, item.content_hash) != item.content_hash
    ]
    stored: dict[str, dict[str, Any]] = {}
    for start in range(0, len(differing), _CHUNK):
        keys = differing[start : start + _CHUNK]
        found = Item.everything.filter(study=study, key__in=keys).values(*CONTENT)
        stored |= {values["key"]: values for values in found}
    for item in items:
        if item.key in stored and not _same_released(item, stored[item.key]):
            faults.append(_conflict(item, f"in the study “{study.slug}”", stored[item.key]))
    return [item for item in items if item.key not in hashes]


def _same_released(item: ItemRecord, known: Mapping[str, Any]) -> bool:
    """Whether a row of a released file shows a known item, possibly with swapped sides.

    Another text about the persona is a set of features that a judge saw, not another item.
    """
    if not item.is_released:
        return False
    new = item.values
    turned = _sides(new) != _sides(known)
    if turned and _sides(new) != _sides(known)[::-1]:
        return False
    truth = _SWAP.get(new["first_person"], new["first_person"]) if turned else new["first_person"]
    return bool(truth == known["first_person"]) and all(
        new[name] == known[name] for name in ("question", "context", "split")
    )


def _sides(values: Mapping[str, Any]) -> list[tuple[str, str]]:
    return [(values[side]["text"], values[side].get("prompt") or "") for side in ("r1", "r2")]


def _conflict(item: ItemRecord, where: str, known: Mapping[str, Any]) -> Fault:
    names = [name for name in CONTENT if item.values[name] != known[name]] or ["persona"]
    return Fault(
        item.line,
        "id",
        "item has other content",
        f"item “{item.key}” is {where} with another {', '.join(names)}.",
        "What was imported stays as it is: give a changed item an id of its own.",
        item.key,
        item.file,
    )


def _personas(
    study: Study, items: list[ItemRecord], faults: Faults
) -> tuple[dict[str, Persona], int]:
    """The personas of `items`, with missing ones created, and the number of those."""
    wanted: dict[str, tuple[ItemRecord, PersonaRecord]] = {}
    for item in items:
        first, persona = wanted.setdefault(item.persona.key, (item, item.persona))
        if persona.content != item.persona.content:
            faults.append(_persona_conflict(item, f"in {first.file}, line {first.line},"))
    known: dict[str, Persona] = {}
    keys = list(wanted)
    for start in range(0, len(keys), _CHUNK):
        found = study.personas.filter(key__in=keys[start : start + _CHUNK])
        known |= {persona.key: persona for persona in found}
    for key, there in known.items():
        item, record_of_key = wanted[key]
        stored = PersonaRecord(key, there.features, there.text, there.history)
        if stored.content != record_of_key.content:
            faults.append(_persona_conflict(item, f"in the study “{study.slug}”"))
    if faults:
        return {}, 0
    new = Persona.objects.bulk_create(
        [
            Persona(study=study, key=key, **persona.content)
            for key, (_, persona) in wanted.items()
            if key not in known
        ],
        batch_size=_CHUNK,
    )
    return known | {persona.key: persona for persona in new}, len(new)


def _persona_conflict(item: ItemRecord, where: str) -> Fault:
    return Fault(
        item.line,
        "persona",
        "persona has other content",
        f"persona “{item.persona.key}” is {where} with other features, text or history.",
        "Give a changed persona an id of its own.",
        item.persona.key,
        item.file,
    )


def _described(files: Sequence[ReadItems]) -> dict[str, Any]:
    """Fields of a new study, from the first bundle's description and from the items' task."""
    dataset = files[0].dataset
    tasks = Counter(item.values["task"] for file in files for item in file.items)
    fields: dict[str, Any] = {"state": Study.State.OPEN, "task": tasks.most_common(1)[0][0]}
    if title := dataset.get("title") or dataset.get("name"):
        fields["title"] = title
    if language := dataset.get("language"):
        fields["language"] = language
    return fields


def _describe(study: Study, files: Sequence[ReadItems]) -> None:
    """Store the source of the items; what is stored already stays.

    If several sources state whether items can be passed on, the strictest holds for the study.
    """
    for file in files:
        dataset = file.dataset
        about = {key: dataset[key] for key in _ABOUT if dataset.get(key)}
        noted = dict(dataset.get("source", {}))
        if about:
            noted["dataset"] = about
        both = (noted.get("redistribution"), study.source.get("redistribution"))
        study.source = noted | study.source
        if words := [word for word in both if word]:
            study.source["redistribution"] = max(words, key=REDISTRIBUTION.index)


def _reading(file: ReadItems) -> dict[str, Any]:
    """The options with which the same items can be read again."""
    made = file.dataset.get("importer", {}) if file.format in SETS else {}
    return {
        "files": list(file.names),
        "format": file.format,
        "task": file.task,
        "limit": file.limit,
        "options": made.get("options", {}),
        "seed": made.get("seed"),
        "rows": dict(file.rows),
        "left_out": dict(file.dropped),
    }


def _count(items: list[ItemRecord], name: str) -> dict[str, int]:
    return dict(sorted(Counter(str(item.values[name]) for item in items).items()))


def _n(count: int, noun: str) -> str:
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"
