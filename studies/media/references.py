"""How an item names a picture or sound, in files and in the database."""

from collections.abc import Mapping
from typing import Any

from studies.media.content import ENDINGS

FOLDER = "media"  # in an export
_OWN = ("description", "no_description")


def file_name(sha256: str, kind: str) -> str:
    """The name of a file in an export, by its content."""
    return f"{FOLDER}/{sha256}.{ENDINGS[kind]}"


def as_given(media: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Stored pictures and sounds as the item format names them."""
    return [
        {"file": file_name(each["sha256"], each["type"])}
        | {name: each[name] for name in _OWN if each.get(name)}
        for each in media
    ]


def response_as_given(response: Mapping[str, Any]) -> dict[str, Any]:
    """A stored response in the item format."""
    if not response.get("media"):
        return dict(response)
    return {**response, "media": as_given(response["media"])}
