"""Texts of items as a released file spells them in its prompts.

Items store texts trimmed and normalised, and personas as features. A recovered wording keeps the
spelling of its file where it differs, so that a prompt is rebuilt to the byte:
`{"texts": [text, …], "items": {item key: {"content": hash, slot or response: number of a text}}}`.
A spelling belongs to the content it was read with: an item that was edited since shows its own.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from studies.models import Item, Side
from studies.texts.slots import Slots

_CONTENT = "content"


class ExactTexts:
    """Collects spellings; each text is stored once."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self._items: dict[str, dict[str, Any]] = {}

    def add(self, item: Item, spelling: Mapping[str, str]) -> bool:
        """Keep the spelling of an item; False if it was added before with another one."""
        entry: dict[str, Any] = {
            name: self._numbers.setdefault(text, len(self._numbers))
            for name, text in spelling.items()
        }
        if entry:
            entry[_CONTENT] = item.content_hash
        return self._items.setdefault(item.key, entry) == entry

    def stored(self) -> dict[str, Any]:
        items = {key: entry for key, entry in self._items.items() if entry}
        return {"texts": list(self._numbers), "items": items} if items else {}


def spelling_of(slots: Slots, exact: Mapping[str, str], *, shown_first: str) -> dict[str, str]:
    """The texts of a prompt that differ from those of its item, `slots`; responses by content."""
    names = _names(shown_first)
    return {
        names.get(slot, slot): text for slot, text in exact.items() if text != getattr(slots, slot)
    }


def with_exact_texts(
    slots: Slots, stored: Mapping[str, Any], item: Item, *, shown_first: str, whole_persona: bool
) -> Slots:
    """The slots in the spelling of the file.

    The spelling of a profile is that of the whole persona; a judge that sees less of it, or
    nothing, gets the features as usual.
    """
    entry = stored.get("items", {}).get(item.key)
    if entry is None or entry[_CONTENT] != item.content_hash:
        return slots
    names = {name: slot for slot, name in _names(shown_first).items()}
    texts = {
        names.get(name, name): stored["texts"][number]
        for name, number in entry.items()
        if name != _CONTENT
    }
    if not whole_persona or not slots.persona:
        texts.pop("persona", None)
    return replace(slots, **texts)


def _names(shown_first: str) -> dict[str, str]:
    second = Side.R2 if shown_first == Side.R1 else Side.R1
    return {"response_a": str(Side(shown_first)), "response_b": str(second)}
