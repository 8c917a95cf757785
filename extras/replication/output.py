"""The folder that a result is written to: NAME.json, NAME.html and its tables."""

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from analysis.lifecycle.output_folders import check_output_folder, holds
from analysis.report.files.json_file import to_json
from analysis.report.files.table_files import write_tables
from analysis.report.tables import Table


def check_output(out: Path, name: str) -> None:
    """Raise `ForeignFiles` if the folder `out` has files of these names by somebody else."""
    names = (f"{name}.json", f"{name}.html", "tables")
    check_output_folder(out, names, is_ours=holds(out, name))


def write_output(
    out: Path, name: str, result: Mapping[str, Any], page: str, tables: Sequence[Table]
) -> list[Path]:
    """Write all files to the folder `out`, creating it if necessary, and return the paths.

    The folder of tables is replaced.
    """
    out.mkdir(parents=True, exist_ok=True)
    content, html, folder = out / f"{name}.json", out / f"{name}.html", out / "tables"
    content.write_text(to_json(result), encoding="utf-8")
    html.write_text(page, encoding="utf-8")
    if folder.exists():
        shutil.rmtree(folder)
    write_tables(tables, folder)
    return [content, html, *sorted(folder.iterdir())]
