"""The exported table of people by panel, under the names of the other tables and without ids."""

from collections.abc import Iterator
from typing import Any

from analysis.exports.catalogue import Disclosure, ExportTable
from analysis.exports.columns import Column
from analysis.exports.rows import exported_id
from analysis.exports.table_files import ExportTableFile
from annotation.seats.flow import ending_of
from extras.panels.models import PanelPerson
from extras.panels.returns import ENDING_KIND
from studies.models import Study

COLUMNS = (
    Column("study", "text", "Short name of the study."),
    Column("rater_id", "text", "The person's exported name."),
    Column("panel", "text", "Short name of the panel that sent them."),
    Column("preset", "text", "Kind of the panel, such as mturk."),
    Column(
        "ending",
        "text",
        "complete, screened_out, over_quota, failed or withdrew; empty while they work.",
    ),
    Column("is_signed", "boolean", "Whether the panel signed their link."),
    Column("in_payment_file", "boolean", "Whether they are in a payment file."),
)


def people_rows(study: Study) -> Iterator[dict[str, Any]]:
    """One row for each person of a panel, by their exported name."""
    people = PanelPerson.objects.filter(panel__study=study).select_related("annotator", "panel")
    rows = [
        {
            "study": study.slug,
            "rater_id": exported_id(study.export_key, person.annotator.pseudonym),
            "panel": person.panel.name,
            "preset": person.panel.preset,
            "ending": ENDING_KIND[ending] if (ending := ending_of(person.annotator)) else None,
            "is_signed": person.is_signed,
            "in_payment_file": person.payment_file_id is not None,
        }
        for person in people
    ]
    # The order in which people came must not show.
    yield from sorted(rows, key=lambda row: str(row["rater_id"]))


def _table(study: Study, disclosure: Disclosure) -> ExportTableFile:
    return ExportTableFile("panels", COLUMNS, lambda: people_rows(study))


PEOPLE = ExportTable(
    "panels",
    ("csv", "jsonl", "parquet", "xlsx"),
    "Panels: one row per person whom a panel sent",
    _table,
)
