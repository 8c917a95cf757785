"""Writing a replication: replication.json, replication.html and its tables."""

import shutil
from pathlib import Path

from analysis.replication.replication import Replication
from analysis.replication.tables import all_tables
from analysis.report.files.json_file import to_json
from analysis.report.files.table_files import write_tables
from analysis.report.render import render_replication


def write_replication(found: Replication, out: Path) -> list[Path]:
    """Write all files to the folder `out`, creating it if necessary, and return the paths.

    The folder of tables is replaced.
    """
    tables = all_tables(found.result, found.charts)
    figures = [chart.figure for chart in found.charts]
    out.mkdir(parents=True, exist_ok=True)
    content, page, folder = out / "replication.json", out / "replication.html", out / "tables"
    content.write_text(to_json(found.result), encoding="utf-8")
    page.write_text(render_replication(found.result, tables, figures), encoding="utf-8")
    if folder.exists():
        shutil.rmtree(folder)
    write_tables(list(tables.values()), folder)
    return [content, page, *sorted(folder.iterdir())]
