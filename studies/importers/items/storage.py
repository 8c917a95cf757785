"""Storing of checked items in one transaction, all or none, also to replace earlier ones."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from operator import itemgetter
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import ProtectedError

from studies.errors import StudyError, UnknownStudy
from studies.importers.files.faults import Fault, Faults, Refused, skipped_rows
from studies.importers.items.item_bundle import ReadItems
from studies.importers.items.joining import alike_sides, sides
from studies.importers.items.records import (
    CONTENT,
    ItemRecord,
    PersonaRecord,
    Warning,
)
from studies.importers.items.stored_items import ReleasedItems
from studies.importers.sets import data_sets
from studies.importers.sets.data_set import Watch
from studies.media import keeper
from studies.models import Item, Persona, Study
from studies.models.keys import shuffle_key
from studies.services.extras import turn_on
from studies.services.items import (
    release_items,
    seat_items,
    seats_changing,
    study_content_hash,
)
from studies.services.studies import create_study, lock_study, record
from studies.statements.bulk import insert_rows
from studies.texts.normalisation import REDISTRIBUTION


def reason_to_keep_items(study: Study) -> str:
    """Why the items cannot be removed, in words; empty if they can.

    Other apps refer to items; Django's models know which.
    """
    if study.frozen_at is not None:
        return "the study has answers or judgments"
    # Checked last, in the index of seats: there may be millions of assignments.
    seats = Item.objects.filter(study=study, seats_needed__gt=0).order_by("-seats_taken")
    if seats.values_list("seats_taken", flat=True).first():
        return "its items have assignments"
    for relation in Item._meta.related_objects:
        model = relation.related_model
        rows = model._default_manager.filter(**{f"{relation.field.name}__study": study})
        if rows.exists():
            return f"its items have {model._meta.verbose_name_plural}"
    return ""


def why_not(study: Study) -> str:
    """A sentence for a page: why items cannot be edited, deleted or replaced; empty if they can."""
    if not (reason := reason_to_keep_items(study)):
        return ""
    if reason.endswith("assignments"):
        reason = "annotators have been given some of them"
    elif reason.endswith("judgments") and study.frozen_at is None:
        reason = "a run asks judges about them"
    return f"Items cannot be edited, deleted or replaced, because {reason}."


def counts(study: Study) -> tuple[int, int]:
    """The number of items and personas of the study."""
    return Item.everything.filter(study=study).count(), study.personas.count()


def remove_items(study: Study, *, seen: int) -> tuple[int, int]:
    """Remove all items and personas of a study and return their numbers.

    The caller holds the study's lock and a transaction. Raises `StudyError` if anything depends
    on the items, or if their number differs from `seen`.
    """
    if reason := reason_to_keep_items(study):
        raise StudyError(
            f"The items of “{study.slug}” cannot be replaced: {reason}. Import the new items "
            "under other ids, or create another study."
        )
    numbers = counts(study)
    if numbers[0] != seen:
        raise StudyError(
            f"“{study.slug}” now has {numbers[0]:,} items, not {seen:,}. Nothing was replaced. "
            "Look at the study again, then repeat the import."
        )
    try:
        Item.everything.filter(study=study).delete()
        Persona.objects.filter(study=study).delete()
        keeper().forget_unused(study)
    except ProtectedError as error:
        raise StudyError(
            f"The items of “{study.slug}” are in use and cannot be removed."
        ) from error
    study.source = {}
    return numbers


_CHUNK = 1_000
# Extras that a study with such items needs, by what the item has.
_DESIGNS: dict[str, Callable[[Mapping[str, Any]], object]] = {
    "option_sets": itemgetter("option_set"),
    "advice": itemgetter("advice"),
    "media": lambda item: any(
        part.get("media")
        for part in (item, item["r1"], item["r2"], *item["option_set"].get("others", ()))
    ),
}
_ABOUT = ("name", "description", "importer", "content_warning")


def held_back_words(items: int) -> str:
    """What an import and the page of items say of items with a part of a profile."""
    one = items == 1
    return (
        f"{_n(items, 'item')} {'shows' if one else 'show'} only a part of the person’s profile, "
        f"because no file has the whole one. Annotators do not get {'it' if one else 'them'} until "
        "an editor agrees on the page of items."
    )


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
    skipped: tuple[Fault, ...] = ()
    held_back: int = 0  # items of the study that annotators do not get
    removed: tuple[int, int] = (0, 0)  # items and personas that the import replaces
    turned_on: Sequence[str] = ()  # a sentence for each extra that the items need

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
        held_back = f" {held_back_words(self.held_back)}" if self.held_back else ""
        skipped = skipped_rows(self.skipped)
        turned_on = "".join(f" {sentence}" for sentence in self.turned_on)
        return f"{'; '.join(parts)}. {self._own_answers()}{held_back}{turned_on}{skipped}"

    def _own_answers(self) -> str:
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
    skip_faulty: bool = False,
    partial_profiles: bool = False,
    user: User | None = None,
    watch: Watch | None = None,
    **fields: Any,
) -> ImportResult:
    """Store the items of `files` in the study `slug`, all of them or none.

    With `create`, a missing study is created from `fields` and from the files' own description.
    An item that already exists with the same content changes nothing; one that exists with
    other content refuses the import. `replace` is the number of items that the user has seen
    in the study: these items then replace all of them, as long as nobody has answered or been
    given one. With `skip_faulty`, items that conflict with others are left out; with
    `partial_profiles`, annotators also get items of which no file has the whole profile. `watch`
    counts the stored items. Raises `UnknownStudy`, `StudyError` or `Refused`.
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
        with seats_changing(study):
            removed = (0, 0) if replace is None else remove_items(study, seen=replace)
            conflicts = _other_content(files, skip=skip_faulty)
            released = ReleasedItems(study, files, skip=skip_faulty)
            files = released.files
            stored = _Storage(study, watch, skip=skip_faulty)
            stored.store(_once(files))
            changed = released.complete_stored()
            if partial_profiles:
                release_items(study, user=user)
            if not dry_run:
                for file in files:
                    if file.media is not None:
                        keeper().store(study, file.media)
            seated = seat_items(study)
            held_back = Item.objects.filter(study=study, is_held_back=True).count()
        if stored.created or created_study or changed:
            _describe(study, files)
            study.content_hash = study_content_hash(study)
            study.save(update_fields=["source", "content_hash"])
            names = [name for file in files for name in file.names]
            how = {"created": stored.created, "read": [_reading(file) for file in files]}
            how |= {"removed": removed[0]} if any(removed) else {}
            record(study, "items imported", user=user, files=names, **how)
        turned_on = turn_on(study, *_extras_of(files), user=user)
        if dry_run:
            transaction.set_rollback(True)
    return ImportResult(
        study=study,
        dry_run=dry_run,
        read=sum(len(file.items) for file in files),
        created=stored.created,
        unchanged=stored.read - stored.created,
        personas=stored.personas,
        seated=seated,
        by_split=dict(sorted(stored.counts["split"].items())),
        by_label=dict(sorted(stored.counts["first_person"].items())),
        by_topic=dict(sorted(stored.counts["topic"].items())),
        warnings=tuple(warning for file in files for warning in file.warnings),
        skipped=(*conflicts, *released.faults.skipped, *stored.skipped),
        held_back=held_back,
        removed=removed,
        turned_on=turned_on,
    )


