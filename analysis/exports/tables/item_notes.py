"""Researchers' notes and tags as rows of an export."""

from collections.abc import Iterator
from typing import Any

from analysis.exports.tables.pseudonyms import to_the_minute
from analysis.models import ItemNote
from studies.models.studies import Study

_CHUNK = 500


def note_table(study: Study) -> Iterator[dict[str, Any]]:
    """One row for each item with a note or a tag, by item; who wrote them is not exported."""
    notes = (
        ItemNote.objects.filter(study=study)
        .select_related("item")
        .prefetch_related("tags")
        .order_by("item__key")
    )
    for note in notes.iterator(chunk_size=_CHUNK):
        tags = [tag.name for tag in note.tags.all()]
        if note.text or tags:
            yield {
                "item_id": note.item.key,
                "tags": tags,
                "note": note.text or None,
                "changed_at": to_the_minute(note.changed_at),
            }
