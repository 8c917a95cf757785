"""Checks one raw row by every rule of the item format and collects all its faults."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from studies.extra import Kind
from studies.importers.files.faults import LIMITS, Faults, ImportRow, same_id
from studies.importers.items.item_fields import (
    asks_without_question,
    check_history,
    check_responses_differ,
    normalised,
    read_advice,
    read_attention_check,
    read_first_person,
    read_media,
    read_option_set,
    read_order,
    read_response,
    read_warnings,
)
from studies.importers.items.records import (
    ItemRecord,
    PersonaRecord,
    UnknownKeys,
    Warning,
    known_or_read,
)
from studies.media import Media, NoMedia
from studies.models import Item, Side, Task
from studies.texts.cells import WRITTEN_BY_PROGRAMS
from studies.texts.normalisation import canonical
from studies.texts.texts_to_judges import TextsToJudges

if TYPE_CHECKING:
    from django.forms import Field

_ID = re.compile(r"[A-Za-z0-9._:-]{1,120}")
_RECENT = 500  # personas
_MOST_NAMED = 3  # differences of two personas
_TASKS, _SPLITS = tuple(Task.values), tuple(Item.Split.values)
KEYS = set(
    "id group task persona question context context_title responses first_person order split check "
    "topic language warnings metadata advice option_set media replaces reference".split()
)
_OF_RESPONSE = {"key", "text", "prompt", "generated_by", "score", "media"}
_OF_OWN_ANSWER = {"label", "tie", "margin", "source", "label_confidence", "ranking"}


class RowRule(Protocol):
    """How an import makes several items of a row."""

    @property
    def note(self) -> str:
        """What the report on the import calls such rows."""

    @property
    def record(self) -> Mapping[str, Any]:
        """What the description of the data set stores of the rule."""

    def items_of(self, row: ImportRow, raw: Any, media: Media) -> Iterator[dict[str, Any]] | None:
        """The raw items; None for a row that is one item. Faults go to `row`."""


@dataclass(frozen=True)
class RowOption:
    """An option of imports for a `RowRule`, made of the option's value and the seed.

    `help` is its part of the command's help, `field` that of the page, and `remedy` says how to
    import such rows if columns were mapped.
    """

    name: str
    help: str
    field: Callable[[], Field]
    remedy: str
    rule: Callable[[str, int | None], RowRule]


ROW_OPTIONS: Kind[RowOption] = Kind("importers", "rows")


class Validator:
    """Turns the rows of one file into items, and checks what must be unique in it.

    `personas` are those that the bundle lists separately; `task` is for rows without one. `rule`
    makes items of rows with more than two responses; without it they are refused. `media` has the
    pictures and sounds that rows name.
    """

    def __init__(
        self,
        *,
        file: str,
        task: str,
        personas: dict[str, PersonaRecord] | None = None,
        faults: Faults | None = None,
        is_released: bool = False,
        rule: RowRule | None = None,
        media: Media | None = None,
    ) -> None:
        self.file = file
        self._media = NoMedia() if media is None else media
        self._rule = rule
        self.larger_rows = 0
        self.is_released = is_released
        self.task = task
        self.listed = personas or {}
        self.faults = Faults() if faults is None else faults
        self._unknown = UnknownKeys(file)
        self._to_judges = TextsToJudges()
        self._unlisted: dict[int, str] = {}
        self._without_captions: dict[str, int] = {}  # films, and where each is first
        self._lines: dict[str, int] = {}
        self._personas: dict[str, tuple[int, str]] = {}
        self._recent: dict[str, PersonaRecord] = {}

    def items(self, line: int, raw: Any) -> list[ItemRecord]:
        """The items of a row: one, or those that the rule makes; none if the row has faults."""
        row = ImportRow(line, self.file)
        raw_items = None if self._rule is None else self._rule.items_of(row, raw, self._media)
        if raw_items is None:
            item = self.item(line, raw)
            return [] if item is None else [item]
        self.larger_rows += 1
        items = []
        for raw_item in raw_items:
            if (item := self.item(line, raw_item)) is None:
                return []  # the others have the same faults
            items.append(item)
        self.faults += row.faults
        return items

    def item(self, line: int, raw: Any) -> ItemRecord | None:
        """The item of a row; None when the row has faults, which are then in `faults`."""
        row = ImportRow(line, self.file)
        record = self._read(row, raw)
        if row.unlisted:
            self._unlisted.setdefault(line, row.unlisted[0])
        for film in row.without_captions:
            self._without_captions.setdefault(film, line)
        self.faults += row.faults
        return None if row.faults else record

    @property
    def warnings(self) -> list[Warning]:
        warnings = self._unknown.warnings()
        if message := self._to_judges.message:
            warnings.append(Warning(self._to_judges.lines[0], message, self.file))
        if self._unlisted:
            line, name = next(iter(self._unlisted.items()))
            count = f"{len(self._unlisted):,} row{'s' if len(self._unlisted) > 1 else ''}"
            message = f"{name} was a list of one text, of which the text was taken ({count})."
            warnings.append(Warning(line, message, self.file))
        if films := self._without_captions:
            name, line = next(iter(films.items()))
            more = f" and {len(films) - 1:,} more films have" if len(films) > 1 else " has"
            message = (
                f"{name}{more} sound and no captions, so people who cannot hear miss what is "
                "said. Add a WebVTT file (.vtt), and name it as captions."
            )
            warnings.append(Warning(line, message, self.file))
        return warnings

    def _read(self, row: ImportRow, raw: Any) -> ItemRecord | None:
        if not isinstance(raw, dict):
            row.fault(
                "", "not an object", "the line is not a JSON object.", "Write one item a line."
            )
            return None
        row.item_id = str(raw.get("id", ""))[:120]
        raw = normalised(row, raw)
        if row.faults:
            return None
        key = self._key(row, raw)
        row.item_id = key or row.item_id
        persona = self._persona(row, raw.get("persona"))
        responses = self._responses(row, raw.get("responses"))
        label, tie_source, confidence, margin = read_first_person(row, raw, responses)
        shuffle, fixed_first = read_order(row, raw.get("order"))
        question = row.text(raw, "question", limit=LIMITS["question"])
        context = row.text(raw, "context", limit=LIMITS["context"])
        task = row.one_of(raw, "task", _TASKS, default=self.task)
        split = row.one_of(raw, "split", _SPLITS, default=Item.Split.MAIN.value)
        option_set = read_option_set(row, raw.get("option_set"), self._media)
        check_answer, check_instruction = read_attention_check(
            row, raw.get("check"), split, question
        )
        warnings = read_warnings(row, raw.get("warnings"))
        if not question and not asks_without_question(task, context, responses):
            row.fault(
                "question",
                "question is missing",
                "question is missing.",
                "Give a question, or a prompt for each response.",
            )
        if len(responses) == 2 and "identical_responses" not in warnings:
            check_responses_differ(row, responses)
        if persona is not None:
            check_history(row, persona, question, metadata=raw.get("metadata"))
        # Checks and practice items tell what to answer on purpose.
        if split == Item.Split.MAIN:
            texts = [response["text"] for response in (*responses, *option_set.get("others", ()))]
            self._to_judges.look(row.line, [question, context, *texts])
        values = {
            "key": key,
            "split": split,
            "task": task,
            "group": row.text(raw, "group", limit=120),
            "topic": row.text(raw, "topic", limit=120),
            "language": row.text(raw, "language", limit=35),
            "question": question,
            "context": context,
            "context_title": row.text(raw, "context_title", limit=300),
            "r1": responses[0] if responses else {},
            "r2": responses[1] if len(responses) > 1 else {},
            "first_person": label,
            "first_person_source": tie_source,
            "label_confidence": confidence,
            "margin": margin,
            "fixed_first": fixed_first,
            "shuffle_sides": shuffle,
            "check_answer": check_answer,
            "check_instruction": check_instruction,
            "warnings": warnings,
            "metadata": self._metadata(row, raw) | _replaced(row, raw, key),
            "advice": read_advice(row, raw.get("advice"), split),
            "option_set": option_set,
            "media": read_media(row, raw.get("media"), "media", self._media),
            "reference": row.text(raw, "reference", limit=LIMITS["reference"]),
        }
        if row.faults or persona is None:
            return None
        return ItemRecord(row.line, self.file, persona, values, self.is_released)

    def _key(self, row: ImportRow, raw: dict[str, Any]) -> str:
        key = raw.get("id")
        if isinstance(key, int | float) and not isinstance(key, bool):
            key = str(key)
        if isinstance(key, str):
            key = same_id(key)
        if key is None or (isinstance(key, str) and key.casefold() in WRITTEN_BY_PROGRAMS):
            message = f"id is “{key}”." if key else "id is missing."
            row.fault("id", "id is missing", message, "Give every item its own id.")
            return ""
        if not isinstance(key, str) or not _ID.fullmatch(key):
            if isinstance(key, str) and len(key) > 120:
                row.fault(
                    "id", "id is too long", f"id has {len(key)} characters; the limit is 120."
                )
            else:
                row.fault(
                    "id",
                    "id has other characters",
                    f"id “{key}” may use only letters, digits and . _ : -",
                    value=key,
                )
            return ""
        if key in self._lines and not self.is_released:
            row.fault(
                "id",
                "id used twice",
                f"id “{key}” was already used {row.on(self._lines[key])}.",
                "Give every item its own id.",
                value=key,
            )
        self._lines.setdefault(key, row.line)
        return key

    def _persona(self, row: ImportRow, raw: Any) -> PersonaRecord | None:
        """The persona of an item. The most recent ones are not read again."""
        text = canonical(raw)
        if (recent := self._recent.get(text)) is not None:
            return recent
        faults = len(row.faults)
        persona = known_or_read(row, raw, self.listed)
        if persona is None:
            return None
        line, fingerprint = self._personas.setdefault(persona.key, (row.line, persona.fingerprint))
        if fingerprint != persona.fingerprint:
            row.fault(
                "persona",
                "persona differs",
                f"persona “{persona.key}” differs from the one {row.on(line)}"
                f"{self._difference(persona)}.",
                "Give the same features, text and history, or another persona id.",
                value=persona.key,
            )
        if len(row.faults) == faults:
            if len(self._recent) == _RECENT:
                self._recent.clear()
            self._recent[text] = persona
        return persona

    def _difference(self, persona: PersonaRecord) -> str:
        """In what a persona differs from a recent one with its key: “ in “Age”, text”."""
        recent = [one for one in self._recent.values() if one.key == persona.key]
        if not recent:
            return ""
        first, second = (
            {one["key"]: one for one in record.features} for record in (recent[0], persona)
        )
        names = [
            f"“{one['label']}”"
            for key, one in {**first, **second}.items()
            if first.get(key) != second.get(key)
        ]
        names += [
            part
            for part in ("text", "history")
            if getattr(recent[0], part) != getattr(persona, part)
        ]
        return f" in {', '.join(names[:_MOST_NAMED])}" if names else " in the order of its features"

    def _responses(self, row: ImportRow, raw: Any) -> list[dict[str, Any]]:
        if not isinstance(raw, list) or len(raw) != 2:
            number = len(raw) if isinstance(raw, list) else 0
            row.fault(
                "responses",
                "number of responses",
                f"an item needs exactly 2 responses, found {number}.",
                self._remedy_of_rows() if number > 2 else "",
            )
            return []
        if not all(isinstance(response, dict) for response in raw):
            row.fault("responses", "response is not an object", "each response must be an object.")
            return []
        keys = [response.get("key") or f"r{n}" for n, response in enumerate(raw, start=1)]
        if sorted(map(str, keys)) != [Side.R1, Side.R2]:
            row.fault("responses", "response keys", "the responses must have the keys r1 and r2.")
            return []
        ordered = sorted(zip(keys, raw, strict=True), key=lambda pair: pair[0])
        return [read_response(row, key, response, self._media) for key, response in ordered]

    def _remedy_of_rows(self) -> str:
        """Which options could have made items of a row with more responses."""
        labels = [] if self._rule else [f"“{option.field().label}”" for option in ROW_OPTIONS]
        return f"To make pairs of more, set the option {' or '.join(labels)}." if labels else ""

    def _metadata(self, row: ImportRow, raw: dict[str, Any]) -> dict[str, Any]:
        metadata = raw.get("metadata")
        metadata = {} if metadata is None else metadata
        if not isinstance(metadata, dict):
            row.fault("metadata", "metadata is not an object", "metadata must be an object.")
            return {}
        for name in metadata:
            if name.startswith("_"):
                row.fault(
                    "metadata",
                    "reserved key",
                    f"metadata key “{name}” starts with _, which is reserved.",
                    "Rename it.",
                )
        size = len(json.dumps(metadata, ensure_ascii=False).encode())
        if size > LIMITS["metadata"]:
            kilobytes = math.ceil(size / 1024)
            row.fault(
                "metadata",
                "metadata is too long",
                f"metadata has {kilobytes} KB; the limit is 16 KB.",
            )
        unknown = {name: raw[name] for name in raw if name not in KEYS}
        unknown |= _unknown_inside(raw)
        for name in unknown:
            self._unknown.note(name, row.line)
        return {**metadata, "_extra": unknown} if unknown else metadata


def _replaced(row: ImportRow, raw: dict[str, Any], key: str) -> dict[str, str]:
    """The faulty item that this one follows, as the study keeps it; {} for most items."""
    replaced = row.text(raw, "replaces", limit=120)
    if replaced and replaced == key:
        row.fault(
            "replaces",
            "replaces itself",
            f"item “{key}” names itself in replaces.",
            "Give the corrected item its own id.",
        )
    return {Item.REPLACES: replaced} if replaced else {}


def _unknown_inside(raw: dict[str, Any]) -> dict[str, Any]:
    """The unknown keys of the responses and of the person's own answer."""
    responses = raw.get("responses")
    listed = responses if isinstance(responses, list) else []
    parts = [
        (f"responses.r{n}", response, _OF_RESPONSE) for n, response in enumerate(listed, start=1)
    ]
    parts.append(("first_person", raw.get("first_person"), _OF_OWN_ANSWER))
    return {
        f"{name}.{key}": value
        for name, part, known in parts
        if isinstance(part, dict)
        for key, value in part.items()
        if key not in known
    }
