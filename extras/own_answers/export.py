"""The answers of second visits as rows of an export."""

from collections.abc import Iterator
from typing import Any

from django.db.models import QuerySet

from analysis.exports.tables.catalogue import Disclosure, ExportTable
from analysis.exports.tables.columns import Column
from analysis.exports.tables.pseudonyms import exported_id, to_the_minute
from analysis.exports.tables.table_files import ExportTableFile
from annotation.models import Annotator
from extras.own_answers.models import RetestAnswer
from studies.models import Study

_CHUNK = 500
COLUMNS = (
    Column("study", "text", "Short name of the study."),
    Column("item_id", "text", "The item's id."),
    Column("rater_id", "text", "The person's exported name."),
    Column("position", "integer", "Position of the item in the second visit."),
    Column("shown_first", "text", "The response on side A: r1 or r2."),
    Column("choice", "text", "r1, r2 or tie: the answer in content terms."),
    Column("certainty", "integer", "1 to 100; empty on a tie or where not asked."),
    Column("answered_at", "time", "UTC, to the minute."),
    Column(
        "media_missing", "boolean", "Whether media did not load, and the person chose to answer."
    ),
)


def answered_again(study: Study) -> QuerySet[RetestAnswer]:
    """The answers of second visits to a study, also of people whom a researcher excluded."""
    found = RetestAnswer.objects.exclude(choice="").filter(
        visit__annotator__study=study, visit__annotator__state=Annotator.State.COMPLETED
    )
    return found.select_related("item", "visit__annotator").order_by(
        "visit__annotator__pseudonym", "position"
    )


def second_visit_table(study: Study, *, times: bool = True) -> Iterator[dict[str, Any]]:
    """One row for each answer of a second visit, by person and position.

    Of people who completed and did not withdraw, under their names in the other tables. Without
    `times` rows of two exports cannot be matched by them.
    """
    for row in answered_again(study).iterator(chunk_size=_CHUNK):
        yield {
            "study": study.slug,
            "item_id": row.item.key,
            "rater_id": exported_id(study.export_key, row.visit.annotator.pseudonym),
            "position": row.position,
            "shown_first": row.shown_first,
            "choice": row.choice,
            "certainty": row.certainty,
            "answered_at": to_the_minute(row.answered_at) if times else None,
            "media_missing": row.media_missing,
        }


def _table(study: Study, disclosure: Disclosure) -> ExportTableFile:
    return ExportTableFile(
        "second-visits", COLUMNS, lambda: second_visit_table(study, times=disclosure.times)
    )


SECOND_VISITS = ExportTable(
    "second-visits",
    ("jsonl", "csv", "parquet", "xlsx"),
    "Second visits: one row per item that a person answered again",
    _table,
)
