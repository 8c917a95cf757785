"""Imports of uploaded files: small ones while somebody waits, large ones kept for a worker.

The items are stored in one transaction, so a worker that is killed leaves nothing behind but a
job that no longer moves.
"""

import dataclasses
import logging
import shutil
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, cast

from django.conf import settings
from django.contrib.auth.models import User
from django.core.files.uploadedfile import UploadedFile
from django.utils import timezone

from studies.errors import StudyError
from studies.importers.files.bundle import unpacked_size
from studies.importers.files.faults import STOPPED, Fault, Refused
from studies.importers.items.import_report import ImportReport, report_on
from studies.importers.items.import_source import read_paths
from studies.importers.items.storage import ImportResult, import_items
from studies.importers.sets import SETS
from studies.models import ROWS_READ, ImportJob

logger = logging.getLogger(__name__)

# A page reads files of up to this size, unpacked, while somebody waits: about 500 items.
INLINE_BYTES = 512 * 1024
# The files of a data set are compared with each other, which takes longer.
INLINE_SET_BYTES = 64 * 1024
_LONGEST_NAME = 200  # bytes; file systems take 255
_EVERY_SECONDS = 0.5
_WARNINGS_SHOWN = 10


@dataclass(frozen=True)
class Reading:
    """How uploaded files are to be read; the names are those of `read_paths`."""

    task: str
    format: str = "auto"
    limit: int | None = None
    options: Mapping[str, str] = field(default_factory=dict)
    seed: int | None = None


def folder_of(job: ImportJob) -> Path:
    return Path(settings.VAR_DIR) / "imports" / job.public_id


def is_quick(uploads: Sequence[UploadedFile], reading: Reading) -> bool:
    """Whether a page may read the files itself. Raises `Refused` for a zip beyond the limits."""
    most = INLINE_SET_BYTES if reading.format in SETS else INLINE_BYTES
    if sum(upload.size or 0 for upload in uploads) > most:
        return False
    sizes = (unpacked_size(str(u.name), cast(IO[bytes], u), u.size or 0) for u in uploads)
    return sum(sizes) <= most


def import_now(
    uploads: Sequence[UploadedFile],
    *,
    slug: str,
    reading: Reading,
    dry_run: bool,
    replace: int | None = None,
    user: User | None = None,
) -> tuple[ImportResult, ImportReport]:
    """Import uploaded files while somebody waits. Raises `Refused` or `StudyError`."""
    with TemporaryDirectory() as folder:
        files = read_paths(lay_out(uploads, Path(folder)), **asdict(reading))
    result = import_items(slug, files, dry_run=dry_run, replace=replace, user=user)
    return result, report_on(files)


def lay_out(uploads: Sequence[UploadedFile], folder: Path) -> list[Path]:
    """Uploaded files under their own names in a folder, in the order in which they came."""
    paths = []
    for upload in uploads:
        path = folder / _short(Path(str(upload.name)).name)
        with path.open("xb") as out:
            for chunk in upload.chunks():
                out.write(chunk)
        paths.append(path)
    return paths


def _short(name: str) -> str:
    """A name that a file system takes, with its ending."""
    stem, dot, ending = name.rpartition(".")
    while len(name.encode()) > _LONGEST_NAME and len(stem) > 1:
        stem = stem[:-1]
        name = f"{stem}{dot}{ending}"
    return name.encode()[:_LONGEST_NAME].decode(errors="ignore")


def keep_for_import(
    uploads: Sequence[UploadedFile],
    *,
    study_id: int,
    reading: Reading,
    dry_run: bool,
    replace: int | None = None,
    user: User | None = None,
) -> ImportJob:
    """Keep files for a worker; whoever calls this asks one to import them."""
    for lost in ImportJob.objects.filter(study_id=study_id, state=ImportJob.State.RUNNING):
        if lost.is_stalled:
            shutil.rmtree(folder_of(lost), ignore_errors=True)
    job = ImportJob(study_id=study_id, task=reading.task, dry_run=dry_run, user=user)
    folder = folder_of(job)
    folder.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    folder.mkdir(mode=0o700)
    names = [path.name for path in lay_out(uploads, folder)]
    job.file_name = ", ".join(names)[:255]
    job.reading = asdict(reading) | {"files": names, "replace": replace}
    job.save()
    return job


def run_import(*, job_id: int) -> ImportJob:
    """Import the files of a queued job. A job that somebody else has, or had, is left alone."""
    taken = ImportJob.objects.filter(pk=job_id, state=ImportJob.State.QUEUED).update(
        state=ImportJob.State.RUNNING, moved_at=timezone.now()
    )
    job = ImportJob.objects.select_related("study", "user").get(pk=job_id)
    if not taken:
        return job
    try:
        message, report = _import(job)
    except Refused as error:
        stopped = f" {STOPPED.strip()}" if error.is_cut else ""
        _end(job, ImportJob.State.REFUSED, f"The file has faults.{stopped}", error.faults)
    except (StudyError, OSError) as error:
        _end(job, ImportJob.State.REFUSED, str(error))
    except Exception as error:
        _end(
            job,
            ImportJob.State.REFUSED,
            f"The file could not be imported: {type(error).__name__}. Nothing was stored; the "
            "worker's log has the details.",
        )
        logger.exception("import %s failed", job.pk)
        raise
    else:
        job.report = asdict(report)
        _end(job, ImportJob.State.DONE, message)
    finally:
        shutil.rmtree(folder_of(job), ignore_errors=True)
    return job


def _import(job: ImportJob) -> tuple[str, ImportReport]:
    reading = dict(job.reading)
    paths = [folder_of(job) / name for name in reading.pop("files")]
    replace = reading.pop("replace", None)
    files = read_paths(paths, **reading, watch=_Noted(job))
    _moved(job, ROWS_READ)
    result = import_items(
        job.study.slug, files, dry_run=job.dry_run, replace=replace, user=job.user
    )
    report = report_on(files)
    if said := warnings_shown(result):
        report = dataclasses.replace(report, facts=(*report.facts, ("Warnings", " ".join(said))))
    return str(result), report


def warnings_shown(result: ImportResult) -> list[str]:
    """The first warnings of an import, each as a sentence with its line."""
    said = [f"Line {w.line}: {w.message}" for w in result.warnings[:_WARNINGS_SHOWN]]
    if (left := len(result.warnings) - len(said)) > 0:
        said.append(f"There are {left:,} more warnings.")
    return said


class _Noted:
    """Notes how far the reading is, twice a second at most."""

    def __init__(self, job: ImportJob) -> None:
        self.job, self.total, self.done = job, 0, 0
        self._noted = time.monotonic()

    def update(self, n: int = 1) -> None:
        self.done += n
        if time.monotonic() - self._noted >= _EVERY_SECONDS:
            self._noted = time.monotonic()
            _moved(self.job, min(ROWS_READ - 1, 100 * self.done // max(1, self.total)))


def _moved(job: ImportJob, percent: int) -> None:
    ImportJob.objects.filter(pk=job.pk).update(progress=percent, moved_at=timezone.now())


def _end(job: ImportJob, state: str, message: str, faults: tuple[Fault, ...] = ()) -> None:
    job.state, job.message, job.progress = state, message, 100
    job.faults = [asdict(fault) for fault in faults]
    job.moved_at = timezone.now()
    job.save(update_fields=["state", "message", "progress", "faults", "report", "moved_at"])
