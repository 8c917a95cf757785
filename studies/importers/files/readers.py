"""Reads the items of a CSV file as raw rows with line numbers."""

import json
import re
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from difflib import get_close_matches
from typing import Any, NoReturn

from studies.exporters.tables import as_typed
from studies.importers.files.bundle import File
from studies.importers.files.faults import Fault
from studies.importers.files.json_rows import no_number
from studies.importers.files.lines import (
    BadLine,
    has_too_many_values,
    missing_column,
    records,
    table_rows,
)
from studies.importers.items.records import OWN_ANSWER_NAMES, feature
from studies.texts.cells import SeveralValues, name_of, value_of

COLUMNS = (
    "id",
    "group",
    "task",
    "persona_id",
    "persona_text",
    "question",
    "context",
    "context_title",
    "response_1",
    "response_2",
    "prompt_1",
    "prompt_2",
    "generated_by_1",
    "generated_by_2",
    "provider_1",
    "provider_2",
    "score_1",
    "score_2",
    "first_person",
    "tie",
    "split",
    "topic",
    "language",
    "shuffle",
    "metadata",
    # Columns that our exports add: an exported CSV can be imported again.
    "persona_features",
    "persona_history",
    "kind_1",
    "kind_2",
    "family_1",
    "family_2",
    "first_person_source",
    "label_confidence",
    "margin",
    "fixed_first",
    "check_correct",
    "check_instruction",
    "warnings",
    "advice",
    "advice_title",
    "advice_kind",
    "advice_favors",
    "media",
    "media_1",
    "media_2",
    "reference",
    "extra",
)
# The description of one file, next to its name; an export puts both into one cell.
DESCRIPTIONS = ("media_description", "media_description_1", "media_description_2")
# Columns of items with more than two responses, which an import makes pairs of.
MORE = range(3, 6)
SET_COLUMNS = (
    "ranking",
    *(f"response_{n}" for n in MORE),
    *(f"prompt_{n}" for n in MORE),
    *(f"generated_by_{n}" for n in MORE),
    *(f"provider_{n}" for n in MORE),
    *(f"kind_{n}" for n in MORE),
    *(f"family_{n}" for n in MORE),
    *(f"score_{n}" for n in MORE),
    *(f"media_{n}" for n in MORE),
    *(f"media_description_{n}" for n in MORE),
)
REQUIRED = ("id", "persona_id", "response_1", "response_2")
_PLAIN = (
    *("group", "task", "question", "context", "context_title", "split", "topic", "language"),
    "reference",
)
_WORDS = ("key", "label", "template")
_LONGEST_NAME = 60  # of a column that may be misspelt
_SIDES = {"r1": "1", "r2": "2"}
_RANKED = re.compile(r"\d+")
_LABELS = {"1": "r1", "2": "r2", "tie": "tie", "": None}


def read_csv(
    file: File, words: dict[str, dict[str, str]], own: str = ""
) -> Iterator[tuple[int, Any] | BadLine]:
    """Each record of a CSV file in the shape of a JSON item, with the line it starts on.

    `words` gives label and sentence of the feature columns; `own` is the column with the persona's
    own answer, if the file gives it another name.
    """
    for entry in file.records(header_faults=_header_faults):
        if isinstance(entry, BadLine):
            yield entry
            continue
        line, cells = entry
        if own:
            answer = _plain_label(cells.pop(own).strip())
            cells["first_person"] = _SIDES.get(answer, answer)
        try:
            yield line, _item(line, cells, words, file.name)
        except BadLine as bad:
            yield bad


def _plain_label(answer: str) -> str:
    """1 for 1.0, as pandas writes whole numbers of a column in which some are missing."""
    whole = answer.removesuffix(".0")
    return whole if whole.isdecimal() else answer


