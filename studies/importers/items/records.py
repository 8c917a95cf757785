"""The checked items and personas of a file, and counts of them, until they are stored."""

import hashlib
import pickle
import re
import shutil
import tempfile
import weakref
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import IO, Any

from studies.importers.files.faults import MAX_NOTED_KEYS, ImportRow
from studies.texts.normalisation import Effort, canonical

# The fields that define an item: the columns that an import fills and a freeze fixes.
CONTENT = (
    "key",
    "split",
    "task",
    "group",
    "topic",
    "language",
    "question",
    "context",
    "context_title",
    "r1",
    "r2",
    "first_person",
    "first_person_source",
    "label_confidence",
    "margin",
    "fixed_first",
    "shuffle_sides",
    "check_answer",
    "check_instruction",
    "warnings",
    "metadata",
    "advice",
    "option_set",
    "media",
    "reference",
)
LEFT_OUT = "left_out"
PARTIAL = "partial_profile"  # in the metadata
# Fields that are part of an item's hash only if they are filled.
_LATER = ("advice", "option_set", "media", "reference")


@dataclass(frozen=True)
class PersonaRecord:
    key: str
    features: list[dict[str, str]]
    text: str = ""
    history: list[dict[str, str]] = field(default_factory=list)

    @property
    def content(self) -> dict[str, Any]:
        return {"features": self.features, "text": self.text, "history": self.history}

    @cached_property
    def canonical(self) -> str:
        """The content as text, written once for all items of the persona."""
        return canonical(self.content)

    @cached_property
    def fingerprint(self) -> str:
        """A value that is equal for personas with equal content."""
        return hashlib.sha256(self.canonical.encode()).hexdigest()


@dataclass(frozen=True)
class ItemRecord:
    """An item as it will be stored: `values` has a value for every name in `CONTENT`.

    `is_released` marks a row of a released result file, whose sides and persona text may vary.
    """

    line: int
    file: str
    persona: PersonaRecord
    values: Mapping[str, Any]
    is_released: bool = False

    @property
    def key(self) -> str:
        return str(self.values["key"])

    @property
    def is_partial(self) -> bool:
        """Whether only a part of the person's profile is known."""
        return self.values["metadata"].get(PARTIAL) is True

    @cached_property
    def content_hash(self) -> str:
        """SHA-256 of everything that an annotator or a model can see, and of the truth."""
        names = [name for name in CONTENT if name not in _LATER or self.values[name]]
        content = {name: self.values[name] for name in names}
        if content["split"] == LEFT_OUT:
            # Taking an item out does not change it.
            content["split"] = "main"
        values = canonical(content)
        text = f"[{values},{canonical(self.persona.key)},{self.persona.canonical}]"
        return hashlib.sha256(text.encode()).hexdigest()


@dataclass(frozen=True)
class Warning:
    """A remark about an item that does not prevent the import."""

    line: int
    message: str
    file: str = ""


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
        row.fault(
            "persona",
            "persona is empty",
            "the persona needs features or text.",
            "In a table, columns such as feature:age and persona_text hold them.",
        )
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
    features: dict[str, dict[str, str]] = {}
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
        elif key in features:
            row.fault(
                "persona.features",
                "feature appears twice",
                f"persona feature “{key}” appears twice.",
                value=key,
            )
        else:
            features[key] = _feature(row, key, entry)
    return list(features.values())


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
            "Leave out features that are unknown.",
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


# Other names of the persona's own answer, which the format calls first_person.
OWN_ANSWER_NAMES = {
    "label",
    "own_answer",
    "own_choice",
    "truth",
    "ground_truth",
    "gold",
    "gold_label",
    "first_person_label",
    "first_person.label",
}
# Names that could mean it, but could also mean another person's answer.
_MAYBE = OWN_ANSWER_NAMES | {"answer", "choice", "chosen", "winner", "preference", "preferred"}
_FURTHER = re.compile(
    r"(?:response|answer|option|output|completion|reply|candidate|text)s?[\s_.-]?(?:[3-5c-e])",
    re.IGNORECASE,
)
_SHOWN = 80


@dataclass
class UnknownKeys:
    """The unknown keys of one file: the first line of each, and its number of rows."""

    file: str
    first: dict[str, int] = field(default_factory=dict)
    rows: dict[str, int] = field(default_factory=dict)
    left_out: int = 0

    def note(self, name: str, line: int) -> None:
        if name not in self.first and len(self.first) >= MAX_NOTED_KEYS:
            self.left_out += 1
            return
        self.first.setdefault(name, line)
        self.rows[name] = self.rows.get(name, 0) + 1

    def warnings(self) -> list[Warning]:
        """One warning for each key, in the order of the file."""
        warnings = [
            Warning(line, self._message(name), self.file) for name, line in self.first.items()
        ]
        if self.left_out:
            message = f"Further unknown keys occur {self.left_out:,} times; they are kept too."
            warnings.append(Warning(1, message, self.file))
        return warnings

    def _message(self, name: str) -> str:
        rows = self.rows[name]
        kept = "the item's metadata" if rows == 1 else f"the metadata of {rows:,} items"
        message = f"“{name[:_SHOWN]}” is not part of the format; it is kept in {kept}."
        if name.startswith("first_person."):
            message += " The person's own answer is first_person.label: r1, r2 or tie."
        elif name.strip().lower().replace(" ", "_") in _MAYBE:
            message += (
                " It was not read as the person's own answer: write that as first_person (1, 2 or "
                "tie in CSV; an object with label r1, r2 or tie in JSON)."
            )
        return message