def _extras_of(files: Sequence[ReadItems]) -> Iterator[str]:
    """The extras of the designs that the items have."""
    for extra, needs in _DESIGNS.items():
        if any(needs(item.values) for file in files for item in file.items):
            yield extra


def _once(files: Sequence[ReadItems]) -> Iterator[ItemRecord]:
    """Every item of the files; an item that is equal in two files comes once."""
    seen = set[str]()
    for file in files:
        for item in file.items:
            if len(files) > 1:
                if item.key in seen:
                    continue
                seen.add(item.key)
            yield item


class _Storage:
    """Stores items in parts. After the first fault, it only checks the rest.

    It counts new items and personas, and all items by split, label and topic.
    """

    def __init__(self, study: Study, watch: Watch | None, *, skip: bool) -> None:
        self.read = self.created = self.personas = 0
        self.counts = {name: Counter[str]() for name in ("split", "first_person", "topic")}
        self._study, self._watch = study, watch
        self._has_items = Item.everything.filter(study=study).exists()
        self._has_personas = study.personas.exists()
        # In a study without a sample, every item gets seats.
        self._seats = study.annotations_per_item if study.human_sample is None else 0
        self._ids: dict[str, int] = {}
        self._mentions: dict[str, _Mention] = {}
        self._items, self._in_files, self._in_study = (Faults(skip=skip) for _ in range(3))
        self._left_out: set[str] = set()  # personas of the study, and items, that have conflicts
        self._corrected: list[ItemRecord] = []

    def store(self, items: Iterator[ItemRecord]) -> None:
        """Store the items that the study lacks. Raises `Refused` with every fault."""
        while chunk := list(islice(items, _CHUNK)):
            for name, counts in self.counts.items():
                counts.update(str(item.values[name]) for item in chunk)
            new = self._new(chunk)
            personas = self._new_personas(new)
            new = [i for i in new if self._left_out.isdisjoint((i.key, i.persona.key))]
            self.read += len(chunk)
            self.created += len(new)
            self._corrected += [item for item in new if Item.REPLACES in item.values["metadata"]]
            self.personas += len(personas)
            if not (self._items or self._in_files or self._in_study):
                self._insert_personas(personas)
                self._insert(new)
            if self._watch is not None:
                self._watch.update(len(chunk))
        faults = [*self._items, *self._in_files, *self._in_study, *self._not_replaced()]
        if faults:
            raise Refused(faults)

    @property
    def skipped(self) -> list[Fault]:
        return [*self._items.skipped, *self._in_files.skipped, *self._in_study.skipped]

    def _not_replaced(self) -> Iterator[Fault]:
        """Corrected items whose faulty item is unknown, or would count beside them."""
        named = {item.values["metadata"][Item.REPLACES] for item in self._corrected}
        there = Item.everything.filter(study=self._study, key__in=named)
        splits = dict(there.values_list("key", "split"))
        for item in self._corrected:
            key = item.values["metadata"][Item.REPLACES]
            if splits.get(key) == Item.Split.LEFT_OUT:
                continue
            known = key in splits
            yield Fault(
                item.line,
                "replaces",
                "replaced item counts" if known else "replaced item is unknown",
                f"item “{item.key}” replaces “{key}”, which "
                + ("still counts." if known else "the study does not have."),
                "Take it out of the analysis first: its page has a link."
                if known
                else "Use the id of an item of the study.",
                key,
                item.file,
            )

    def _new(self, chunk: list[ItemRecord]) -> list[ItemRecord]:
        """The items that the study lacks; an item with other content there is a fault."""
        if not self._has_items:
            return chunk
        there = Item.everything.filter(study=self._study)
        keys = [item.key for item in chunk]
        hashes = dict(there.filter(key__in=keys).values_list("key", "content_hash"))
        other = [i for i in chunk if hashes.get(i.key, i.content_hash) != i.content_hash]
        if other:
            rows = there.filter(key__in=[item.key for item in other]).values(*CONTENT)
            stored = {values["key"]: values for values in rows}
            self._items += [
                _conflict(item, f"in the study “{self._study.slug}”", stored[item.key])
                for item in other
                if not _same_released(item, stored[item.key])
            ]
        return [item for item in chunk if item.key not in hashes]

    def _new_personas(self, items: list[ItemRecord]) -> list[PersonaRecord]:
        """The personas that the study lacks; one with other content there is a fault."""
        missing: dict[str, PersonaRecord] = {}
        for item in items:
            mention = _Mention(item.line, item.file, item.persona.fingerprint)
            first = self._mentions.setdefault(item.persona.key, mention)
            if first is mention:
                missing[item.persona.key] = item.persona
            elif first.fingerprint != mention.fingerprint:
                where = f"in {first.file}, line {first.line},"
                self._in_files.append(_persona_conflict(item.persona.key, mention, where))
                self._left_out.add(item.key)
        if not self._has_personas:
            return list(missing.values())
        for there in self._study.personas.filter(key__in=list(missing)):
            stored = PersonaRecord(there.key, there.features, there.text, there.history)
            mention = self._mentions[there.key]
            if stored.fingerprint != mention.fingerprint:
                where = f"in the study “{self._study.slug}”"
                self._in_study.append(_persona_conflict(there.key, mention, where))
                self._left_out.add(there.key)
            self._ids[there.key] = there.pk
        return [persona for key, persona in missing.items() if key not in self._ids]

    def _insert_personas(self, personas: list[PersonaRecord]) -> None:
        insert_rows(
            Persona,
            ("study", "key", "features", "text", "history"),
            [(self._study.pk, p.key, p.features, p.text, p.history) for p in personas],
        )
        keys = [persona.key for persona in personas]
        self._ids |= dict(self._study.personas.filter(key__in=keys).values_list("key", "pk"))

    def _insert(self, items: list[ItemRecord]) -> None:
        insert_rows(
            Item,
            (
                *("study", "persona", "content_hash", "shuffle_key"),
                *("seats_needed", "is_held_back", *CONTENT),
            ),
            [
                (
                    self._study.pk,
                    self._ids[item.persona.key],
                    item.content_hash,
                    shuffle_key(),
                    self._seats
                    if item.values["split"] == Item.Split.MAIN and not item.is_partial
                    else 0,
                    item.is_partial,
                    *(item.values[name] for name in CONTENT),
                )
                for item in items
            ],
        )


