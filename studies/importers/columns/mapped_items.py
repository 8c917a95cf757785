"""Items from a file with columns of any names, by a mapping."""

import hashlib
import re
import unicodedata
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from studies.importers.columns.mapping import (
    EXTRA,
    FEATURE,
    HISTORY,
    NOT_IMPORTED,
    ColumnMapping,
    label_of,
    read_answer,
)
from studies.importers.columns.table_file import table_of
from studies.importers.files.bundle import File
from studies.importers.files.faults import MAX_NOTED_KEYS, Faults
from studies.importers.files.lines import BadLine
from studies.importers.items.item_bundle import ImportOptions, ReadItems, refuse
from studies.importers.items.records import KeptItems, feature
from studies.importers.items.validation import Validator
from studies.importers.sets.data_set import Watch
from studies.texts.normalisation import canonical, storable

_NOT_IN_AN_ID = re.compile(r"[^A-Za-z0-9._:-]+")
_LONGEST_ID = 120
_RECENT = 500  # personas
_VALUES_SHOWN = 5
_PLAIN = ("question", "context", "context_title", "topic", "group", "language", "reference")


@dataclass
class MappedRows:
    """Turns rows into raw items by a mapping, and counts values that could not be read."""

    mapping: ColumnMapping
    repeated: int = 0
    changed_ids: int = 0
    unread: Counter[str] = field(default_factory=Counter)
    not_imported: dict[str, None] = field(default_factory=dict)
    more_not_imported: int = 0
    _personas: dict[tuple[str, ...], dict[str, Any]] = field(default_factory=dict)
    _seen: dict[str, str] = field(default_factory=dict)
    _features: dict[str, tuple[str, str]] = field(default_factory=dict)
    _columns: dict[str, str | None] = field(default_factory=dict)
    _extra: list[str] = field(default_factory=list)
    _history: list[tuple[str, str, str]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._features = feature_names(self.mapping)
        names = {*self.mapping.fields.values()} - {NOT_IMPORTED, FEATURE, EXTRA, *HISTORY}
        self._columns = {name: self.mapping.column_of(name) for name in names}
        self._extra = self.mapping.columns_of(EXTRA)
        asked, chosen, rejected = (self.mapping.columns_of(name) for name in HISTORY)
        self._history = list(zip(asked, chosen, rejected or [""] * len(asked), strict=False))

    def item(self, cells: Mapping[str, str]) -> dict[str, Any] | None:
        """The raw item of a row, in the shape of the item format; None for a repeated row."""
        self._note_columns(cells)
        get = {name: cells.get(column or "", "") for name, column in self._columns.items()}
        persona = self._persona(cells, get)
        chosen_first = _is_chosen_first(get)
        item: dict[str, Any] = {
            "persona": persona,
            "responses": [self._response(get, n, chosen_first=chosen_first) for n in (1, 2)],
            "first_person": {"label": self._label(get, chosen_first=chosen_first)},
        }
        item |= {name: get[name] for name in _PLAIN if get.get(name)}
        if get.get("advice"):
            favors = self.answer_of(get.get("advice_favors", ""), get)
            item["advice"] = {"text": get["advice"], "favors": favors or None}
        if self.mapping.question and "question" not in item:
            item["question"] = self.mapping.question
        if extra := {column: cells[column] for column in self._extra if column in cells}:
            item["metadata"] = {"columns": extra}
        key = self._key(get, item)
        return None if key is None else {"id": key, **item}

    def _persona(self, cells: Mapping[str, str], get: Mapping[str, str]) -> dict[str, Any]:
        own_id, text = get.get("persona_id", ""), get.get("persona_text", "")
        told = [column for entry in self._history for column in entry]
        same = (own_id, text, *(cells.get(column, "") for column in (*self._features, *told)))
        if (known := self._personas.get(same)) is not None:
            return known
        features = [
            feature(key, label, cells[column], "")
            for column, (key, label) in self._features.items()
            if cells.get(column)
        ]
        text = text or self.mapping.persona_text
        history = [
            dict(zip(("prompt", "chosen", "rejected"), texts, strict=True))
            for entry in self._history
            if any(texts := [cells.get(column, "") for column in entry])
        ]
        # Without an id, equal profiles are one persona.
        key = own_id or f"p-{_hash([features, text, *([history] if history else [])])}"
        if len(self._personas) == _RECENT:
            self._personas.clear()
        persona = {"id": key, "features": features, "text": text or None}
        self._personas[same] = persona | ({"history": history} if history else {})
        return self._personas[same]

    def _response(self, get: Mapping[str, str], n: int, *, chosen_first: bool) -> dict[str, Any]:
        name, model = f"response_{n}", get.get(f"generated_by_{n}")
        if self.mapping.is_pair:
            name = "chosen" if (n == 1) is chosen_first else "rejected"
            model = get.get(f"generated_by_{name}")
        return {
            "key": f"r{n}",
            "text": get.get(name, ""),
            "prompt": get.get(f"prompt_{n}") or None,
            "generated_by": {"kind": "model", "name": model} if model else None,
            "score": _number(get.get(f"score_{n}", "")),
        }

    def _label(self, get: Mapping[str, str], *, chosen_first: bool) -> str | None:
        if self.mapping.is_pair:
            return "r1" if chosen_first else "r2"
        value = get.get("own_answer", "")
        answer = self.answer_of(value, get)
        if answer is None:
            self.unread[value] += 1
        return answer or None

    def answer_of(self, value: str, get: Mapping[str, str]) -> str | None:
        """What a value of the own answer means in a row; None if it cannot be read."""
        texts = get.get("response_1", ""), get.get("response_2", "")
        names = get.get("generated_by_1", ""), get.get("generated_by_2", "")
        return read_answer(value, texts, names, self.mapping.answers)

    def answers(self, cells: Mapping[str, str]) -> tuple[str, str | None]:
        """The value of the own answer in a row, and what it means."""
        get = {name: cells.get(column or "", "") for name, column in self._columns.items()}
        value = get.get("own_answer", "")
        return value, self.answer_of(value, get)

    def _key(self, get: Mapping[str, str], item: Mapping[str, Any]) -> str | None:
        """The id of the item; without one in the file, a hash of what is shown.

        None if the file has the same row already and no ids.
        """
        written = get.get("id", "")
        if "id" in self._columns:
            key = _NOT_IN_AN_ID.sub("-", written).strip("-")
            if key == written and len(key) <= _LONGEST_ID:
                return key
            self.changed_ids += 1
            return f"{key[:100]}-{_hash(written)}".strip("-") if written else ""
        key = _hash({name: part for name, part in item.items() if name != "first_person"})
        label = item["first_person"]["label"] or ""
        if self._seen.get(key) == label:
            self.repeated += 1
            return None
        self._seen.setdefault(key, label)
        return f"item-{key}"

    def _note_columns(self, cells: Mapping[str, str]) -> None:
        for column in cells:
            if self.mapping.fields.get(column, NOT_IMPORTED) != NOT_IMPORTED:
                continue
            if column in self.not_imported or len(self.not_imported) < MAX_NOTED_KEYS:
                self.not_imported[column] = None
            else:
                self.more_not_imported += 1

    @property
    def notes(self) -> dict[str, int]:
        """What was changed or could not be read, and how often."""
        notes = {}
        if unread := self.unread.total():
            common = self.unread.most_common(_VALUES_SHOWN)
            values = ", ".join(f"“{value[:40]}” {count:,}" for value, count in common)
            more = ", and others" if len(self.unread) > _VALUES_SHOWN else ""
            notes[f"own answers that could not be read ({values}{more})"] = unread
        if self.changed_ids:
            notes["ids with characters that are not allowed, which were replaced"] = (
                self.changed_ids
            )
        return notes


def read_mapped(
    file: File, mapping: ColumnMapping, how: ImportOptions, *, watch: Watch | None = None
) -> ReadItems:
    """Read and check the items of a file by a mapping. Raises `Refused` with every fault."""
    file = replace(file, encoding=mapping.encoding or how.encoding)
    if watch is not None:
        watch.total += file.count_lines() + 1
    rows, mapped, items = 0, MappedRows(mapping), KeptItems()
    faults, limit = Faults(skip=how.skip_faulty), how.limit
    validator = Validator(file=file.name, task=how.task, faults=faults)
    for entry in table_of(file):
        if limit is not None and len(items) + len(faults) >= limit:
            break
        rows += 1
        if watch is not None:
            watch.update()
        if isinstance(entry, BadLine):
            faults.append(entry.fault)
            continue
        line, cells = entry
        if (raw := mapped.item(cells)) and (item := validator.item(line, raw)):
            items.append(item)
    refuse(faults, has_items=bool(items), remedy="Add one item a row.")
    return ReadItems(
        names=(file.name,),
        dataset={},
        format="mapped",
        task=how.task,
        items=items,
        warnings=validator.warnings,
        rows={file.name: rows},
        limit=limit,
        dropped={"rows equal to an earlier row": mapped.repeated} if mapped.repeated else {},
        notes=mapped.notes | file.changes,
        mapping=mapping.as_json(),
        columns_left_out=_left_out(mapped),
        skipped=faults.skipped,
    )


def feature_names(mapping: ColumnMapping) -> dict[str, tuple[str, str]]:
    """Key and label of each persona feature, by column; keys are unique."""
    names: dict[str, tuple[str, str]] = {}
    keys: set[str] = set()
    for number, column in enumerate(mapping.columns_of(FEATURE), start=1):
        label = (
            storable(mapping.labels.get(column) or label_of(column))[:120] or f"Feature {number}"
        )
        ascii_only = unicodedata.normalize("NFKD", label).encode("ascii", "ignore").decode()
        key = re.sub(r"[^a-z0-9]+", "_", ascii_only.lower()).strip("_").lstrip("0123456789_")
        key = key or f"feature_{number}"
        if key in keys:
            key = f"{key}_{number}"
        keys.add(key)
        names[column] = key, label
    return names


def _left_out(mapped: MappedRows) -> tuple[str, ...]:
    more = ("and more",) if mapped.more_not_imported else ()
    return (*mapped.not_imported, *more)


def _is_chosen_first(get: Mapping[str, str]) -> bool:
    """The side of the chosen response: drawn from the texts, so that the side reveals nothing."""
    return (
        int(_hash([get.get(name, "") for name in ("question", "chosen", "rejected")]), 16) % 2 == 0
    )


def _number(cell: str) -> float | int | str | None:
    """A score as a number; any other cell stays as it is, and is reported later."""
    if not cell:
        return None
    try:
        return int(cell)
    except ValueError:
        pass
    try:
        return float(cell)
    except ValueError:
        return cell


def _hash(value: Any) -> str:
    text = value if isinstance(value, str) else canonical(value)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:12]
