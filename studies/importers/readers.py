"""From the bytes of a file to raw rows with line numbers."""

import csv
import io
import json
import re
from collections.abc import Iterable, Iterator
from difflib import get_close_matches
from typing import Any, NoReturn

from studies.importers.bundle import File
from studies.importers.faults import Fault
from studies.importers.personas import feature

Rows = Iterator[tuple[int, Any]]

COLUMNS = (
    "id", "group", "task", "persona_id", "persona_text", "question", "context", "context_title",
    "response_1", "response_2", "prompt_1", "prompt_2", "generated_by_1", "generated_by_2",
    "provider_1", "provider_2", "score_1", "score_2", "first_person", "tie", "split", "topic",
    "language", "shuffle", "metadata",
    # Columns that our own exports add, so that a CSV comes back as it went.
    "persona_features", "persona_history", "kind_1", "kind_2", "family_1", "family_2",
    "first_person_source", "label_confidence", "margin", "fixed_first", "check_correct",
    "check_instruction", "warnings", "extra",
)  # fmt: skip
REQUIRED = ("id", "persona_id", "response_1", "response_2")
_LABELS = {"1": "r1", "2": "r2", "tie": "tie", "": None}
# A quote that keeps a spreadsheet from computing the cell.
_QUOTED_FORMULA = re.compile(r"'+[=+\-@\t\r]")


class BadLine(Exception):
    """A line that cannot be read; the argument is its fault. Reading goes on after it."""

    def __init__(self, fault: Fault) -> None:
        self.fault = fault
        super().__init__(str(fault))


def read_json_lines(file: File) -> Iterator[tuple[int, Any] | BadLine]:
    """Each object of a JSON Lines file with its line number; blank lines are skipped."""
    return json_lines(file.data.split(b"\n"), file.name)


def json_lines(lines: Iterable[bytes], name: str) -> Iterator[tuple[int, Any] | BadLine]:
    """Each object of the lines of a JSON Lines file `name`, which need not be in memory."""
    for line, data in enumerate(lines, start=1):
        try:
            text = data.decode("utf-8-sig" if line == 1 else "utf-8")
        except UnicodeDecodeError:
            yield BadLine(not_utf8(line, name))
            continue
        if not text.strip():
            continue
        try:
            yield (
                line,
                json.loads(text, parse_constant=_no_constant, object_pairs_hook=_unique_keys),
            )
        except (ValueError, RecursionError) as error:
            reason = error.msg if isinstance(error, json.JSONDecodeError) else str(error)
            yield BadLine(
                Fault(
                    line, "", "not JSON", f"this is not JSON ({reason}).",
                    "Write one JSON object a line.", text.strip()[:80], name,
                )
            )  # fmt: skip


def read_csv(file: File, words: dict[str, dict[str, str]]) -> Iterator[tuple[int, Any] | BadLine]:
    """Each record of a CSV file in the shape of a JSON item, with the line it starts on.

    `words` gives label and sentence of the feature columns.
    """
    try:
        text = file.data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        yield BadLine(not_utf8(file.data.count(b"\n", 0, error.start) + 1, file.name))
        return
    header_line = text.split("\n", 1)[0]
    delimiter = max(",;\t", key=header_line.count)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    csv.field_size_limit(1_000_000)
    header: list[str] = []
    start = 1
    while True:
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            yield BadLine(
                Fault(
                    start, "", "not CSV", f"this cannot be read as CSV ({error}).",
                    "Quote cells that hold quotes, line ends or the delimiter.", file=file.name,
                )
            )  # fmt: skip
            return
        line, start = start, reader.line_num + 1
        if not any(cell.strip() for cell in cells):
            continue
        if not header:
            header = [cell.strip() for cell in cells]
            faults = _header_faults(line, header, file.name)
            yield from faults
            if faults:
                return
        elif len(cells) != len(header):
            yield BadLine(
                Fault(
                    line, "", "number of cells",
                    f"there are {len(cells)} cells, the header has {len(header)}.",
                    "Quote cells that hold the delimiter.", file=file.name,
                )
            )  # fmt: skip
        else:
            try:
                yield line, _item(line, dict(zip(header, cells, strict=True)), words, file.name)
            except BadLine as bad:
                yield bad


def read_feature_words(file: File) -> dict[str, dict[str, str]]:
    """The dictionary of features: {key: {label, template}}, in its order. Raises `BadLine`."""
    try:
        rows = list(csv.DictReader(io.StringIO(file.data.decode("utf-8-sig"), newline="")))
    except (UnicodeDecodeError, csv.Error) as error:
        raise BadLine(
            Fault(None, "", "not CSV", f"{file.name} cannot be read ({error}).", file=file.name)
        ) from error
    if not rows or not {"key", "label", "template"} <= rows[0].keys():
        raise BadLine(
            Fault(
                1, "", "missing column", f"{file.name} needs the columns key, label, template.",
                file=file.name,
            )
        )  # fmt: skip
    rows.sort(key=lambda row: int(row["order"]) if (row.get("order") or "").isdecimal() else 0)
    return {row["key"]: {"label": row["label"], "template": row["template"]} for row in rows}


