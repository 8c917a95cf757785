"""The mapping of a file's columns to the fields of an item, as a page or a JSON file gives it."""

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Self

from studies.errors import StudyError
from studies.importers.columns.fields import FEATURE, FIELDS, HISTORY, NOT_IMPORTED
from studies.texts.normalisation import digest

FORMAT = "thirdperson-mapping"
ANSWERS = ("r1", "r2", "tie", "")
UNREAD = "?"
_TEXTS = ("question", "persona_text")


class BadMapping(StudyError):
    """A mapping that cannot be read, or by which no item can be made."""


@dataclass(frozen=True)
class ColumnMapping:
    """Which column has which field.

    `labels` are the names of persona features, by column. `answers` has what a value of the own
    answer means: r1, r2, tie, nothing, or ? for a value that is not read. Values that are not in it
    are read by common rules.
    `question` and `persona_text` are for all items, in files without such a column.
    """

    fields: Mapping[str, str]
    labels: Mapping[str, str] = field(default_factory=dict)
    answers: Mapping[str, str] = field(default_factory=dict)
    question: str = ""
    persona_text: str = ""

    def column_of(self, name: str) -> str | None:
        """The column of a field that only one column can have."""
        return next((column for column, field in self.fields.items() if field == name), None)

    def columns_of(self, name: str) -> list[str]:
        return [column for column, field in self.fields.items() if field == name]

    @property
    def is_pair(self) -> bool:
        """Whether the responses are the chosen and the rejected one."""
        return self.column_of("chosen") is not None

    @property
    def has_own_answer(self) -> bool:
        return self.is_pair or self.column_of("own_answer") is not None

    def faults(self) -> list[str]:
        """Reasons why no item can be made, each with what to do."""
        used = Counter(name for name in self.fields.values() if name != NOT_IMPORTED)
        found = [
            f"“{FIELDS[name].label}” has {count} columns. Choose one of them."
            for name, count in used.items()
            if count > 1 and not FIELDS[name].is_repeatable
        ]
        pair, sides = used["chosen"] + used["rejected"], used["response_1"] + used["response_2"]
        if pair and sides:
            found.append(
                "Choose either response 1 and response 2, or the chosen and the rejected response."
            )
        elif pair == 1:
            found.append("Choose the columns of both the chosen and the rejected response.")
        elif not pair and (not used["response_1"] or not used["response_2"]):
            found.append("Choose the columns of response 1 and response 2.")
        if pair and used["own_answer"]:
            found.append("The chosen response is the own answer already. Choose one of them.")
        if not (used[FEATURE] or used["persona_text"] or self.persona_text):
            found.append("Choose at least one column about the persona, or describe it below.")
        asked, chosen, rejected = (used[name] for name in HISTORY)
        if asked != chosen or rejected not in (0, asked):
            found.append(
                f"The earlier choices have {asked} questions, {chosen} chosen and {rejected} "
                "rejected responses. Choose as many columns of each; rejected ones may be left out."
            )
        has_prompts = used["prompt_1"] and used["prompt_2"]
        if not (used["question"] or has_prompts or used["context"] or self.question):
            found.append("Choose the column of the question, or write one question for all items.")
        return found

    def as_json(self) -> dict[str, Any]:
        """The columns are a list: a database keeps no order of keys, and features have one."""
        columns = [
            {"column": column, "field": name}
            | ({"label": self.labels[column]} if column in self.labels else {})
            for column, name in self.fields.items()
        ]
        found: dict[str, Any] = {"format": FORMAT, "columns": columns}
        for name in ("answers", *_TEXTS):
            if value := getattr(self, name):
                found[name] = dict(value) if isinstance(value, Mapping) else value
        return found

    @classmethod
    def stored(cls, raw: Mapping[str, Any]) -> Self:
        """The mapping in the JSON of `as_json`, which may be incomplete."""
        columns = raw.get("columns", [])
        return cls(
            {entry["column"]: entry["field"] for entry in columns},
            {entry["column"]: entry["label"] for entry in columns if "label" in entry},
            raw.get("answers", {}),
            raw.get("question", ""),
            raw.get("persona_text", ""),
        )

    @classmethod
    def of(cls, raw: Any) -> Self:
        """The mapping in a JSON value. Raises `BadMapping`."""
        if not isinstance(raw, dict) or raw.get("format") != FORMAT:
            raise BadMapping(f"A mapping is a JSON object with format “{FORMAT}”.")
        if unknown := raw.keys() - {"format", "columns", "answers", *_TEXTS}:
            raise BadMapping(f"A mapping has no key “{min(unknown)}”.")
        columns, answers = raw.get("columns", []), raw.get("answers", {})
        if not isinstance(columns, list) or not all(map(_is_column, columns)):
            raise BadMapping("“columns” of a mapping is a list of objects with column and field.")
        for entry in columns:
            if entry["field"] != NOT_IMPORTED and entry["field"] not in FIELDS:
                known = ", ".join(FIELDS)
                raise BadMapping(
                    f"“{entry['column']}” is mapped to “{entry['field']}”. Use one of: {known}."
                )
        if not isinstance(answers, dict):
            raise BadMapping("“answers” of a mapping is an object.")
        for value, answer in answers.items():
            if answer not in (*ANSWERS, UNREAD):
                raise BadMapping(f"The answer “{value}” means “{answer}”. Use r1, r2 or tie.")
        if not all(isinstance(raw.get(name, ""), str) for name in _TEXTS):
            raise BadMapping("“question” and “persona_text” of a mapping are texts.")
        mapping = cls.stored(raw)
        if faults := mapping.faults():
            raise BadMapping(" ".join(faults))
        return mapping

    @classmethod
    def read(cls, text: str) -> Self:
        """The mapping in a JSON text. Raises `BadMapping`."""
        try:
            return cls.of(json.loads(text))
        except (ValueError, RecursionError) as error:
            raise BadMapping(f"The mapping is not JSON: {error}.") from error


def _is_column(entry: Any) -> bool:
    """Whether a value is an object of texts with column and field, and perhaps a label."""
    return (
        isinstance(entry, dict)
        and {"column", "field"} <= entry.keys() <= {"column", "field", "label"}
        and all(isinstance(value, str) for value in entry.values())
    )


def hash_of(columns: Iterable[str]) -> str:
    """Equal for files with the same columns in any order."""
    return digest(sorted(columns))
