"""The comparison as plain text for a terminal."""

from collections.abc import Mapping
from typing import Any

from analysis.replication.tables import all_tables, verdict
from analysis.report.files.table_text import to_text


def as_text(result: Mapping[str, Any]) -> str:
    """Files, compared cells and arithmetic checks, one table each."""
    parts = [to_text(table) for table in all_tables(result, ()).values()]
    for entry in result["skipped"]:
        parts.append(f"Skipped {entry['file']}: {entry['why']}.\n".replace("..\n", ".\n"))
    return "\n".join([*parts, verdict(result["cells"])])
