"""Notes and tags that researchers give to items."""

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import QuerySet

from analysis.disagreements.notes import WITH_NOTE, ItemNotes, WrittenNote
from analysis.errors import AnalysisError
from analysis.exports.catalogue import PLAIN, Disclosure, ExportTable
from analysis.exports.columns import Column
from analysis.exports.rows import to_the_minute
from analysis.exports.table_files import ExportTableFile
from extras.audit.models import ItemNote, ItemTag
from studies.models.studies import Study
from studies.services.studies import lock_study, record
from studies.statements import clock

_NOTES_PER_READ = 500
MOST_TAGS, TAG_LENGTH, NOTE_LENGTH = 20, 40, 5_000


class NoteChanged(AnalysisError):
    """Somebody else changed the note since the page was opened."""


def read_tags(text: str) -> list[str]:
    """The distinct tags in a comma-separated text, in lower case and alphabetical order.

    >>> read_tags("Sarcasm,  politics ,sarcasm,,")
    ['politics', 'sarcasm']
    """
    return sorted({tag for part in text.split(",") if (tag := " ".join(part.lower().split()))})


def fault_of_tags(tags: list[str]) -> str:
    """Why the tags cannot be stored; empty if they can."""
    if len(tags) > MOST_TAGS:
        return f"Use at most {MOST_TAGS} tags"
    if any(len(tag) > TAG_LENGTH for tag in tags):
        return f"Use at most {TAG_LENGTH} characters for a tag"
    return ""


def note_on(item_id: int) -> ItemNote | None:
    return (
        ItemNote.objects.filter(item=item_id)
        .select_related("changed_by")
        .prefetch_related("tags")
        .first()
    )


def tags_of(study: Study) -> list[str]:
    """Every tag of the study's items, by name."""
    names = ItemTag.objects.filter(note__study=study).order_by("name").values_list("name")
    return [name for (name,) in names.distinct()]


@transaction.atomic
def save_note(
    study: Study, item_id: int, key: str, *, text: str, tags: list[str], version: int, user: User
) -> None:
    """Store an item's note and tags; `version` is the edited one, 0 for none.

    Raises `NoteChanged` if somebody else has changed it since, and `Item.DoesNotExist` if the item
    was deleted. The log records the item and the tags, not the text.
    """
    text = text.strip()
    locked = lock_study(study.pk)  # The second of two concurrent first notes finds the other.
    locked.all_items(manager="everything").only("pk").get(pk=item_id)
    note = _next_version(study, item_id, text, version=version, user=user)
    before = set(note.tags.values_list("name", flat=True))
    note.tags.exclude(name__in=tags).delete()
    ItemTag.objects.bulk_create(
        ItemTag(note=note, name=name) for name in tags if name not in before
    )
    record(
        study,
        "item note changed",
        user=user,
        item=key,
        has_note=bool(text),
        added=sorted(set(tags) - before),
        removed=sorted(before - set(tags)),
    )


def _next_version(study: Study, item_id: int, text: str, *, version: int, user: User) -> ItemNote:
    values = {"text": text, "changed_by": user, "changed_at": clock.now()}
    if not version:
        if ItemNote.objects.filter(item=item_id).exists():
            raise NoteChanged
        return ItemNote.objects.create(study=study, item_id=item_id, **values)
    changed = ItemNote.objects.filter(item=item_id, study=study, version=version)
    if not changed.update(version=version + 1, **values):
        raise NoteChanged
    return ItemNote.objects.get(item=item_id)


def _items(study: Study, tag: str) -> QuerySet[Any]:
    notes = ItemNote.objects.filter(study=study)
    if tag != WITH_NOTE:
        notes = notes.filter(tags__name=tag)
    return notes.values("item")


def _on_items(ids: Collection[int]) -> Mapping[int, WrittenNote]:
    notes = ItemNote.objects.filter(item__in=ids).prefetch_related("tags")
    return {note.item_id: _written(note) for note in notes}


def _written(note: ItemNote) -> WrittenNote:
    return WrittenNote(note.text, tuple(tag.name for tag in note.tags.all()))


NOTES = ItemNotes(tags_of, _items, _on_items)

_COLUMNS = (
    Column("item_id", "text", "The item's id."),
    Column("tags", "json", "The tags that researchers gave the item."),
    Column("note", "text", "What researchers noted on it."),
    Column("changed_at", "time", "When note or tags were last changed, UTC, to the minute."),
)


def _rows(study: Study) -> Iterator[dict[str, Any]]:
    """One row per item with a note or a tag, by item, without authors."""
    notes = (
        ItemNote.objects.filter(study=study)
        .select_related("item")
        .prefetch_related("tags")
        .order_by("item__key")
    )
    for note in notes.iterator(chunk_size=_NOTES_PER_READ):
        text, tags = _written(note)
        if text or tags:
            yield {
                "item_id": note.item.key,
                "tags": list(tags),
                "note": text or None,
                "changed_at": to_the_minute(note.changed_at),
            }


def _table(study: Study, disclosure: Disclosure) -> ExportTableFile:
    return ExportTableFile("notes", _COLUMNS, lambda: _rows(study))


TABLE = ExportTable(
    name="notes",
    formats=PLAIN,
    label="Notes: one row per item with a note or tags of researchers",
    make=_table,
)