def further_responses(columns: Iterable[str]) -> list[str]:
    """The columns that look like a third, fourth or fifth response."""
    return [column for column in columns if _FURTHER.fullmatch(column.strip())]


PREVIEWED = 5


class ItemFacts:
    """Counts of items by label, language, task and length; and the first items."""

    def __init__(self) -> None:
        self.labels = Counter[str]()
        self.languages = Counter[str]()
        self.tasks = Counter[str]()
        # How often each length in characters occurs, by the name of the text.
        self.lengths = {name: Counter[int]() for name in ("question", "context", "prompt")}
        self.lengths["response"] = Counter[int]()
        # How many items need the same effort of annotators, who see all texts of the persona.
        self.efforts = Counter[Effort]()
        self.personas: dict[str, int] = {}
        # Items with only a part of a profile, by that part.
        self.partial = Counter[str]()
        self.first: list[ItemRecord] = []

    def note(self, item: ItemRecord) -> None:
        values = item.values
        self.labels[values["first_person"]] += 1
        self.languages[values["language"] or "not stated"] += 1
        self.tasks[values["task"]] += 1
        self.lengths["question"][len(values["question"])] += 1
        self.lengths["context"][len(values["context"])] += 1
        for side in ("r1", "r2"):
            self.lengths["prompt"][len(values[side].get("prompt") or "")] += 1
            self.lengths["response"][len(values[side]["text"])] += 1
        if item.persona.key not in self.personas:
            self.personas[item.persona.key] = _length(item.persona)
        self.efforts[_effort(item, self.personas[item.persona.key])] += 1
        if item.is_partial:
            self.partial[item.persona.key] += 1
        if len(self.first) < PREVIEWED:
            self.first.append(item)

    def __add__(self, other: "ItemFacts") -> "ItemFacts":
        both = ItemFacts()
        both.labels = self.labels + other.labels
        both.languages = self.languages + other.languages
        both.tasks = self.tasks + other.tasks
        both.lengths = {name: self.lengths[name] + other.lengths[name] for name in self.lengths}
        both.efforts = self.efforts + other.efforts
        both.personas = self.personas | other.personas
        both.partial = self.partial + other.partial
        both.first = [*self.first, *other.first][:PREVIEWED]
        return both

    def texts(self) -> Iterator[tuple[str, Counter[int]]]:
        """The lengths of each kind of text, in the order of the report."""
        yield from self.lengths.items()
        yield "persona", Counter(self.personas.values())


def _length(persona: PersonaRecord) -> int:
    return len(" ".join([*(f["text"] for f in persona.features), persona.text]).strip())


def _effort(item: ItemRecord, persona: int) -> Effort:
    """The effort of an annotator for the item, besides the `persona` characters of its profile."""
    values = item.values
    sides = [values["r1"], values["r2"]]
    asked = [side.get("prompt") or "" for side in sides]
    advice = values.get("advice") or {}
    effort = Effort.of(
        [
            *(values["context_title"], values["context"], values["question"]),
            *asked,
            *(side["text"] for side in sides),
            advice.get("text", ""),
        ],
        values["language"],
        media=[medium for part in (values, *sides) for medium in part.get("media") or ()],
        has_advice=bool(advice),
    )
    return effort._replace(characters=effort.characters + persona)


_BATCH = 500
_BLOCK = 1 << 20


class KeptItems:
    """Items in the order of their file; only the last few hundred are in memory.

    The others are in an unnamed temporary file, so an import of any size needs the same memory.
    They can be read any number of times.
    """

    def __init__(self) -> None:
        self.facts = ItemFacts()
        self._batch: list[ItemRecord] = []
        self._starts: list[int] = []
        self._file: IO[bytes] = tempfile.TemporaryFile()
        weakref.finalize(self, self._file.close)

    def __getstate__(self) -> dict[str, Any]:
        """Hand the file over to another process."""
        with tempfile.NamedTemporaryFile(delete=False) as copy:
            self._file.seek(0)
            shutil.copyfileobj(self._file, copy, _BLOCK)
        return {**self.__dict__, "_file": copy.name}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._file = Path(state["_file"]).open("r+b")
        Path(state["_file"]).unlink()
        weakref.finalize(self, self._file.close)

    def append(self, item: ItemRecord) -> None:
        self.facts.note(item)
        self._batch.append(item)
        if len(self._batch) == _BATCH:
            self._write()

    def __len__(self) -> int:
        return len(self._starts) * _BATCH + len(self._batch)

    def __iter__(self) -> Iterator[ItemRecord]:
        for number in range(len(self._starts)):
            yield from self._read(number)
        yield from self._batch

    def __getitem__(self, index: int) -> ItemRecord:
        number, place = divmod(index, _BATCH)
        return (self._read(number) if number < len(self._starts) else self._batch)[place]

    def _write(self) -> None:
        self._starts.append(self._file.seek(0, 2))
        # One pickle for a batch, in which items share what they have in common.
        pickle.dump(self._batch, self._file, pickle.HIGHEST_PROTOCOL)
        self._batch = []

    def _read(self, number: int) -> list[ItemRecord]:
        self._file.seek(self._starts[number])
        batch: list[ItemRecord] = pickle.load(self._file)  # noqa: S301  written just before
        return batch
