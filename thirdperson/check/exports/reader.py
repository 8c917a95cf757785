"""Shared parts of the export readers."""

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from studies.texts.cells import literal
from thirdperson.check.columns import Columns
from thirdperson.check.labels import BadTable, listed

ExportedRow = tuple[str, dict[str, str]]
# The columns of an export with one row per label.
LONG = Columns(item="item", annotator="annotator", label="label", kind="kind")
CERTAINTY = re.compile(r"(?:.*[_. ])?(?:certainty|confidence)", re.IGNORECASE)


@dataclass(frozen=True)
class ExportedColumns:
    """Rows with the known columns; columns named by options take precedence."""

    rows: list[ExportedRow]
    columns: Columns

    def with_options(self, stated: Columns) -> Columns:
        known: dict[str, Any] = {n: value for n, value in vars(self.columns).items() if value}
        if stated.people or stated.annotator:  # an option says where people's labels are
            known = {name: value for name, value in known.items() if name not in _WHO}
        if "judges" in known:  # a score without a person's name can be one's all the same
            known["judges"] = tuple(
                name for name in self.columns.judges if name not in stated.people
            )
        if stated.judges or stated.judge_raters:
            known = {name: value for name, value in known.items() if name not in _JUDGES}
        return replace(stated, **{n: v for n, v in known.items() if not getattr(stated, n)})


_WHO = {"people", "annotator", "label", "kind", "certainty"}
_JUDGES = {"judges", "kind"}


@dataclass(frozen=True)
class ExportReader:
    """`matches` says whether a parsed document is from this program; `table` turns it into rows.

    The third argument of `table` is the metric from an option, empty for the only one.
    """

    matches: Callable[[Any], bool]
    table: Callable[[Any, str, str], ExportedColumns]


@dataclass(frozen=True)
class ReaderMark:
    """A label of one metric: its place, rater and item."""

    where: str
    item: str
    rater: str
    is_judge: bool
    metric: str
    value: Any
    certainty: float | None = None


def table_of_marks(
    marks: Sequence[ReaderMark],
    fields: Mapping[str, Mapping[str, Any]],
    name: str,
    metric: str,
    *,
    gold: Mapping[str, str] | None = None,
) -> ExportedColumns:
    """One row per label of the metric; `fields` belong to the items.

    A metric whose name ends in certainty or confidence is its rater's certainty about the item.
    """
    stated = {
        (mark.item, mark.rater): text(mark.value)
        for mark in marks
        if CERTAINTY.fullmatch(mark.metric)
    }
    marks = [mark for mark in marks if not CERTAINTY.fullmatch(mark.metric)]
    of_people, of_judges = _metrics(marks, name, metric)
    rows = []
    for mark in marks:
        if mark.metric != (of_judges if mark.is_judge else of_people):
            continue
        certainty = stated.get((mark.item, mark.rater), "")
        if not certainty and mark.certainty is not None:
            certainty = f"{mark.certainty:g}"
        row = plain_fields(fields.get(mark.item, {})) | {
            "item": mark.item,
            "annotator": mark.rater,
            "label": text(mark.value),
            "kind": "judge" if mark.is_judge else "human",
            "certainty": certainty,
        }
        if gold and mark.item in gold:
            row["gold"] = gold[mark.item]
        rows.append((mark.where, row))
    has_certainty = any(row["certainty"] for _, row in rows)
    return ExportedColumns(
        rows, replace(LONG, certainty={"label": "certainty"} if has_certainty else {})
    )


def _metrics(marks: Iterable[ReaderMark], name: str, metric: str) -> tuple[str, str]:
    """The metric to check, of people and of judges: as named, or the only one of both."""
    people = {mark.metric for mark in marks if not mark.is_judge}
    judges = {mark.metric for mark in marks if mark.is_judge}
    if metric:
        one, _, other = metric.partition("=")
        named = (metric, metric) if metric in people | judges else (one, other or one)
        if named[0] in people | judges and named[1] in people | judges:
            return named
        raise BadTable(
            f"{name} has no labels of “{metric}”. It has: {listed(sorted(people | judges))}. "
            "Name one of these with --metric."
        )
    both = sorted(people & judges)
    if len(both) == 1:
        return both[0], both[0]
    if not both:
        remedy = " Name what belongs together: --metric PEOPLE=JUDGE." if people and judges else ""
        raise BadTable(
            f"{name}: nothing was labelled by both people and a judge. People: "
            f"{listed(sorted(people)) or 'none'}. Judges: {listed(sorted(judges)) or 'none'}."
            f"{remedy}"
        )
    raise BadTable(
        f"{name}: people and judges labelled several things: {listed(both)}. Name one with "
        "--metric."
    )


