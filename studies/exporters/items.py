"""Items as files that can be imported again as the same items."""

import json
from collections.abc import Callable, Iterator, Mapping
from typing import IO, Any

from studies.importers.files.bundle import FORMAT
from studies.importers.files.readers import COLUMNS
from studies.importers.items.validation import KEYS
from studies.media import as_given, keeper, response_as_given
from studies.models import Item, Study
from studies.statements.bulk import ByLetters

_CHUNK = 1_000
# An option set is long and rare, and so is a correction: they do not get columns.
_WITH_COLUMNS = KEYS - {"option_set", "replaces"}


def may_redistribute(study: Study) -> bool:
    """Whether the texts can be exported; a source that forbids it gives only ids and hashes."""
    return bool(study.source.get("redistribution") != "forbidden")


def item_rows(study: Study) -> Iterator[dict[str, Any]]:
    """Every item of a study in the interchange format, by key; withheld texts as hashes."""
    own = Item.everything.filter(study=study).select_related("persona")
    items = own.order_by(ByLetters("key"))
    shape = shape_of(study)
    for item in items.iterator(chunk_size=_CHUNK):
        yield shape(item)


def shape_of(study: Study) -> Callable[[Item], dict[str, Any]]:
    """The exported shape of an item: with its texts, or with hashes only."""
    return raw_item if may_redistribute(study) else _withheld


def media_files(study: Study) -> Mapping[str, Callable[[], IO[bytes]]]:
    """The pictures and sounds that `item_rows` names, each with what opens it."""
    return keeper().files(study) if may_redistribute(study) else {}


def raw_item(item: Item) -> dict[str, Any]:
    """An item in the interchange format."""
    metadata = dict(item.metadata)
    extra = metadata.pop("_extra", {})
    if replaced := metadata.pop(Item.REPLACES, ""):
        extra = {**extra, "replaces": replaced}
    row = {
        "id": item.key,
        "group": item.group or None,
        "task": item.task,
        "persona": {
            "id": item.persona.key,
            "features": item.persona.features,
            "text": item.persona.text or None,
            "history": item.persona.history,
        },
        "question": item.question or None,
        "context": item.context or None,
        "context_title": item.context_title or None,
        "responses": [
            {"key": key, **response_as_given(item.response(key))} for key in ("r1", "r2")
        ],
        "first_person": {
            "label": item.first_person or None,
            "tie": item.first_person == Item.FirstPerson.TIE,
            "margin": item.margin,
            "source": item.first_person_source,
            "label_confidence": item.label_confidence,
        },
        "order": {"shuffle": item.shuffle_sides, "fixed_first": item.fixed_first or None},
        "split": item.split,
        "topic": item.topic or None,
        "language": item.language or None,
        "warnings": item.warnings,
        "metadata": metadata,
    }
    if item.advice:
        row["advice"] = item.advice
    if item.option_set:
        others = [response_as_given(response) for response in item.option_set["others"]]
        row["option_set"] = item.option_set | {"others": others}
    if item.media:
        row["media"] = as_given(item.media)
    if item.reference:
        row["reference"] = item.reference
    if item.check_answer:
        row["check"] = {"correct": item.check_answer, "instruction": item.check_instruction}
    return extra | row


def _withheld(item: Item) -> dict[str, Any]:
    return {
        "id": item.key,
        "split": item.split,
        "topic": item.topic or None,
        "content_hash": item.content_hash,
    }


def item_cells(row: dict[str, Any]) -> dict[str, Any]:
    """A row of `item_rows` as the cells of a CSV record, in the columns that imports read."""
    if "persona" not in row:
        return row
    first, order, check = row["first_person"], row["order"], row.get("check", {})
    persona = row["persona"]
    cells: dict[str, Any] = {column: row.get(column) for column in COLUMNS}
    cells |= {
        "persona_id": persona["id"],
        "persona_text": persona["text"],
        "persona_features": _json(persona["features"]),
        "persona_history": _json(persona["history"]),
        "first_person": {"r1": "1", "r2": "2"}.get(first["label"], first["label"]),
        "first_person_source": first["source"],
        "label_confidence": first["label_confidence"],
        "margin": first["margin"],
        "tie": "true" if first["tie"] else "false",
        "shuffle": "true" if order["shuffle"] else "false",
        "fixed_first": order["fixed_first"],
        "check_correct": check.get("correct"),
        "check_instruction": check.get("instruction"),
        "warnings": _json(row["warnings"]),
        "metadata": _json(row["metadata"]),
        "media": _json(row.get("media")),
        "extra": _json({key: value for key, value in row.items() if key not in _WITH_COLUMNS}),
    }
    if advice := row.get("advice"):
        cells |= {
            "advice": advice["text"],
            "advice_title": advice["title"],
            "advice_kind": advice["kind"],
            "advice_favors": {"r1": "1", "r2": "2"}.get(advice["favors"], ""),
        }
    for number, response in enumerate(row["responses"], start=1):
        maker = response.get("generated_by") or {}
        cells |= {
            f"response_{number}": response["text"],
            f"prompt_{number}": response.get("prompt"),
            f"score_{number}": response.get("score"),
            f"media_{number}": _json(response.get("media")),
            f"generated_by_{number}": maker.get("name"),
            f"kind_{number}": maker.get("kind"),
            f"provider_{number}": maker.get("provider"),
            f"family_{number}": maker.get("family"),
        }
    return cells


def dataset_description(study: Study, *, items: int, sha256: str) -> dict[str, Any]:
    """The dataset.json of an exported items.jsonl."""
    source = {key: value for key, value in study.source.items() if key != "dataset"}
    return {
        "format": FORMAT,
        "format_version": "1.0",
        "name": study.slug,
        "title": study.title,
        "language": study.language,
        "source": source,
        **study.source.get("dataset", {}),
        "counts": {"items": items},
        "sha256": sha256,
    }


def _json(value: Any) -> str | None:
    return json.dumps(value, ensure_ascii=False) if value else None