@dataclass(frozen=True)
class _Mention:
    """Where the new items first name a persona, and the persona's content."""

    line: int
    file: str
    fingerprint: str


def _other_content(files: Sequence[ReadItems], *, skip: bool) -> list[Fault]:
    """Refuse an item that has other content in two files; within a file no id occurs twice.

    With `skip`, return these faults: the first file's item is stored.
    """
    if len(files) == 1:
        return []
    first: dict[str, tuple[ReadItems, int]] = {}
    faults = Faults(skip=skip)
    for file in files:
        for number, item in enumerate(file.items):
            there, number_there = first.setdefault(item.key, (file, number))
            if there is file and number_there == number:
                continue
            known = there.items[number_there]
            if item.content_hash != known.content_hash and not _same_released(item, known.values):
                faults.append(_conflict(item, f"in {known.file}, line {known.line},", known.values))
    if faults:
        raise Refused(faults)
    return faults.skipped


def _same_released(item: ItemRecord, known: Mapping[str, Any]) -> bool:
    """Whether a row of a released file shows a known item, possibly with swapped sides.

    Another persona text is another set of features that a judge saw, not another item. An item
    without a right answer is one about which files disagree.
    """
    if not item.is_released:
        return False
    alike = alike_sides(item, known)
    truths = {alike.values["first_person"], known["first_person"]} - {""}
    return (
        sides(alike.values) == sides(known)
        and len(truths) < 2
        and all(alike.values[name] == known[name] for name in ("question", "context", "split"))
    )


