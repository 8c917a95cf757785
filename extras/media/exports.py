"""The frames of films that each judgment was made from."""

from collections.abc import Iterator
from typing import Any

from analysis.data.judgment_rows import answer_id_of
from analysis.errors import ExportError
from analysis.exports.catalogue import Disclosure, ExportTable
from analysis.exports.columns import Column, in_columns
from analysis.exports.table_files import ExportTableFile
from extras.media.models import MediaFile
from judging.models import Judgment
from judging.runs.request_conditions import FILMS
from studies.media import is_film
from studies.models import Study

_COLUMNS = (
    Column("answer_id", "text", "The same as in judgments."),
    Column("item_id", "text", "The item's id."),
    Column("judge", "text", "Name of the judge."),
    Column("run", "text", "Hash of the run's parameters."),
    Column("film", "text", "SHA-256 of the film, by which exports name its file."),
    Column("number", "integer", "Which frame of the film, from 1, in the order of time."),
    Column("second", "number", "The second of the film at which people see it.", True),
    Column("frame", "text", "SHA-256 of the frame, by which exports name its file."),
)


def frame_rows(study: Study) -> Iterator[dict[str, Any]]:
    """One row for each judgment, film and frame, by judge and item."""
    films = MediaFile.objects.filter(study=study, type__startswith="video/")
    frames = dict(films.values_list("sha256", "frames"))
    judgments = (
        Judgment.objects.filter(run__study=study, run__parameters__has_key=FILMS)
        .exclude(state__in=Judgment.OPEN)
        .select_related("run__judge", "item")
        .order_by("run__judge__name", "run_id", "item__key", "shown_first", "sample")
    )
    for judgment in judgments.iterator(chunk_size=2_000):
        run, item = judgment.run, judgment.item
        of_judgment = {
            "answer_id": answer_id_of(judgment, run, item.key),
            "item_id": item.key,
            "judge": run.judge.name,
            "run": run.key,
        }
        for film in (medium["sha256"] for medium in item.all_media if is_film(medium["type"])):
            for number, frame in enumerate(frames[film], 1):
                yield of_judgment | {
                    "film": film,
                    "number": number,
                    "second": frame["second"],
                    "frame": frame["sha256"],
                }


def _table(study: Study, disclosure: Disclosure) -> ExportTableFile:
    if not MediaFile.objects.filter(study=study, type__startswith="video/").exists():
        raise ExportError(f"No item of “{study.slug}” shows a film, so judges got no frames.")
    return ExportTableFile("frames", _COLUMNS, lambda: in_columns(frame_rows(study), _COLUMNS))


FRAMES = ExportTable(
    "frames",
    ("jsonl", "csv", "parquet", "xlsx"),
    "Frames of films: one row per judgment and frame that the judge got",
    _table,
    counts=("judgments",),
)
