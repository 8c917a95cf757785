"""Reading the persona of an item."""

import re
from typing import Any

from studies.importers.files.import_row import ImportRow
from studies.importers.items.records import PersonaRecord

MAX_FEATURES = 40
MAX_TEXT = 4_000
_KEY = re.compile(r"[a-z][a-z0-9_]*")


def known_or_read(
    row: ImportRow, raw: Any, listed: dict[str, PersonaRecord]
) -> PersonaRecord | None:
    """The persona of an item: given in full, or by the id of one that the bundle lists."""
    if isinstance(raw, dict) and set(raw) == {"id"} and str(raw["id"]) in listed:
        return listed[str(raw["id"])]
    return read_persona(row, raw)


def read_persona(row: ImportRow, raw: Any) -> PersonaRecord | None:
    """Features, text and history of a persona; None when it has no usable id."""
    if not isinstance(raw, dict) or not raw.get("id"):
        row.fault("persona.id", "persona without id", "persona has no id.", "Give persona.id.")
        return None
    key = row.text(raw, "id", name="persona.id", limit=120)
    features = _features(row, raw.get("features"))
    text = row.text(raw, "text", name="persona text", limit=MAX_TEXT)
    if not raw.get("features") and not text:
        row.fault("persona", "persona is empty", "the persona needs features or text.")
    return PersonaRecord(key, features, text, _history(row, raw.get("history")))


def feature(key: str, label: str, value: str, text: str) -> dict[str, str]:
    """A feature in stored form; missing label and sentence are made from key and value."""
    label = label or key.replace("_", " ").capitalize()
    return {"key": key, "label": label, "value": value, "text": text or f"{label}: {value}."}


def _features(row: ImportRow, raw: Any) -> list[dict[str, str]]:
    raw = [] if raw is None else raw
    if not isinstance(raw, list):
        row.fault("persona.features", "features are not a list", "persona features must be a list.")
        return []
    if len(raw) > MAX_FEATURES:
        row.fault(
            "persona.features",
            "too many features",
            f"the persona has {len(raw)} features; the limit is {MAX_FEATURES}.",
        )
    found: dict[str, dict[str, str]] = {}
    for number, entry in enumerate(raw, start=1):
        if not isinstance(entry, dict) or not isinstance(entry.get("key"), str):
            row.fault(
                "persona.features", "feature without key", f"persona feature {number} has no key."
            )
            continue
        key = entry["key"]
        if not _KEY.fullmatch(key):
            row.fault(
                "persona.features",
                "feature key",
                f"persona feature “{key}” must start with a small letter and use only small "
                "letters, digits and _.",
                value=key,
            )
        elif key in found:
            row.fault(
                "persona.features",
                "feature appears twice",
                f"persona feature “{key}” appears twice.",
                value=key,
            )
        else:
            found[key] = _feature(row, key, entry)
    return list(found.values())


def _feature(row: ImportRow, key: str, entry: dict[str, Any]) -> dict[str, str]:
    value = entry.get("value")
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        entry = {**entry, "value": str(value)}
    value = row.text(entry, "value", name=f"value of persona feature “{key}”", limit=1_000)
    label = row.text(entry, "label", name=f"label of persona feature “{key}”", limit=120)
    text = row.text(entry, "text", name=f"text of persona feature “{key}”", limit=2_000)
    if not value and _is_blank(entry.get("value")):
        row.fault(
            "persona.features",
            "feature without value",
            f"persona feature “{key}” has no value.",
            "Leave out what is not known of a person.",
        )
    return feature(key, label, value, text)


def _is_blank(value: Any) -> bool:
    """Whether no value was given; a value that is not text was reported already."""
    return value is None or (isinstance(value, str) and not value.strip())


def _history(row: ImportRow, raw: Any) -> list[dict[str, str]]:
    raw = [] if raw is None else raw
    if not isinstance(raw, list):
        row.fault("persona.history", "history is not a list", "persona history must be a list.")
        return []
    entries = []
    for number, entry in enumerate(raw, start=1):
        if not isinstance(entry, dict):
            row.fault(
                "persona.history", "history entry", f"history entry {number} is not an object."
            )
            continue
        texts = {
            name: row.text(entry, name, name=f"{name} of history entry {number}", limit=8_000)
            for name in ("prompt", "chosen", "rejected")
        }
        if any(not texts[name] and _is_blank(entry.get(name)) for name in ("prompt", "chosen")):
            row.fault(
                "persona.history",
                "history entry",
                f"history entry {number} needs a prompt and the chosen response.",
            )
            continue
        if not texts["prompt"] or not texts["chosen"]:
            continue  # not text, and already a fault
        entries.append({name: text for name, text in texts.items() if text})
    return entries
