"""Further versions of an item in a linked study, checked by the rules of the item format."""

import hashlib
from collections.abc import Mapping
from typing import Any

from studies.importers.files.faults import Faults, Refused
from studies.importers.items.records import CONTENT
from studies.importers.items.validation import Validator
from studies.media import Media
from studies.models import Item, Persona, Study

_LONGEST_ID = 120  # characters of an id in the item format


def key_with(key: str, mark: str) -> str:
    """An id with a mark; a long id is cut and gets a hash that keeps it unique."""
    room = _LONGEST_ID - len(mark)
    if len(key) <= room:
        return f"{key}{mark}"
    digest = hashlib.blake2b(key.encode(), digest_size=6).hexdigest()
    return f"{key[: room - len(digest) - 1]}-{digest}{mark}"


def store_twin(
    copy: Study, raw: Mapping[str, Any], personas: dict[str, Persona], media: Media
) -> None:
    """Store an item in the interchange format, checked by its rules, and its persona if new."""
    faults = Faults()
    checked = Validator(file="", task=raw["task"], faults=faults, media=media).item(1, dict(raw))
    if checked is None:
        raise Refused(faults)
    key = checked.persona.key
    if key not in personas:
        personas[key] = Persona.objects.create(
            study=copy,
            key=key,
            features=checked.persona.features,
            text=checked.persona.text,
            history=checked.persona.history,
        )
    Item.objects.create(
        study=copy,
        persona=personas[key],
        content_hash=checked.content_hash,
        **{name: checked.values[name] for name in CONTENT},
    )