def own_answer_column(file: File) -> str:
    """The column with the personas' own answers if it has another name; "" without one.

    It is the only one with such a name in a file without first_person, and contains 1, 2, r1, r2 or
    tie, or nothing, in every row.
    """
    named: list[str] = []
    filled = False
    with file.open() as stream:
        for entry in records(stream, file.name, header_faults=lambda *_: []):
            if isinstance(entry, BadLine):
                return ""
            cells = entry[1]
            named = named or [c for c in cells if c.lower().replace(" ", "_") in OWN_ANSWER_NAMES]
            if "first_person" in cells or len(named) != 1:
                return ""
            answer = _plain_label(cells[named[0]].strip())
            if answer not in _LABELS and answer not in _SIDES:
                return ""
            filled = filled or bool(answer)
    return named[0] if filled else ""


def read_feature_words(file: File) -> dict[str, dict[str, str]]:
    """The dictionary of features: {key: {label, template}}, in its order. Raises `BadLine`."""
    rows = []
    with file.open() as stream:
        for entry in table_rows(stream, file.name, required=_WORDS):
            if isinstance(entry, BadLine):
                raise entry
            rows.append(entry[1])
    rows.sort(key=lambda row: int(order) if (order := row.get("order", "")[:9]).isdecimal() else 0)
    return {row["key"]: {"label": row["label"], "template": row["template"]} for row in rows}


def _item(
    line: int, cells: dict[str, str], words: dict[str, dict[str, str]], name: str
) -> dict[str, Any]:
    cells = {column: as_typed(cell) for column, cell in cells.items()}
    with suppress(SeveralValues):
        cells["first_person"] = name_of(value_of(cells.get("first_person", "")))
    label = cells["first_person"] = _plain_label(cells["first_person"])
    more = [n for n in MORE if cells.get(f"response_{n}", "").strip()]
    labels = _LABELS | {str(n): f"r{n}" for n in more}
    if label not in labels:
        raise BadLine(
            Fault(
                line,
                "first_person",
                "label is not allowed",
                f"first_person “{label}” is not allowed; use 1, 2, tie or leave empty.",
                "Sides A and B are decided when the item is shown.",
                label,
                name,
                item=cells["id"].strip(),
            )
        )
    parsed = _Cells(line, cells, name)
    order = {"shuffle": parsed.truth("shuffle"), "fixed_first": cells.get("fixed_first") or None}
    item = {
        "id": cells["id"].strip(),
        "persona": {
            "id": cells["persona_id"].strip(),
            "features": parsed.json("persona_features") or _features(cells, words),
            "text": cells.get("persona_text") or None,
            "history": parsed.json("persona_history"),
        },
        "responses": [_response(parsed, number) for number in (1, 2, *more)],
        "first_person": {
            "label": labels[label],
            "tie": parsed.truth("tie"),
            "margin": parsed.number("margin"),
            "source": cells.get("first_person_source") or None,
            "label_confidence": parsed.number("label_confidence"),
        },
        "order": order,
        "metadata": parsed.json("metadata"),
        "warnings": parsed.json("warnings"),
        "media": _media(parsed, ""),
    }
    item |= {column: cells[column] for column in _PLAIN if cells.get(column)}
    if cells.get("check_correct") or cells.get("check_instruction"):
        item["check"] = {
            "correct": cells.get("check_correct"),
            "instruction": cells.get("check_instruction"),
        }
    if cells.get("advice"):
        favors = cells.get("advice_favors", "").strip()
        item["advice"] = {
            "text": cells["advice"],
            "title": cells.get("advice_title"),
            "kind": cells.get("advice_kind"),
            "favors": _LABELS.get(favors, favors) or None,
        }
    if more and (ranking := _RANKED.findall(cells.get("ranking", ""))):
        item["first_person"]["ranking"] = [f"r{n}" for n in ranking]
    known = {*COLUMNS, *DESCRIPTIONS, *(SET_COLUMNS if more else ())}
    unknown = [c for c in cells if c not in known and not c.startswith("feature:")]
    extra = parsed.json("extra")
    item = (extra if isinstance(extra, dict) else {}) | item
    # A column such as “persona” must not take the place of a part of the item.
    names = {column: f"{column}_column" if column in item else column for column in unknown}
    return item | {names[column]: cells[column] for column in unknown if cells[column]}


