"""Reads a bundle as checked items: recognises the format and collects all faults."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from studies.importers.files.bundle import Bundle, File
from studies.importers.files.faults import Fault, Faults, Refused
from studies.importers.files.import_row import ImportRow
from studies.importers.files.readers import BadLine, read_json_lines
from studies.importers.items.file_formats import FILE_FORMATS, recognise
from studies.importers.items.kept_items import KeptItems
from studies.importers.items.option_sets import PairRule, has_more_than_two
from studies.importers.items.personas import read_persona
from studies.importers.items.records import PersonaRecord, Warning
from studies.importers.items.validation import Validator
from studies.importers.sets.tally import Watch
from studies.media.delivered import Delivered

_COLUMNS_SHOWN = 20


@dataclass(frozen=True)
class ReadItems:
    """Items without a fault, with facts on how they were read.

    `names` are the files as given, `dataset` is their own description, `rows` has the rows of each
    file, `dropped` and `notes` have what was left out or changed, with how often. Of a file that
    was read by a mapping of its columns, `mapping` is that, and `columns_left_out` are the others;
    `pairs` is the rule that made pairs of items with more than two responses, `media` has the
    pictures and sounds, `skipped` the faults of rows that were left out on request.
    """

    names: tuple[str, ...]
    dataset: Mapping[str, Any]
    format: str
    task: str
    items: KeptItems
    warnings: list[Warning]
    rows: Mapping[str, int]
    limit: int | None = None
    dropped: Mapping[str, int] = field(default_factory=dict)
    notes: Mapping[str, int] = field(default_factory=dict)
    ties: int | None = None
    mapping: Mapping[str, Any] | None = None
    pairs: PairRule | None = None
    columns_left_out: tuple[str, ...] = ()
    media: Delivered | None = None
    skipped: Sequence[Fault] = ()


def read_bundle(
    bundle: Bundle,
    *,
    format: str = "auto",
    task: str,
    limit: int | None = None,
    watch: Watch | None = None,
    pairs: PairRule | None = None,
    skip_faulty: bool = False,
) -> ReadItems:
    """Read and check a whole bundle, or its first `limit` items.

    Items without a task get `task`. Raises `Refused` with every fault; with `skip_faulty`, faulty
    rows are left out instead.
    """
    if watch is not None:
        watch.total += bundle.items.count_lines() + 1
    rows = sets = 0
    file_format = recognise(bundle.items) if format == "auto" else FILE_FORMATS[format]
    faults = Faults(skip=skip_faulty)
    personas = _listed_personas(bundle.personas, faults)
    validator = Validator(
        file=bundle.items.name,
        task=task,
        personas=personas,
        faults=faults,
        is_released=file_format.is_released,
        pairs=pairs,
        media=bundle.media,
    )
    items = KeptItems()
    own = file_format.own_answer(bundle.items)
    for row in file_format.read(bundle, faults, own):
        if limit is not None and len(items) + len(faults) >= limit:
            break
        if isinstance(row, BadLine):
            faults.append(row.fault)
        elif rows == 0 and (columns := _other_columns(row[1])):
            raise Refused([_not_items(columns, bundle.items.name)])
        else:
            made = validator.items(*row)
            sets += pairs is not None and has_more_than_two(row[1])
            for item in made[: None if limit is None else limit - len(items)]:
                items.append(item)
        rows += 1
        if watch is not None:
            watch.update()
    notes = {f"rows whose column “{own}” was read as first_person": rows} if own else {}
    if pairs is not None and sets:
        notes[f"rows with more than 2 responses, as pairs by “{pairs.name}”"] = sets
    refuse(faults, has_items=bool(items), remedy="Add one item a line.")
    return ReadItems(
        names=(bundle.name,),
        dataset=bundle.dataset if pairs is None else {**bundle.dataset, "importer": pairs.record},
        format=file_format.name,
        task=task,
        items=items,
        warnings=validator.warnings,
        rows={bundle.items.name: rows},
        limit=limit,
        notes=notes,
        pairs=pairs,
        media=bundle.media,
        skipped=faults.skipped,
    )


def _other_columns(raw: Any) -> list[str]:
    """The keys of an object that has no part of an item, so that its columns must be mapped."""
    if not isinstance(raw, dict) or len(raw) < 2 or raw.keys() & {"id", "persona", "responses"}:
        return []
    return [*raw]


def _not_items(columns: Sequence[str], file: str) -> Fault:
    named = ", ".join(f"“{name[:40]}”" for name in columns[:_COLUMNS_SHOWN])
    more = f" and {left:,} more" if (left := len(columns) - _COLUMNS_SHOWN) > 0 else ""
    message = f"the rows have {named}{more}, and no id, persona and responses as items have."
    remedy = (
        "Say what each column holds: choose the file on the page “Import items”, or give the "
        "command a mapping of the columns."
    )
    return Fault(None, "", "not the item format", message, remedy, file=file)


def refuse(faults: Faults, *, has_items: bool, remedy: str) -> None:
    """Raise `Refused` with the faults of a file, or because nothing is left of it."""
    if not has_items and not faults:
        message = "There are no items in the file."
        empty = Fault(None, "", "empty file", message, remedy)
        raise Refused(faults.skipped or [empty])
    if faults:
        raise Refused(faults)


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
