"""Items and personas of a file, checked and normalised, before they are stored."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from studies.texts.normalisation import canonical

# The fields that define an item: the columns that an import fills and a freeze fixes.
CONTENT = (
    "key",
    "split",
    "task",
    "group",
    "topic",
    "language",
    "question",
    "context",
    "context_title",
    "r1",
    "r2",
    "first_person",
    "first_person_source",
    "label_confidence",
    "margin",
    "fixed_first",
    "shuffle_sides",
    "check_answer",
    "check_instruction",
    "warnings",
    "metadata",
    "advice",
    "option_set",
    "media",
)
# Fields that count for the hash of an item only if they hold something.
_LATER = ("advice", "option_set", "media")


@dataclass(frozen=True)
class PersonaRecord:
    key: str
    features: list[dict[str, str]]
    text: str = ""
    history: list[dict[str, str]] = field(default_factory=list)

    @property
    def content(self) -> dict[str, Any]:
        return {"features": self.features, "text": self.text, "history": self.history}

    @cached_property
    def canonical(self) -> str:
        """The content as text, written once for all items of the persona."""
        return canonical(self.content)

    @cached_property
    def fingerprint(self) -> str:
        """Equal for personas of equal content."""
        return hashlib.sha256(self.canonical.encode()).hexdigest()


@dataclass(frozen=True)
class ItemRecord:
    """An item as it will be stored: `values` has a value for every name in `CONTENT`.

    `is_released` marks a row of a released result file, whose sides and persona text may vary.
    """

    line: int
    file: str
    persona: PersonaRecord
    values: Mapping[str, Any]
    is_released: bool = False

    @property
    def key(self) -> str:
        return str(self.values["key"])

    @cached_property
    def content_hash(self) -> str:
        """SHA-256 of everything that an annotator or a model can see, and of the truth."""
        given = [name for name in CONTENT if name not in _LATER or self.values[name]]
        values = canonical({name: self.values[name] for name in given})
        text = f"[{values},{canonical(self.persona.key)},{self.persona.canonical}]"
        return hashlib.sha256(text.encode()).hexdigest()


@dataclass(frozen=True)
class Warning:
    """A remark about an item that does not prevent the import."""

    line: int
    message: str
    file: str = ""
