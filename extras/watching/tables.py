"""The table of looks at watched sets, which the API exports too."""

from collections.abc import Iterator
from typing import Any

from analysis.exports.catalogue import Disclosure, ExportTable
from analysis.exports.columns import Column
from analysis.exports.table_files import ExportTableFile
from extras.watching.models import Look
from studies.models import Study

COLUMNS = (
    Column("study", "text", "Short name of the study."),
    Column("watched_set", "text", "The set."),
    Column("judge", "text", "The judge that is watched."),
    Column("run", "text", "Its run, by the hash of its parameters."),
    Column("items", "integer", "Frozen items."),
    Column("frozen_at", "time", "When the set was frozen."),
    Column("verdict", "text", "What all looks show together; empty before the first."),
    Column("look", "integer", "Number of the look."),
    Column("is_baseline", "boolean", "Whether it is part of the baseline."),
    Column("state", "text", "`asking`, `done` or `failed`."),
    Column("message", "text", "Why it failed, or what it left out."),
    Column("asked_at", "time", "When it began."),
)


def _rows(study: Study) -> Iterator[dict[str, Any]]:
    looks = Look.objects.filter(watched__study=study).order_by("watched", "number")
    for look in looks.select_related("watched__run__judge").defer("numbers"):
        watched = look.watched
        yield {
            "study": study.slug,
            "watched_set": watched.public_id,
            "judge": watched.run.judge.name,
            "run": watched.run.key,
            "items": watched.items,
            "frozen_at": watched.created_at,
            "verdict": (watched.result or {}).get("verdict", ""),
            "look": look.number,
            "is_baseline": look.is_baseline,
            "state": look.state,
            "message": look.message,
            "asked_at": look.created_at,
        }


def _table(study: Study, disclosure: Disclosure) -> ExportTableFile:
    return ExportTableFile("watched_sets", COLUMNS, lambda: _rows(study))


WATCHED_SETS = ExportTable(
    "watched_sets",
    ("jsonl", "csv", "xlsx"),
    "Watched sets: one row per look",
    _table,
)
