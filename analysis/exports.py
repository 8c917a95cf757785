"""Tables for other programs: items, answers, judgments and people, as open files."""

import csv
import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from django.contrib.auth.models import User

from analysis.errors import AnalysisError
from analysis.export_card import dataset_card
from analysis.export_rows import (
    ANNOTATION_COLUMNS,
    ANNOTATOR_COLUMNS,
    IDENTIFIED_COLUMNS,
    JUDGMENT_COLUMNS,
    annotation_table,
    annotator_table,
    judgment_table,
)
from analysis.pseudonyms import renew_export_key
from studies.exporters import dataset_description, item_cells, item_rows, may_redistribute
from studies.importers.faults import spreadsheet_text
from studies.importers.readers import COLUMNS
from studies.models import Study
from studies.prompts import SETTINGS, wording
from studies.services import record

WHAT = ("items", "annotations", "judgments", "annotators", "all")
FORMATS = ("csv", "jsonl", "parquet")

Row = dict[str, Any]


class ExportError(AnalysisError):
    """An export was not written; nothing is left of it."""


@dataclass(frozen=True)
class Table:
    """One kind of rows; `cells` flattens a row to the `columns` of a CSV file.

    `names_people` marks a table with platform ids, which its owner alone may read.
    """

    name: str
    columns: tuple[str, ...]
    rows: Callable[[], Iterator[Row]]
    cells: Callable[[Row], Row] = dict
    names_people: bool = False


def export_study(
    study: Study,
    *,
    what: str,
    format: str,
    out: Path,
    identified: bool = False,
    fresh_pseudonyms: bool = False,
    user: User | None = None,
    on_row: Callable[[], None] | None = None,
) -> dict[str, int]:
    """Write one table to the file `out`, or all of them to the folder `out`.

    Returns how many rows each table has. A file is replaced, a folder must be new or empty;
    both appear only when they are complete. Platform ids are written only when `identified`,
    and only to a file that its owner alone can read. Raises `ExportError`.
    """
    if format == "parquet":
        _require_pyarrow()
    if fresh_pseudonyms:
        renew_export_key(study_id=study.pk)
        study.refresh_from_db(fields=["export_key"])
    tables = _tables(study, identified=identified)
    try:
        if what == "all":
            counts = _write_folder(study, list(tables.values()), format, out, on_row)
        else:
            counts = {what: _write_file(tables[what], format, out, on_row)}
    except OSError as error:
        raise ExportError(f"{out} cannot be written: {error.strerror}.") from error
    record(
        study, "exported", user=user, what=what, format=format, identified=identified,
        fresh_pseudonyms=fresh_pseudonyms,
    )  # fmt: skip
    return counts


def _tables(study: Study, *, identified: bool) -> dict[str, Table]:
    people = ANNOTATOR_COLUMNS + (IDENTIFIED_COLUMNS if identified else ())
    open_source = may_redistribute(study)
    return {
        table.name: table
        for table in (
            Table(
                "items",
                COLUMNS if open_source else ("id", "split", "topic", "content_hash"),
                lambda: item_rows(study),
                item_cells,
            ),
            Table("annotations", ANNOTATION_COLUMNS, lambda: annotation_table(study)),
            Table("judgments", JUDGMENT_COLUMNS, lambda: judgment_table(study)),
            Table(
                "annotators",
                people,
                lambda: annotator_table(study, identified=identified),
                names_people=identified,
            ),
        )
    }


def _write_file(table: Table, format: str, out: Path, on_row: Callable[[], None] | None) -> int:
    """Write `table` beside `out` and put it in its place when it is whole."""
    out.parent.mkdir(parents=True, exist_ok=True)
    # mkstemp gives mode 0600; only a file that names nobody becomes readable by others.
    handle, name = tempfile.mkstemp(dir=out.parent, prefix=f".{out.name}.")
    os.close(handle)
    part = Path(name)
    try:
        count = _WRITERS[format](table, part, on_row)
        if not table.names_people:
            part.chmod(0o644)
        part.replace(out)
    finally:
        part.unlink(missing_ok=True)
    return count