def plain_fields(fields: Any, prefix: str = "") -> dict[str, str]:
    """The texts, numbers and truth values of an object; nested ones by their path."""
    plain: dict[str, str] = {}
    if isinstance(fields, dict):
        for key, value in fields.items():
            if isinstance(value, dict):
                plain |= plain_fields(value, f"{prefix}{key}.")
            elif isinstance(value, (str, int, float)):
                plain[f"{prefix}{key}"] = text(value)
    return plain


def nested(row: Mapping[str, str]) -> dict[str, Any]:
    """The filled cells of a row, of which lists and objects in JSON or Python are read."""
    return {name: _read_cell(cell) for name, cell in row.items() if cell}


def _read_cell(cell: str) -> Any:
    parsed = literal(cell) if cell.startswith(("{", "[")) else None
    return cell if parsed is None else parsed


def text(value: Any) -> str:
    """A label as text; a list of one label counts as that label."""
    if isinstance(value, dict) and set(value) == {"value"}:
        value = value["value"]
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    if isinstance(value, str):
        return value.strip()
    return "" if value is None else json.dumps(value, ensure_ascii=False)


def certainty_of_score(score: Any) -> float | None:
    """A model's score from 0 to 1 as a certainty from 1 to 100; None for anything else."""
    if isinstance(score, bool) or not isinstance(score, (int, float)) or not 0 <= score <= 1:
        return None
    return max(1.0, float(round(score * 100)))


def first_of(*values: Any) -> str:
    """The first non-empty value as text; 0 is not empty."""
    return next(str(value) for value in values if value not in (None, ""))


def objects(value: Any) -> list[dict[str, Any]]:
    """The objects in a list; empty for anything else."""
    return [entry for entry in value if isinstance(entry, dict)] if isinstance(value, list) else []


def rows_at(document: Any, path: str, name: str) -> list[ExportedRow]:
    """The records at a path of a JSON document, such as results.*.answers, as rows.

    `*` stands for each element of a list or an object. Fields of what surrounds a record are its
    columns too.
    """
    objects: list[tuple[Any, dict[str, str]]] = [(document, {})]
    for step in path.split("."):
        inner = []
        for value, outer in objects:
            if isinstance(value, dict):
                outer = outer | {k: v for k, v in plain_fields(value).items() if "." not in k}
                parts = [*value.values()] if step == "*" else [value[step]] if step in value else []
            elif isinstance(value, list):
                is_place = step.isdecimal() and int(step) < len(value)
                parts = value if step == "*" else [value[int(step)]] if is_place else []
            else:
                parts = []
            inner += [(part, outer) for part in parts]
        if not inner:
            keys = sorted({key for value, _ in objects if isinstance(value, dict) for key in value})
            raise BadTable(
                f"{name}: --records {path}: there is no “{step}”. Here are: "
                f"{listed(keys, 20) or 'no names'}. Use * for each element of a list."
            )
        objects = inner
    records = [
        (record, outer)
        for value, outer in objects
        for record in (value if isinstance(value, list) else [value])
    ]
    return [
        (f"{name}, record {number}", outer | plain_fields(_numbered(record)))
        for number, (record, outer) in enumerate(records, start=1)
        if isinstance(record, dict)
    ]


_DEEPEST, _LONGEST = 6, 200


def _numbered(value: Any) -> Any:
    """A value whose lists are objects by number, so that each element has a path."""
    if isinstance(value, dict):
        return {name: _numbered(part) for name, part in value.items()}
    if isinstance(value, list):
        return {str(n): _numbered(part) for n, part in enumerate(value[:_LONGEST])}
    return value


def record_paths(document: Any) -> list[tuple[str, int]]:
    """Where lists of objects are in a JSON document, for `rows_at`, with their numbers."""
    counts: dict[str, int] = {}

    def look(value: Any, steps: tuple[str, ...]) -> None:
        if len(steps) > _DEEPEST:
            return
        if isinstance(value, list) and value and all(isinstance(part, dict) for part in value):
            path = ".".join(steps)
            counts[path] = counts.get(path, 0) + len(value)
            for part in value:
                look(part, (*steps, "*"))
        elif isinstance(value, dict):
            for name, part in value.items():
                if "." not in name:
                    look(part, (*steps, name))

    look(document, ())
    counts.pop("", None)
    return sorted(counts.items(), key=lambda pair: -pair[1])
