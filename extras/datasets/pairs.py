"""Shared by importers of preference files: texts, conversations, items without a persona."""

from collections.abc import Mapping, Sequence
from typing import Any

from studies.importers.files.faults import LIMITS, ImportRow
from studies.importers.sets.data_set import Tally
from studies.texts.normalisation import storable

# An item needs a sentence even if the file says nothing about the person.
NOBODY = {"id": "nobody", "features": [], "text": "Nothing is known about this person."}
# Names of languages in released files, and their codes.
_LANGUAGES = {
    "english": "en",
    "chinese": "zh",
    "korean": "ko",
    "french": "fr",
    "spanish": "es",
    "russian": "ru",
    "japanese": "ja",
    "german": "de",
    "italian": "it",
    "portuguese": "pt",
    "polish": "pl",
    "indonesian": "id",
    "dutch": "nl",
    "vietnamese": "vi",
    "arabic": "ar",
    "persian": "fa",
    "turkish": "tr",
}
_WHO = {"user": "The person", "assistant": "The model", "system": "The system"}
REMEDY = "Use the original file as released."


def language_code(name: Any) -> str | None:
    """The code of a language given by English name or code; None if unknown."""
    text = str(name or "").strip()
    known = _LANGUAGES.get(text.casefold())
    return known or (text if text in _LANGUAGES.values() else None)


def text_of(row: ImportRow, raw: Mapping[str, Any], name: str) -> str:
    """A normalised text of a row; a missing text is a fault."""
    value = raw.get(name)
    if isinstance(value, str) and value.strip():
        return storable(value)
    row.fault(name, "value is missing", f"{name} is missing or not text.", REMEDY)
    return ""


def is_usable(question: str, context: str, responses: Sequence[str], tally: Tally) -> bool:
    """Whether texts can form an item; counts the reason if not."""
    if not all(responses):
        tally.drop("pairs with an empty response")
    elif responses[0] == responses[1]:
        tally.drop("pairs of identical texts")
    elif max(map(len, responses)) > LIMITS["response"]:
        tally.drop("pairs with a response longer than 8,000 characters")
    elif not question or len(question) > LIMITS["question"]:
        tally.drop("questions that are empty or longer than 4,000 characters")
    elif len(context) > LIMITS["context"]:
        tally.drop("conversations longer than 20,000 characters before the question")
    else:
        return True
    return False


def pair(
    *,
    key: str,
    first: dict[str, Any],
    second: dict[str, Any],
    label: str | None,
    source: str = "unknown",
    task: str = "preference",
    persona: Mapping[str, Any] = NOBODY,
    **fields: Any,
) -> dict[str, Any]:
    """A raw item with the file's first response as response 1, without empty fields."""
    return {
        "id": key,
        "task": task,
        "persona": dict(persona),
        "responses": [{"key": "r1", **first}, {"key": "r2", **second}],
        "first_person": {"label": label, "tie": label == "tie", "source": source},
        **{name: value for name, value in fields.items() if value},
    }


def messages_of(row: ImportRow, raw: Mapping[str, Any], name: str) -> list[tuple[str, str]] | None:
    """The messages of a conversation as (role, text); None and a fault if it is malformed.

    Text may be split into parts, as in files of multimodal models.
    """
    messages = raw.get(name)
    turns = []
    for message in messages if isinstance(messages, list) else [None]:
        if not isinstance(message, dict) or message.get("role") not in _WHO:
            problem = f"{name} is not a list of messages with role and content."
            row.fault(name, "not a conversation", problem, REMEDY)
            return None
        turns.append((str(message["role"]), storable(_text(message.get("content")))))
    return turns


def has_other_media(raw: Mapping[str, Any], name: str) -> bool:
    """Whether a message contains anything other than text."""
    messages = raw.get(name)
    contents = [m.get("content") for m in messages or [] if isinstance(m, dict)]
    parts = [part for content in contents if isinstance(content, list) for part in content]
    return any(isinstance(part, dict) and part.get("type", "text") != "text" for part in parts)


def transcript(messages: Sequence[tuple[str, str]]) -> str:
    """Messages as one text, each with its author."""
    return "\n\n".join(f"{_WHO[role]}: {text}" for role, text in messages)


def _text(content: Any) -> str:
    if isinstance(content, list):
        parts = [part.get("text") for part in content if isinstance(part, dict)]
        return "\n".join(part for part in parts if isinstance(part, str))
    return content if isinstance(content, str) else ""
