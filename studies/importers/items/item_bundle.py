"""From a bundle to checked items: the format is found out, every fault is collected."""

import io
import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from itertools import islice
from typing import Any

from studies.importers.files.bundle import Bundle, File
from studies.importers.files.faults import Fault, Faults, Refused
from studies.importers.files.import_row import ImportRow
from studies.importers.files.limits import MAX_ROW
from studies.importers.files.readers import (
    BadLine,
    own_answer_column,
    read_csv,
    read_feature_words,
    read_json_lines,
)
from studies.importers.items.personalized_judge import (
    ReleasedRow,
    aligned,
    looks_released,
    parse_released,
)
from studies.importers.items.personas import read_persona
from studies.importers.items.records import ItemRecord, PersonaRecord, Warning
from studies.importers.items.validation import Validator
from studies.importers.sets.tally import Watch

_HEAD_LINES = 50


@dataclass(frozen=True)
class ReadItems:
    """Items without a fault, and how they were read.

    `names` are the files as they were given, `dataset` what they say about themselves, `rows` the
    rows of each file, `dropped` and `notes` what was left out or changed, with how often.
    """

    names: tuple[str, ...]
    dataset: Mapping[str, Any]
    format: str
    task: str
    items: list[ItemRecord]
    warnings: list[Warning]
    rows: Mapping[str, int]
    limit: int | None = None
    dropped: Mapping[str, int] = field(default_factory=dict)
    notes: Mapping[str, int] = field(default_factory=dict)
    ties: int | None = None


def read_bundle(
    bundle: Bundle,
    *,
    format: str = "auto",
    task: str,
    limit: int | None = None,
    watch: Watch | None = None,
) -> ReadItems:
    """Read and check a bundle whole, or its first `limit` items.

    Items that name no task get `task`. Raises `Refused` with every fault.
    """
    if watch is not None:
        watch.total += bundle.items.data.count(b"\n") + 1
    rows = 0
    format = recognise(bundle.items) if format == "auto" else format
    faults = Faults()
    personas = _listed_personas(bundle.personas, faults)
    validator = Validator(
        file=bundle.items.name,
        task=task,
        personas=personas,
        faults=faults,
        is_released=format == "personalized-judge",
    )
    items: list[ItemRecord] = []
    own = own_answer_column(bundle.items) if format == "csv" else ""
    for row in _rows(bundle, format, faults, own):
        if limit is not None and len(items) + len(faults) >= limit:
            break
        if isinstance(row, BadLine):
            faults.append(row.fault)
        else:
            item = validator.item(*row)
            if item is not None:
                items.append(item)
        rows += 1
        if watch is not None:
            watch.update()
    if not items and not faults:
        remedy = "Add one item a line."
        faults.append(Fault(None, "", "empty file", "There are no items in the file.", remedy))
    if faults:
        raise Refused(faults)
    return ReadItems(
        names=(bundle.name,),
        dataset=bundle.dataset,
        format=format,
        task=task,
        items=items,
        warnings=validator.warnings,
        rows={bundle.items.name: rows},
        limit=limit,
        notes={f"rows whose column “{own}” was read as first_person": rows} if own else {},
    )


def _rows(
    bundle: Bundle, format: str, faults: Faults, own: str
) -> Iterator[tuple[int, Any] | BadLine]:
    if format == "personalized-judge":
        return _released(bundle.items)
    if format == "jsonl":
        return read_json_lines(bundle.items)
    try:
        words = read_feature_words(bundle.feature_words) if bundle.feature_words else {}
    except BadLine as bad:
        faults.append(bad.fault)
        words = {}
    return read_csv(bundle.items, words, own)


def recognise(file: File) -> str:
    """The neutral format of a file: by its name, or by its first object."""
    if file.name.lower().endswith((".csv", ".tsv")):
        return "csv"
    for line in islice(io.BytesIO(file.data), _HEAD_LINES):
        if len(line) <= MAX_ROW and line.strip():
            try:
                first = json.loads(line.decode("utf-8-sig"))
            except (ValueError, RecursionError):
                break
            if isinstance(first, dict) and looks_released(first):
                return "personalized-judge"
            break
    return "jsonl"


def _listed_personas(file: File | None, faults: Faults) -> dict[str, PersonaRecord]:
    listed: dict[str, PersonaRecord] = {}
    if file is None:
        return listed
    for found in read_json_lines(file):
        if isinstance(found, BadLine):
            faults.append(found.fault)
            continue
        line, raw = found
        row = ImportRow(line, file.name)
        persona = read_persona(row, raw)
        if persona is not None and persona.key in listed:
            row.fault("id", "id used twice", f"persona “{persona.key}” is listed twice.")
        elif persona is not None:
            listed[persona.key] = persona
        faults += row.faults
    return listed


def _released(file: File) -> Iterator[tuple[int, Any] | BadLine]:
    """Released rows as raw items; a row that shows an item again must tell the same truth."""
    first: dict[str, ReleasedRow] = {}
    for row in parse_released(file.name, file.data):
        known = first.setdefault(row.item_id, row)
        if known is row:
            yield row.line, _released_item(row)
        elif aligned(row, asdict(known.r1)).truth != known.truth:
            yield BadLine(
                Fault(
                    row.line, "ground_truth", "item has two truths",
                    f"ground_truth contradicts line {known.line}, which shows the same item.",
                    "Keep one of the two rows.", row.item_id, file.name,
                )
            )  # fmt: skip


def _released_item(row: ReleasedRow) -> dict[str, Any]:
    return {
        "id": row.item_id,
        "task": row.task,
        "persona": {"id": row.persona_id, "features": list(row.features)},
        "question": row.question,
        "context": row.context,
        "responses": [
            {"key": key, "text": response.text, "prompt": response.prompt or None}
            for key, response in (("r1", row.r1), ("r2", row.r2))
        ],
        "first_person": {"label": row.truth, "source": "self_report"},
        "topic": row.topic,
        "warnings": list(row.warnings),
    }
