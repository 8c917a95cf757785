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

CONTENT = "content"


def with_exact_texts(
    slots: Slots, stored: Mapping[str, Any], item: Item, *, shown_first: str, whole_persona: bool
) -> Slots:
    """The slots in the spelling of the file.

    The spelling of a profile is that of the whole persona; a judge that sees less of it, or
    nothing, gets the features as usual.
    """
    entry = stored.get("items", {}).get(item.key)
    if entry is None or entry[CONTENT] != item.content_hash:
        return slots
    names = {name: slot for slot, name in names_by_side(shown_first).items()}
    texts = {
        names.get(name, name): stored["texts"][number]
        for name, number in entry.items()
        if name != CONTENT
    }
    if not whole_persona or not slots.persona:
        texts.pop("persona", None)
    return replace(slots, **texts)


def names_by_side(shown_first: str) -> dict[str, str]:
    """The response, as it is stored, that stands in each slot of a response."""
    second = Side.R2 if shown_first == Side.R1 else Side.R1
    return {"response_a": str(Side(shown_first)), "response_b": str(second)}
