"""Changing the note and the tags of an item."""

from django.contrib.auth.models import User
from django.db import transaction

from analysis.errors import AnalysisError
from analysis.models import ItemNote, ItemTag
from studies.models.studies import Study
from studies.services.studies import lock_study, record
from studies.statements import clock

MOST_TAGS, TAG_LENGTH, NOTE_LENGTH = 20, 40, 5_000


class NoteChanged(AnalysisError):
    """Somebody else changed the note since the page was opened."""


def read_tags(text: str) -> list[str]:
    """The tags in a text with commas, in lower case and alphabetical order, each once.

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
    """Store the note and the tags of an item; `version` is the one that was edited, 0 for none.

    Raises `NoteChanged` if somebody else has stored another since, and `Item.DoesNotExist` if the
    item was deleted. The log names the item and the tags, not the text.
    """
    text = text.strip()
    locked = lock_study(study.pk)  # Of two first notes, the second finds the other.
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
