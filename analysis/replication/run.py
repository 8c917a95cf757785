"""Read a folder, compare, and write replication.json, replication.html and tables/*.csv."""

import csv
import io
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from analysis.replication.cells import check_printed, compare_cells, published
from analysis.replication.charts import Panel, figures
from analysis.replication.counting import describe
from analysis.replication.errors import NothingToReplicate, UnreadableFile
from analysis.replication.names import ResultName
from analysis.replication.page import render_page
from analysis.replication.reading import read_rows

SCHEMA = "thirdperson.replication/1"


@dataclass(frozen=True)
class Replication:
    """What came out.

    Attributes
    ----------
    result : mapping
        The content of replication.json.
    panels : mapping of str to sequence of Panel
        Drawings of Figures 2 and 3.
    unreadable : tuple of str
        Messages about files that are named like results and are none.
    """

    result: Mapping[str, Any]
    panels: Mapping[str, Sequence[Panel]]
    unreadable: tuple[str, ...]

    def write(self, out: Path) -> list[Path]:
        """Write everything into the folder `out` and return the paths; makes it if need be."""
        texts = {
            Path("replication.json"): _json(self.result),
            Path("replication.html"): render_page(self.result, self.panels, published()["paper"]),
        }
        for name, rows in _tables(self.result).items():
            texts[Path("tables") / f"{name}.csv"] = _csv(rows)
        (out / "tables").mkdir(parents=True, exist_ok=True)
        for path, text in texts.items():
            (out / path).write_text(text, "utf-8", newline="")
        return [out / path for path in texts]


def find_files(folder: Path) -> list[Path]:
    """Files of a folder in the order of their names, or `NothingToReplicate`."""
    try:
        files = sorted(path for path in folder.iterdir() if path.is_file())
    except OSError as error:
        raise NothingToReplicate(
            f"{folder} cannot be read: {error.strerror}. "
            "Name the folder that holds the released result files."
        ) from error
    if not any(ResultName.parse(path.name) for path in files):
        raise NothingToReplicate(
            f"{folder} holds no released result file. Their names begin with ap_, ec_, prism_ "
            "or opinionqa_ and end in .jsonl, for example prism_all_features_gpt-4o.jsonl."
        )
    return files


def replicate(files: Sequence[Path], *, on_file: Callable[[], None] = lambda: None) -> Replication:
    """Count the released files among `files` and set them beside the published cells.

    Files of other names are skipped and listed. A file that is named like a result but cannot be
    read as one is listed too; the others are compared all the same. `on_file` is called after
    each file.
    """
    rows, skipped, unreadable = {}, [], []
    for path in files:
        if ResultName.parse(path.name) is None:
            skipped.append({"file": path.name, "why": "not the name of a released result"})
        else:
            try:
                rows[path.name] = read_rows(path)
            except UnreadableFile as error:
                unreadable.append(str(error))
                skipped.append({"file": path.name, "why": str(error)})
        on_file()
    described = {name: describe(content) for name, content in rows.items()}
    result = {
        "schema": SCHEMA,
        "paper": published()["paper"],
        "files": described,
        "cells": compare_cells(described),
        "printed": check_printed(),
        "skipped": skipped,
    }
    return Replication(result, figures(rows), tuple(unreadable))


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False, indent=1) + "\n"


def _tables(result: Mapping[str, Any]) -> dict[str, list[dict[str, Any]]]:
    """Rows of each CSV file: raw values, one row per cell or file."""
    tables: dict[str, list[dict[str, Any]]] = {"files": []}
    for name, file in result["files"].items():
        row = {"file": name, "rows": file["rows"], **file["answers"]}
        for part in ("parsed", "all_rows", "high", "low"):
            row |= {f"{part}_{key}": value for key, value in file[part].items()}
        tables["files"].append(row | {"no_certainty": file["no_certainty"]})
    for cell in result["cells"]:
        row = {key: value for key, value in cell.items() if key != "table"}
        tables.setdefault(cell["table"], []).append(row)
    for check in result["printed"]:
        row = {key: value for key, value in check.items() if key != "table"}
        tables.setdefault(check["table"], []).append(row)
    return tables


def _csv(rows: Sequence[Mapping[str, Any]]) -> str:
    text = io.StringIO()
    writer = csv.DictWriter(text, fieldnames=list(rows[0]))
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()