def _item(
    line: int, cells: dict[str, str], words: dict[str, dict[str, str]], name: str
) -> dict[str, Any]:
    cells = {column: _unquoted(cell) for column, cell in cells.items()}
    label = cells.get("first_person", "").strip()
    if label not in _LABELS:
        raise BadLine(
            Fault(
                line, "first_person", "label is not allowed",
                f"first_person “{label}” is not allowed; use 1, 2, tie or leave empty.",
                "Sides A and B are decided when the item is shown.", label, name,
            )
        )  # fmt: skip
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
        "responses": [_response(parsed, number) for number in (1, 2)],
        "first_person": {
            "label": _LABELS[label],
            "tie": parsed.truth("tie"),
            "margin": parsed.number("margin"),
            "source": cells.get("first_person_source") or None,
            "label_confidence": parsed.number("label_confidence"),
        },
        "order": order,
        "metadata": parsed.json("metadata"),
        "warnings": parsed.json("warnings"),
    }
    plain = ("group", "task", "question", "context", "context_title", "split", "topic", "language")
    item |= {column: cells[column] for column in plain if cells.get(column)}
    if cells.get("check_correct") or cells.get("check_instruction"):
        item["check"] = {
            "correct": cells.get("check_correct"),
            "instruction": cells.get("check_instruction"),
        }
    unknown = [c for c in cells if c not in COLUMNS and not c.startswith("feature:")]
    extra = parsed.json("extra")
    item = (extra if isinstance(extra, dict) else {}) | item
    return item | {column: cells[column] for column in unknown if cells[column]}


class _Cells:
    """Cells that are not text, read or refused."""

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
            return json.loads(cell, parse_constant=_no_constant)
        except (ValueError, RecursionError):
            self._refuse(column, "JSON")

    def _refuse(self, column: str, wanted: str) -> NoReturn:
        cell = self.get(column)
        raise BadLine(
            Fault(
                self.line, column, f"{column} is not {wanted}",
                f"{column} “{cell[:80]}” is not {wanted}.", value=cell[:80], file=self.name,
            )
        )  # fmt: skip


def _response(parsed: _Cells, number: int) -> dict[str, Any]:
    name = parsed.cells.get(f"generated_by_{number}") or None
    provider = parsed.cells.get(f"provider_{number}") or None
    family = parsed.cells.get(f"family_{number}") or None
    # The basic columns name models alone: what has a name and no kind is one.
    kind = parsed.cells.get(f"kind_{number}") or ("model" if name else None)
    maker = {"kind": kind, "name": name, "provider": provider, "family": family}
    return {
        "key": f"r{number}",
        "text": parsed.cells[f"response_{number}"],
        "prompt": parsed.cells.get(f"prompt_{number}") or None,
        "generated_by": maker if any(maker.values()) else None,
        "score": parsed.number(f"score_{number}"),
    }


def _features(cells: dict[str, str], words: dict[str, dict[str, str]]) -> list[dict[str, str]]:
    """Feature columns with a value, in the order of the dictionary, then of the header."""
    given = {
        column.removeprefix("feature:").strip(): cell.strip()
        for column, cell in cells.items()
        if column.startswith("feature:") and cell.strip()
    }
    order = [key for key in words if key in given] + [key for key in given if key not in words]
    found = []
    for key in order:
        word = words.get(key, {})
        sentence = word.get("template", "").replace("{value}", given[key])
        found.append(feature(key, word.get("label", ""), given[key], sentence))
    return found


def _header_faults(line: int, header: list[str], name: str) -> list[BadLine]:
    faults = []
    for column in REQUIRED:
        if column not in header:
            close = get_close_matches(column, header, n=1, cutoff=0.7)
            hint = f"Did you mean {close[0]}?" if close else "Add it, or rename the one you mean."
            faults.append(
                Fault(
                    line, column, "missing column",
                    f"There is no column {column}. The file has: {', '.join(header)}.", hint,
                    file=name,
                )
            )  # fmt: skip
    twice = {column for column in header if header.count(column) > 1}
    faults += [
        Fault(line, c, "column appears twice", f"the column {c} appears twice.", file=name)
        for c in sorted(twice)
    ]
    return [BadLine(fault) for fault in faults]


def _unquoted(cell: str) -> str:
    return cell[1:] if _QUOTED_FORMULA.match(cell) else cell


def not_utf8(line: int, name: str) -> Fault:
    return Fault(
        line, "", "not UTF-8", f"Line {line} is not UTF-8.",
        "Save the file as ‘CSV UTF-8’." if name.endswith(".csv") else "Save it as UTF-8.",
        file=name,
    )  # fmt: skip


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number")


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"the key “{next(n for n in names if names.count(n) > 1)}” appears twice")
    return found
