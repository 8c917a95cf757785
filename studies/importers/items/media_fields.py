"""The pictures and sounds that a raw item names, read and checked by the rules of the format."""

from collections.abc import Mapping
from typing import Any

from studies.importers.files.import_row import ImportRow
from studies.media.delivered import Media
from studies.media.errors import BadMedia

MOST = 4
_DESCRIPTION = 4_000  # characters; a transcript can be long
_REASON = 300
_KEYS = ("file", "description", "no_description")
_REMEDY = 'Write media: [{"file": "pictures/1.png", "description": "…"}].'


def read_media(row: ImportRow, raw: Any, name: str, media: Media) -> list[dict[str, Any]]:
    """The pictures and sounds of a response or of the question; `name` says which in a fault."""
    if raw is None or raw == [] or raw == "":
        return []
    if not isinstance(raw, list) or not all(isinstance(each, dict) for each in raw):
        row.fault(name, "media is not a list", f"{name} must be a list of objects.", _REMEDY)
        return []
    if len(raw) > MOST:
        row.fault(name, "too many files", f"{name} names {len(raw)} files; the limit is {MOST}.")
        return []
    found = [_one(row, each, name, media) for each in raw]
    kept = [each for each in found if each]
    if len({each["sha256"] for each in kept}) < len(kept):
        row.fault(name, "same file twice", f"{name} names the same file twice.", "Drop one.")
    return kept


def shown_of(response: Mapping[str, Any]) -> str:
    """What people see of a response, as one text: equal for responses that are the same.

    Capitals and punctuation count, because an item may be about them.
    """
    files = [each["sha256"] for each in response.get("media", ())]
    return "\n".join([response["text"], *files])


def _one(row: ImportRow, raw: Mapping[str, Any], name: str, media: Media) -> dict[str, Any]:
    if unknown := [key for key in raw if key not in _KEYS]:
        row.fault(
            name,
            "unknown key of media",
            f"{name} has the key “{unknown[0]}”, which is not known.",
            f"Use {', '.join(_KEYS)}.",
        )
    file = row.text(raw, "file", name=f"{name}.file", limit=500)
    words = {
        key: row.text(raw, key, name=f"{name}.{key}", limit=limit)
        for key, limit in (("description", _DESCRIPTION), ("no_description", _REASON))
    }
    if not file:
        row.fault(name, "media without a file", f"{name} names no file.", _REMEDY)
        return {}
    try:
        facts = media.facts(file)
    except BadMedia as error:
        row.fault(name, "file cannot be used", f"{name}: {file} {error.message}", error.remedy)
        return {}
    if not any(words.values()):
        row.fault(
            name,
            "media without a description",
            f"{name}: {file} has no description, so people who cannot see or hear it get nothing.",
            "Write what a picture shows, or the words of a sound, as description. If that would "
            "answer the question, write the reason as no_description.",
        )
    return {**facts, **{key: text for key, text in words.items() if text}}
