"""One raw row to one item: every rule of the item format, with all faults of the row."""

import json
import math
import re
import unicodedata
from typing import Any

from studies.importers.files.faults import Faults
from studies.importers.files.import_row import LIMITS, ImportRow
from studies.importers.items.personas import known_or_read
from studies.importers.items.records import ItemRecord, PersonaRecord, Warning
from studies.importers.items.unknown_columns import UnknownKeys
from studies.models import Item, Side, Task
from studies.text import UNSTORABLE, fold, normalise

KINDS = ("model", "human", "survey_option", "unknown")
SOURCES = ("self_report", "derived", "simulated", "unknown")
_ID = re.compile(r"[A-Za-z0-9._:-]{1,120}")
KEYS = {
    "id",
    "group",
    "task",
    "persona",
    "question",
    "context",
    "context_title",
    "responses",
    "first_person",
    "order",
    "split",
    "check",
    "topic",
    "language",
    "warnings",
    "metadata",
}


class Validator:
    """Turns the rows of one file into items and remembers what must be unique in it.

    `personas` are those that the bundle lists apart; `task` is for rows that name none.
    """

    def __init__(
        self,
        *,
        file: str,
        task: str,
        personas: dict[str, PersonaRecord] | None = None,
        faults: Faults | None = None,
        is_released: bool = False,
    ) -> None:
        self.file = file
        self.is_released = is_released
        self.task = task
        self.listed = personas or {}
        self.faults = Faults() if faults is None else faults
        self._unknown = UnknownKeys(file)
        self._lines: dict[str, int] = {}
        self._personas: dict[str, tuple[int, PersonaRecord]] = {}

    def item(self, line: int, raw: Any) -> ItemRecord | None:
        """The item of a row; None when the row has faults, which are then in `faults`."""
        row = ImportRow(line, self.file)
        record = self._read(row, raw)
        self.faults += row.faults
        return None if row.faults else record

    @property
    def warnings(self) -> list[Warning]:
        return self._unknown.warnings()

    def _read(self, row: ImportRow, raw: Any) -> ItemRecord | None:
        if not isinstance(raw, dict):
            row.fault(
                "", "not an object", "the line is not a JSON object.", "Write one item a line."
            )
            return None
        raw = _clean(row, raw, "")
        if row.faults:
            return None
        key = self._key(row, raw)
        persona = self._persona(row, raw.get("persona"))
        responses = self._responses(row, raw.get("responses"))
        label, tie_source, confidence, margin = _first_person(row, raw, responses)
        shuffle, fixed_first = _order(row, raw.get("order"))
        question = row.text(raw, "question", limit=LIMITS["question"])
        context = row.text(raw, "context", limit=LIMITS["context"])
        task = row.one_of(raw, "task", Task.values, default=self.task)
        split = row.one_of(raw, "split", Item.Split.values, default=Item.Split.MAIN.value)
        check_answer, check_instruction = _check(row, raw.get("check"), split, question)
        warnings = _warnings(row, raw.get("warnings"))
        if not question and not _asks_without_question(task, context, responses):
            row.fault(
                "question",
                "question is missing",
                "question is missing.",
                "Give a question, or a prompt for each response.",
            )
        if len(responses) == 2 and "identical_responses" not in warnings:
            _differ(row, responses)
        if persona is not None:
            _history_is_of_others(row, persona, question)
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
            "metadata": self._metadata(row, raw),
        }
        if row.faults or persona is None:
            return None
        return ItemRecord(row.line, self.file, persona, values, self.is_released)

    def _key(self, row: ImportRow, raw: dict[str, Any]) -> str:
        key = raw.get("id")
        if key is None or key == "":
            row.fault("id", "id is missing", "id is missing.", "Give every item an id of its own.")
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
        if key in self._lines:
            row.fault(
                "id",
                "id used twice",
                f"id “{key}” was already used on line {self._lines[key]}.",
                value=key,
            )
        self._lines.setdefault(key, row.line)
        return key

    def _persona(self, row: ImportRow, raw: Any) -> PersonaRecord | None:
        persona = known_or_read(row, raw, self.listed)
        if persona is None:
            return None
        line, known = self._personas.setdefault(persona.key, (row.line, persona))
        if known.content != persona.content:
            row.fault(
                "persona",
                "persona differs",
                f"persona “{persona.key}” is another one than on line {line}.",
                "Give the same features, text and history, or another persona id.",
                value=persona.key,
            )
        return known

    def _responses(self, row: ImportRow, raw: Any) -> list[dict[str, Any]]:
        if not isinstance(raw, list) or len(raw) != 2:
            found = len(raw) if isinstance(raw, list) else 0
            row.fault(
                "responses",
                "number of responses",
                f"an item needs exactly 2 responses, found {found}.",
            )
            return []
        if not all(isinstance(response, dict) for response in raw):
            row.fault("responses", "response is no object", "each response must be an object.")
            return []
        keys = [response.get("key") or f"r{n}" for n, response in enumerate(raw, start=1)]
        if sorted(map(str, keys)) != [Side.R1, Side.R2]:
            row.fault("responses", "response keys", "the responses must have the keys r1 and r2.")
            return []
        ordered = sorted(zip(keys, raw, strict=True), key=lambda pair: pair[0])
        return [self._response(row, key, response) for key, response in ordered]

    def _response(self, row: ImportRow, key: str, raw: dict[str, Any]) -> dict[str, Any]:
        text = row.text(raw, "text", name=f"response {key}", limit=LIMITS["response"])
        if not text and not isinstance(raw.get("text"), (int, float, list, dict)):
            row.fault("responses", "response is empty", f"response {key} is empty.")
        prompt = row.text(raw, "prompt", name=f"prompt of {key}", limit=LIMITS["question"])
        return {
            "text": text,
            "prompt": prompt or None,
            "generated_by": _generated_by(row, key, raw.get("generated_by")),
            "score": row.number(raw, "score"),
        }

    def _metadata(self, row: ImportRow, raw: dict[str, Any]) -> dict[str, Any]:
        metadata = raw.get("metadata")
        metadata = {} if metadata is None else metadata
        if not isinstance(metadata, dict):
            row.fault("metadata", "metadata is no object", "metadata must be an object.")
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
        unknown |= _unknown_of_responses(raw.get("responses"))
        for name in unknown:
            self._unknown.note(name, row.line)
        return {**metadata, "_extra": unknown} if unknown else metadata