def _conflict(item: ItemRecord, where: str, known: Mapping[str, Any]) -> Fault:
    names = [name for name in CONTENT if item.values[name] != known[name]] or ["persona"]
    return Fault(
        item.line,
        "id",
        "item has other content",
        f"item “{item.key}” is {where} with another {', '.join(names)}.",
        "Imported items do not change. Give a changed item its own id.",
        item.key,
        item.file,
    )


def _persona_conflict(key: str, mention: _Mention, where: str) -> Fault:
    return Fault(
        mention.line,
        "persona",
        "persona has other content",
        f"persona “{key}” is {where} with other features, text or history.",
        "Give a changed persona its own id.",
        key,
        mention.file,
    )


def _described(files: Sequence[ReadItems]) -> dict[str, Any]:
    dataset = files[0].dataset
    tasks = sum((file.items.facts.tasks for file in files), Counter[str]())
    fields: dict[str, Any] = {"state": Study.State.OPEN, "task": tasks.most_common(1)[0][0]}
    if title := dataset.get("title") or dataset.get("name"):
        fields["title"] = title
    if language := dataset.get("language"):
        fields["language"] = language
    return fields


def _describe(study: Study, files: Sequence[ReadItems]) -> None:
    """Store the source of the items; values stored earlier stay.

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
    """The options that read the same items again."""
    is_made = file.format in data_sets() or file.rule is not None
    importer = file.dataset.get("importer", {}) if is_made else {}
    return {
        "files": list(file.names),
        "format": file.format,
        "task": file.task,
        "limit": file.limit,
        "options": importer.get("options", {}),
        "seed": importer.get("seed"),
        "rows": dict(file.rows),
        "left_out": dict(file.dropped),
        **({"mapping": file.mapping} if file.mapping else {}),
    }


def _n(count: int, noun: str) -> str:
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"