def _write_folder(
    study: Study,
    tables: list[Table],
    format: str,
    out: Path,
    on_row: Callable[[], None] | None,
) -> dict[str, int]:
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise ExportError(f"{out} is there already. Name a new or an empty folder.")
    out.parent.mkdir(parents=True, exist_ok=True)
    part = Path(tempfile.mkdtemp(dir=out.parent, prefix=f".{out.name}."))
    try:
        counts = {}
        kinds = ["jsonl", "csv"] + (["parquet"] if format == "parquet" else [])
        for table in tables:
            for kind in kinds:
                path = part / ("data" if kind == "parquet" else kind) / f"{table.name}.{kind}"
                counts[table.name] = _write_file(table, kind, path, on_row)
        items = (part / "jsonl" / "items.jsonl").read_bytes()
        described = dataset_description(
            study, items=counts["items"], sha256=hashlib.sha256(items).hexdigest()
        )
        _write_text(part / "jsonl" / "dataset.json", _json(described, indent=1) + "\n")
        _write_prompts(study, part / "prompts")
        _write_text(part / "README.md", dataset_card(study, counts=counts, formats=kinds))
        _write_checksums(part)
        if not any(table.names_people for table in tables):
            part.chmod(0o755)
        if out.exists():
            out.rmdir()
        part.rename(out)
    finally:
        shutil.rmtree(part, ignore_errors=True)
    return counts


def _write_prompts(study: Study, folder: Path) -> None:
    for setting in SETTINGS:
        for persona in (True, False):
            name = f"{study.task}.{setting}{'' if persona else '.no_persona'}.txt"
            words = wording(study.task, setting, persona=persona)
            _write_text(folder / name, f"sha256: {words.sha256}\n\n{words.template}\n")


def _write_checksums(folder: Path) -> None:
    """In the format that `sha256sum --check` reads."""
    lines = [
        f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.relative_to(folder).as_posix()}\n"
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    ]
    _write_text(folder / "CHECKSUMS.sha256", "".join(lines))


def _write_text(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8", newline="\n")


def _write_jsonl(table: Table, path: Path, on_row: Callable[[], None] | None) -> int:
    count = 0
    with path.open("w", encoding="utf-8", newline="\n") as file:
        for row in table.rows():
            file.write(f"{_json(row)}\n")
            count += 1
            if on_row is not None:
                on_row()
    return count


def _write_csv(table: Table, path: Path, on_row: Callable[[], None] | None) -> int:
    count = 0
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(table.columns)
        for row in table.rows():
            cells = table.cells(row)
            writer.writerow([_cell(cells.get(column)) for column in table.columns])
            count += 1
            if on_row is not None:
                on_row()
    return count


def _write_parquet(table: Table, path: Path, on_row: Callable[[], None] | None) -> int:
    import pyarrow  # an optional extra: the base installation has no Parquet
    import pyarrow.parquet

    rows = []
    for row in table.rows():
        rows.append(_flat(table, row))
        if on_row is not None:
            on_row()
    # Without a row there is nothing to tell the types of columns by.
    texts = pyarrow.schema([(column, pyarrow.string()) for column in table.columns])
    content = pyarrow.Table.from_pylist(rows) if rows else texts.empty_table()
    pyarrow.parquet.write_table(content, path)
    return len(rows)


_WRITERS: dict[str, Callable[[Table, Path, Callable[[], None] | None], int]] = {
    "jsonl": _write_jsonl,
    "csv": _write_csv,
    "parquet": _write_parquet,
}


def _flat(table: Table, row: Row) -> Row:
    """A row whose objects are JSON texts, so that a column has one type throughout."""
    cells = table.cells(row)
    return {
        column: _json(value) if isinstance(value := cells.get(column), (dict, list)) else value
        for column in table.columns
    }


def _cell(value: Any) -> Any:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (dict, list)):
        return spreadsheet_text(_json(value))
    return spreadsheet_text(value) if isinstance(value, str) else value


def _json(value: Any, *, indent: int | None = None) -> str:
    return json.dumps(value, ensure_ascii=False, indent=indent, allow_nan=False)


def _require_pyarrow() -> None:
    try:
        import pyarrow  # noqa: F401
    except ImportError as error:
        raise ExportError(
            "Parquet needs the package pyarrow, which is not installed. "
            "Install it with `pip install pyarrow`, or export csv or jsonl."
        ) from error