class _Cells:
    """Reads cells that are not text, or refuses them."""

    def __init__(self, line: int, cells: dict[str, str], name: str) -> None:
        self.line, self.cells, self.name = line, cells, name

    def get(self, column: str) -> str:
        return self.cells.get(column, "").strip()

    def truth(self, column: str) -> bool | None:
        cell = self.get(column).lower()
        known = {"": None, "true": True, "1": True, "yes": True, "false": False, "0": False}
        known["no"] = False
        if cell not in known:
            self._refuse(column, "true or false")
        return known[cell]

    def number(self, column: str) -> int | float | None:
        cell = self.get(column)
        if not cell:
            return None
        try:
            return int(cell)
        except ValueError:
            pass
        try:
            return float(cell)
        except ValueError:
            self._refuse(column, "a number")

    def json(self, column: str) -> Any:
        cell = self.get(column)
        if not cell:
            return None
        try:
            if has_too_many_values(cell):
                raise ValueError
            return json.loads(cell, parse_constant=no_number)
        except (ValueError, RecursionError):
            self._refuse(column, "JSON")

    def _refuse(self, column: str, wanted: str) -> NoReturn:
        cell = self.get(column)
        raise BadLine(
            Fault(
                self.line,
                column,
                f"{column} is not {wanted}",
                f"{column} “{cell[:80]}” is not {wanted}.",
                value=cell[:80],
                file=self.name,
                item=self.get("id"),
            )
        )


def _response(parsed: _Cells, number: int) -> dict[str, Any]:
    name = parsed.cells.get(f"generated_by_{number}") or None
    provider = parsed.cells.get(f"provider_{number}") or None
    family = parsed.cells.get(f"family_{number}") or None
    # The basic columns name only models, so a source with a name and no kind is a model.
    kind = parsed.cells.get(f"kind_{number}") or ("model" if name else None)
    maker = {"kind": kind, "name": name, "provider": provider, "family": family}
    return {
        "key": f"r{number}",
        "text": parsed.cells[f"response_{number}"],
        "prompt": parsed.cells.get(f"prompt_{number}") or None,
        "generated_by": maker if any(maker.values()) else None,
        "score": parsed.number(f"score_{number}"),
        "media": _media(parsed, f"_{number}"),
    }


def _media(parsed: _Cells, number: str) -> Any:
    """The files of a response, or of the question: one name, or a list of objects as in JSON."""
    column = f"media{number}"
    if parsed.get(column).startswith("["):
        return parsed.json(column)
    if not (file := parsed.get(column)):
        return None
    return [{"file": file, "description": parsed.get(f"media_description{number}") or None}]


def _features(cells: dict[str, str], words: dict[str, dict[str, str]]) -> list[dict[str, str]]:
    """Feature columns with a value, in the order of the dictionary, then of the header."""
    values = {
        column.removeprefix("feature:").strip(): cell.strip()
        for column, cell in cells.items()
        if column.startswith("feature:") and cell.strip()
    }
    order = [key for key in words if key in values] + [key for key in values if key not in words]
    features = []
    for key in order:
        word = words.get(key, {})
        sentence = word.get("template", "").replace("{value}", values[key])
        features.append(feature(key, word.get("label", ""), values[key], sentence))
    return features


def _header_faults(line: int, header: list[str], name: str) -> list[BadLine]:
    faults = []
    names = [column for column in header if len(column) <= _LONGEST_NAME]
    for column in REQUIRED:
        if column not in header:
            close = get_close_matches(column, names, n=1, cutoff=0.7)
            hint = f"Did you mean {close[0]}?" if close else "Add it, or rename the one you mean."
            faults.append(missing_column(line, column, header, hint, name))
    faults += [
        Fault(
            line,
            c,
            "column appears twice",
            f"the column {c} appears twice.",
            file=name,
            ends_reading=True,
        )
        for c, count in sorted(Counter(header).items())
        if count > 1
    ]
    return [BadLine(fault) for fault in faults]
