"""The exports of a study as a page shows them."""

from dataclasses import dataclass

from django.urls import reverse

from analysis.models import Export
from studies.jobs.pages import Retry
from studies.models.studies import Study

_SHOWN = 50
WHAT_LABELS = {
    "all": "Everything, as one zip file: all tables, data card, metadata, licence and checksums",
    "annotations": "Annotations: one row per answer of an annotator",
    "judgments": "Judgments: one row per answer of a judge",
    "aggregates": "Aggregates: majorities, one row per item and rater",
    "versions": "Model versions: one row per run, version of the model and hour",
    "anchors": "Anchors: one row per answer to an item that a run asked again",
    "second-visits": "Second visits: one row per item that a person answered again",
    "notes": "Notes: one row per item with a note or tags of researchers",
    "annotators": "Annotators: one row per annotator",
    "items": "Items: in a format that you can import again",
    "wide": "Wide table: one row per item, one column per annotator, for R and SPSS",
    "reliability": "Reliability matrix: one row per annotator, one column per item",
    "mt-bench": "Pairwise comparisons: in the format of MT-bench",
    "argilla": "Records for Argilla",
    "label-studio": "Tasks for Label Studio",
    "study": "The study as files: settings, items, judges and plan, without answers",
}
FORMAT_LABELS = {
    "jsonl": "JSON Lines",
    "csv": "CSV",
    "parquet": "Parquet",
    "xlsx": "Excel (XLSX)",
    "json": "JSON",
    "toml": "TOML",
}
_UNITS = ("bytes", "KB", "MB", "GB", "TB")


@dataclass(frozen=True)
class Listed:
    """An export as a row of the list; `before` is the number of exports queued before it."""

    export: Export
    name: str
    before: int
    size: str
    retry: Retry


def listed_exports(study: Study) -> list[Listed]:
    """The newest exports of a study; the queue is that of the whole installation."""
    queue = list(
        Export.objects.filter(state__in=Export.OPEN)
        .order_by("created_at", "pk")
        .values_list("pk", flat=True)
    )
    return [
        Listed(
            export,
            name_of(export),
            queue.index(export.pk) if export.pk in queue else 0,
            size_text(export.size),
            Retry(
                reverse("exports:again", args=[study.slug, export.public_id]),
                about=f"to create {name_of(export)}",
            ),
        )
        for export in study.exports.select_related("requested_by")[:_SHOWN]
    ]


def name_of(export: Export) -> str:
    """The name of the export: its label on the form, up to the colon."""
    what = WHAT_LABELS[export.what].partition(":")[0].partition(",")[0]
    return f"{what}, {FORMAT_LABELS[export.format]}"


def size_text(size: int | None) -> str:
    """A file size in readable units; empty if it is unknown.

    >>> size_text(999), size_text(1_234_000)
    ('999 bytes', '1.2 MB')
    """
    if size is None:
        return ""
    amount, unit = float(size), 0
    while amount >= 999.5 and unit < len(_UNITS) - 1:
        amount, unit = amount / 1000, unit + 1
    return f"{amount:.1f} {_UNITS[unit]}" if unit else f"{size} {_UNITS[0]}"