def _unknown_of_responses(raw: Any) -> dict[str, Any]:
    known = {"key", "text", "prompt", "generated_by", "score"}
    if not isinstance(raw, list):
        return {}
    return {
        f"responses.r{n}.{name}": value
        for n, response in enumerate(raw, start=1)
        if isinstance(response, dict)
        for name, value in response.items()
        if name not in known
    }


def _clean(row: ImportRow, value: Any, path: str) -> Any:
    """`value` with every text normalised; a text that cannot be stored is a fault."""
    if isinstance(value, dict):
        return {
            _clean(row, name, path): _clean(row, part, f"{path}.{name}" if path else name)
            for name, part in value.items()
        }
    if isinstance(value, list):
        return [_clean(row, part, path) for part in value]
    if isinstance(value, float) and not math.isfinite(value):
        row.fault(
            path, "number is too large", f"{path} is too large a number.", "Write it as text."
        )
    if not isinstance(value, str):
        return value
    text = normalise(value)
    if bad := UNSTORABLE.search(text):
        row.fault(
            path,
            "control character",
            f"{path} has the control character U+{ord(bad[0]):04X} at position {bad.start() + 1}.",
            "Remove it.",
        )
    return text


def _asks_without_question(task: str, context: str, responses: list[dict[str, Any]]) -> bool:
    """Each response answers a prompt of its own, or both were written about the context."""
    return all(response["prompt"] for response in responses) or (
        task == Task.AUTHORSHIP and bool(context)
    )


def _differ(row: ImportRow, responses: list[dict[str, Any]]) -> None:
    first, second = responses
    if first["text"] and fold(first["text"]) == fold(second["text"]):
        row.fault(
            "responses",
            "identical responses",
            "both responses have the same text.",
            "Drop the item; nobody can choose between equal texts.",
        )


def _history_is_of_others(row: ImportRow, persona: PersonaRecord, question: str) -> None:
    for number, entry in enumerate(persona.history, start=1):
        if question and fold(entry["prompt"]) == fold(question):
            row.fault(
                "persona.history",
                "history repeats the item",
                f"history entry {number} repeats this item's question.",
                "Remove the entry.",
            )


def _generated_by(row: ImportRow, key: str, raw: Any) -> dict[str, Any] | None:
    if raw is None:
        return None
    if not isinstance(raw, dict):
        row.fault("generated_by", "generated_by is no object", "generated_by must be an object.")
        return None
    kind = raw.get("kind") or "unknown"
    if kind not in KINDS:
        row.fault(
            "generated_by.kind",
            "unknown generator",
            f"generated_by.kind “{kind}” is not known.",
            f"Use one of: {', '.join(KINDS)}.",
            value=kind,
        )
    words = {
        name: row.text(raw, name, name=f"generated_by.{name}", limit=200) or None
        for name in ("name", "provider", "family")
    }
    if kind == "model" and not words["name"]:
        row.fault(
            "generated_by.name",
            "model without a name",
            f"{key} was generated by a model but has no model name.",
        )
    return {"kind": kind, **words}


