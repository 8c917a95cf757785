"""Read a folder of released results, compare it with what the paper prints, and write both."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from analysis.report.render import render_document, shown
from extras.replication.output import write_output
from extras.replication.released.cells import TITLES, check_printed, compare_cells, published
from extras.replication.released.charts import PaperFigure, charts
from extras.replication.released.counts import describe
from extras.replication.released.result_files import (
    NothingToReplicate,
    ResultName,
    UnreadableFile,
    read_rows,
)
from extras.replication.released.tables import all_tables, verdict

SCHEMA = "thirdperson.replication/1"


@dataclass(frozen=True)
class Replication:
    """The result of a replication.

    Attributes
    ----------
    result : mapping
        The content of replication.json.
    charts : tuple of PaperFigure
        Figures 2 and 3.
    unreadable : tuple of str
        Messages about files that are named like results but cannot be read as such.
    """

    result: Mapping[str, Any]
    charts: tuple[PaperFigure, ...]
    unreadable: tuple[str, ...]


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
    """Count the released files among `files` and compare them with the published cells.

    Files of other names are skipped and listed. A file that is named like a result but cannot be
    read as one is listed too, and the others are still compared. `on_file` is called after each
    file.
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
    return Replication(result, charts(rows), tuple(unreadable))


def write_replication(found: Replication, out: Path) -> list[Path]:
    """Write replication.json, replication.html and tables/ to `out`, and return the paths."""
    tables = all_tables(found.result, found.charts)
    page = render_document(
        "replication/replication.html",
        slug="replication",
        figures=[chart.figure for chart in found.charts],
        result=found.result,
        verdict=verdict(found.result["cells"]),
        files=shown(tables["files"]),
        cells=[shown(tables[name]) for name in TITLES if name in tables],
        printed=shown(tables["printed"]),
        drawn=[(chart.figure, shown(tables[chart.name])) for chart in found.charts],
    )
    return write_output(out, "replication", found.result, page, list(tables.values()))
