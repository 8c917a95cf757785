"""Inspect: a log as JSON, or the samples of an .eval file.

Each scorer is a judge. Labels of people are metadata of the samples.
"""

from typing import Any

from thirdperson.check.columns import Columns
from thirdperson.check.errors import BadTable
from thirdperson.check.exports.reader import (
    ExportedColumns,
    ExportReader,
    Row,
    objects,
    plain_fields,
    text,
)


def _matches(document: Any) -> bool:
    if not isinstance(document, dict):
        return False
    samples = objects(document.get("samples"))
    return bool(samples) and any("scores" in sample for sample in samples)


def _table(document: Any, name: str, metric: str) -> ExportedColumns:
    samples = objects(document.get("samples"))
    epochs = {sample.get("epoch", 1) for sample in samples}
    rows: list[Row] = []
    judges: dict[str, None] = {}
    for number, sample in enumerate(samples, start=1):
        row = plain_fields(sample.get("metadata"))
        item = str(sample.get("id", number))
        row["item"] = item if len(epochs) == 1 else f"{item}, epoch {sample.get('epoch', 1)}"
        if isinstance(sample.get("input"), str):
            row.setdefault("question", sample["input"])
        for scorer, score in (sample.get("scores") or {}).items():
            if isinstance(score, dict) and metric in ("", scorer):
                column = f"scorer {scorer}"
                row[column] = text(score.get("value"))
                judges[column] = None
        rows.append((f"{name}, sample {item}", row))
    if not judges:
        raise BadTable(
            f"{name} has no scores{f' of “{metric}”' if metric else ''}. Score it first."
        )
    return ExportedColumns(rows, Columns(item="item", judges=tuple(judges)))


READER = ExportReader(_matches, _table)
