"""A worker's part of an export: written aside, packed, and only then called ready."""

import logging
import shutil
import tempfile
import threading
import zipfile
from datetime import timedelta
from pathlib import Path
from types import TracebackType
from typing import Any

from django.conf import settings
from django.db import DatabaseError, connection
from django.utils import timezone

from analysis.errors import AnalysisError
from analysis.exports.delivery.storage import IDENTIFIED_LASTS, claim, export_dir, remove_files
from analysis.exports.delivery.study_export import expected_rows, export_study
from analysis.exports.errors import ExportStopped
from analysis.exports.tables.table_files import sha256_of
from analysis.models import Export

logger = logging.getLogger(__name__)

_EVERY_SECONDS = 1.0
# What comes after the last row: checksums, packing.
_ROWS_PERCENT = 90


class SignsOfLife:
    """Tells every second how far an export is, and learns whether it is still wanted.

    It has a thread, and so a connection, of its own: on SQLite the connection that is reading
    rows cannot write once anybody else has written.
    """

    def __init__(self, export_id: int, total: int) -> None:
        self.export_id = export_id
        self.total = total
        self.done = 0
        self.is_unwanted = False
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def step(self) -> None:
        self.done += 1
        if self.is_unwanted:
            raise ExportStopped("The export was deleted while it was being written.")

    def __enter__(self) -> "SignsOfLife":
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._ended.set()
        self._thread.join()

    def _run(self) -> None:
        try:
            while not self._ended.wait(_EVERY_SECONDS):
                self._tell()
        finally:
            connection.close()

    def _tell(self) -> None:
        share = min(1.0, self.done / self.total) if self.total else 1.0
        sentence = (
            f"{self.done:,} of about {self.total:,} rows." if share < 1 else "Packing the files."
        )
        try:
            running = Export.objects.filter(pk=self.export_id, state=Export.State.RUNNING).update(
                progress=round(_ROWS_PERCENT * share), message=sentence, moved_at=timezone.now()
            )
        except DatabaseError:
            # The next second may find it again; the writing itself is not in danger.
            logger.warning("export %s: progress could not be stored", self.export_id)
        else:
            self.is_unwanted = not running


def write_queued(*, export_id: int) -> None:
    """Write a queued export; what another worker writes, or nobody wants, is left alone.

    What goes wrong is stored with the export as a sentence, and raised only where it is a fault
    of the program.
    """
    export = claim(export_id)
    if export is None:
        return
    try:
        with SignsOfLife(export_id, expected_rows(export.study, export.what)) as signs:
            written = _write(export, signs)
    except ExportStopped:
        logger.info("export %s was deleted while it was being written", export_id)
    except (AnalysisError, OSError) as error:
        _fail(export, str(error))
    except Exception as error:
        _fail(
            export,
            f"The export could not be written: {type(error).__name__}. The worker's log has the "
            "details; nothing was left behind.",
        )
        raise
    else:
        _finish(export, written)


def _write(export: Export, signs: SignsOfLife) -> dict[str, Any]:
    """Write and pack beside the place of the export, and put it there when it is whole."""
    place = export_dir(export.public_id)
    place.parent.mkdir(parents=True, exist_ok=True)
    part = Path(tempfile.mkdtemp(prefix=".", dir=place.parent))
    try:
        name = f"{export.study.slug}-{export.what}-{timezone.now():%Y-%m-%d}"
        out = part / (f"export-{name}" if export.what == "all" else f"{name}.{export.format}")
        rows = export_study(
            export.study,
            what=export.what,
            format=export.format,
            out=out,
            licence=export.licence,
            identified=export.identified,
            free_text=export.free_text,
            fresh_pseudonyms=export.fresh_pseudonyms,
            user=export.requested_by,
            on_row=signs.step,
            export=export.public_id,
        )
        file = _packed(out) if out.is_dir() else out
        found = {
            "rows": rows,
            "filename": file.name,
            "size": file.stat().st_size,
            "sha256": sha256_of(file),
        }
        shutil.rmtree(place, ignore_errors=True)
        part.rename(place)
    finally:
        shutil.rmtree(part, ignore_errors=True)
    return found


def _packed(folder: Path) -> Path:
    """The folder as one zip beside it, in place of the folder."""
    archive = folder.with_name(f"{folder.name}.zip")
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED, compresslevel=6) as bundle:
        for path in sorted(folder.rglob("*")):
            if path.is_file():
                bundle.write(path, path.relative_to(folder.parent).as_posix())
    shutil.rmtree(folder)
    return archive


def _finish(export: Export, written: dict[str, Any]) -> None:
    now = timezone.now()
    lasts = IDENTIFIED_LASTS if export.names_people else timedelta(days=settings.EXPORT_DAYS)
    ready = Export.objects.filter(pk=export.pk, state=Export.State.RUNNING).update(
        state=Export.State.DONE, progress=100, message="Ready.", moved_at=now, finished_at=now,
        expires_at=now + lasts, **written,
    )  # fmt: skip
    if not ready:  # It was deleted in the last moment.
        remove_files(export.public_id)


def _fail(export: Export, sentence: str) -> None:
    Export.objects.filter(pk=export.pk, state=Export.State.RUNNING).update(
        state=Export.State.FAILED, message=sentence, finished_at=timezone.now()
    )
