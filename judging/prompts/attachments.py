"""The pictures and sounds of an item as parts of a message."""

from collections.abc import Mapping
from functools import partial
from math import ceil
from typing import Any

from django.db import connection, connections

from judging.engine.messages import Attachment, Message
from studies.file_storage.stored import Stored
from studies.media.storage import stored_file
from studies.models import Item, MediaFile
from studies.texts.slots import without_marks

# Providers count differently, and none of them says it in advance: rough numbers, rather too high.
_PIXELS_PER_TOKEN = 750
_TOKENS_PER_SECOND = 50
_FRAME_TOKENS = 100


def user_message(filled: str, item: Item) -> Message:
    """A filled template as a message, with the item's pictures and sounds at their places."""
    text, places = without_marks(filled)
    if not places:
        return Message("user", text)
    facts = {each["sha256"]: each for each in item.all_media}
    found = MediaFile.objects.filter(study=item.study_id, sha256__in=[sha for _, sha in places])
    files = {file.sha256: stored_file(file) for file in found}
    return Message(
        "user",
        text,
        tuple(
            Attachment(
                place,
                sha,
                facts[sha]["type"],
                _tokens(facts[sha]),
                partial(_read, files[sha]),
                size=facts[sha]["size"],
            )
            for place, sha in places
        ),
    )


def _tokens(facts: Mapping[str, Any]) -> int:
    if (seconds := facts.get("seconds")) is not None:
        return _FRAME_TOKENS + ceil(seconds * _TOKENS_PER_SECOND)
    return _FRAME_TOKENS + ceil(facts["width"] * facts["height"] / _PIXELS_PER_TOKEN)


def _read(stored: Stored) -> bytes:
    """The bytes of a file. A backend calls it in a thread of its own, which keeps no connection.

    A worker that writes a file of requests keeps the connection that it has.
    """
    had_connection = connection.connection is not None
    try:
        return stored.read_bytes()
    finally:
        if not had_connection:
            connections.close_all()