def _first_person(
    row: ImportRow, raw: dict[str, Any], responses: list[dict[str, Any]]
) -> tuple[str, str, float | None, float | None]:
    """The person's own answer, where it comes from, its confidence, and its margin."""
    first = raw.get("first_person")
    if first is None:
        first = {}
    if not isinstance(first, dict):
        row.fault("first_person", "first_person is no object", "first_person must be an object.")
        first = {}
    label = first.get("label") or ""
    if label not in Item.FirstPerson.values:
        row.fault(
            "first_person.label",
            "label is not allowed",
            f"label “{label}” is not allowed; use r1, r2, tie or leave empty.",
            "Sides A and B are decided when the item is shown.",
            value=label,
        )
    elif (tie := first.get("tie")) is not None and tie is not (label == "tie"):
        said = str(tie).lower()
        row.fault(
            "first_person.tie",
            "tie and label disagree",
            f"tie is {said} but label is {label or 'empty'}.",
        )
    source = row.one_of(first, "source", SOURCES, default="unknown", name="first_person.source")
    confidence = row.number(first, "label_confidence")
    margin = row.number(first, "margin")
    if margin is not None and margin < 0:
        row.fault("first_person.margin", "margin is negative", "margin must not be negative.")
    scores = [response["score"] for response in responses if response["score"] is not None]
    if margin is not None and len(scores) == 2 and margin >= 0:
        difference = abs(scores[0] - scores[1])
        if abs(difference - margin) > 1e-6:
            row.fault(
                "first_person.margin",
                "margin and scores disagree",
                f"margin {margin:g} does not match the scores ({difference:g}).",
            )
    return (
        str(label),
        source,
        None if confidence is None else float(confidence),
        None if margin is None else float(margin),
    )


def _order(row: ImportRow, raw: Any) -> tuple[bool, str]:
    """Whether the sides are shuffled, and which response stands first where they are not."""
    raw = {} if raw is None else raw
    if not isinstance(raw, dict):
        row.fault("order", "order is no object", "order must be an object.")
        return True, ""
    shuffle = raw.get("shuffle")
    shuffle = True if shuffle is None else shuffle
    if not isinstance(shuffle, bool):
        row.fault("order.shuffle", "shuffle is no truth value", "shuffle must be true or false.")
        return True, ""
    fixed_first = raw.get("fixed_first") or ""
    if fixed_first not in ("", *Side.values):
        row.fault(
            "order.fixed_first",
            "fixed_first is not allowed",
            f"fixed_first “{fixed_first}” is not allowed.",
            "Use r1 or r2.",
            value=fixed_first,
        )
    elif fixed_first and shuffle:
        row.fault(
            "order.fixed_first",
            "fixed_first with shuffle",
            "fixed_first needs shuffle to be false.",
        )
    return shuffle, "" if shuffle else str(fixed_first or Side.R1.value)


def _check(row: ImportRow, raw: Any, split: str, question: str) -> tuple[str, str]:
    """The correct answer of an attention check, and the instruction that gives it away."""
    if split != Item.Split.ATTENTION_CHECK:
        return "", ""
    raw = raw if isinstance(raw, dict) else {}
    correct = raw.get("correct")
    if correct not in Side.values:
        row.fault(
            "check.correct",
            "check without answer",
            "an attention check needs the correct answer.",
            'Give check: {"correct": "r1" or "r2", "instruction": …}.',
        )
        correct = ""
    instruction = row.text(raw, "instruction", name="check.instruction", limit=LIMITS["question"])
    if not instruction or instruction not in question:
        row.fault(
            "check.instruction",
            "check without instruction",
            "the instruction of an attention check must be inside the question.",
            "Write it there word for word; an attention check needs no guessing.",
        )
    return str(correct), instruction


def _warnings(row: ImportRow, raw: Any) -> list[str]:
    raw = [] if raw is None else raw
    if not isinstance(raw, list) or not all(isinstance(flag, str) for flag in raw):
        row.fault("warnings", "warnings are no list", "warnings must be a list of texts.")
        return []
    return [unicodedata.normalize("NFC", flag).strip() for flag in raw if flag.strip()]
