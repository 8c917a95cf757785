"""What researchers write on items: an extra keeps it, the page of disagreements shows it."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from django.db.models import QuerySet

from studies.extra import Kind
from studies.models.studies import Study

WITH_NOTE = "*"


class WrittenNote(NamedTuple):
    text: str
    tags: tuple[str, ...]


@dataclass(frozen=True)
class ItemNotes:
    """Who keeps notes: every tag of a study, ids of items by tag, and notes by id of their item.

    The tag `WITH_NOTE` stands for any note.
    """

    tags: Callable[[Study], list[str]]
    items: Callable[[Study, str], QuerySet[Any]]
    on_items: Callable[[Collection[int]], Mapping[int, WrittenNote]]


_NOTES: Kind[ItemNotes] = Kind("readers", "notes")


def notes_of(study: Study) -> ItemNotes | None:
    """Who keeps notes in this study; None if nobody does."""
    return next(iter(_NOTES.of(study)), None)
