"""Imports of files too large for a page to wait for: kept, read by a worker, stored whole.

The items are stored in one transaction, so a worker that is killed leaves nothing behind but a
job that no longer moves.
"""

import logging
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

from django.conf import settings
from django.contrib.auth.models import User
from django.utils import timezone

from studies.errors import StudyError
from studies.importers.bundle import open_bytes
from studies.importers.faults import Fault, Refused
from studies.importers.read import read_bundle
from studies.importers.store import import_items
from studies.models import ROWS_READ, ImportJob

logger = logging.getLogger(__name__)

# A page reads a file of up to this size while somebody waits: about a thousand items.
INLINE_BYTES = 1024 * 1024
# As many faults as anybody mends before sending the file again.
KEPT_FAULTS = 5_000
_EVERY_SECONDS = 0.5


def file_of(job: ImportJob) -> Path:
    return Path(settings.VAR_DIR) / "imports" / job.public_id


def keep_for_import(
    *, study_id: int, name: str, data: bytes, task: str, dry_run: bool, user: User | None = None
) -> ImportJob:
    """Keep a file for a worker; whoever calls this asks one to import it."""
    job = ImportJob(study_id=study_id, file_name=name[:255], task=task, dry_run=dry_run, user=user)
    for lost in ImportJob.objects.filter(study_id=study_id, state=ImportJob.State.RUNNING):
        if lost.is_stalled:
            file_of(lost).unlink(missing_ok=True)
    path = file_of(job)
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    path.write_bytes(data)
    job.save()
    return job


def run_import(*, job_id: int) -> ImportJob:
    """Import the file of a queued job. A job that somebody else has, or had, is left alone."""
    taken = ImportJob.objects.filter(pk=job_id, state=ImportJob.State.QUEUED).update(
        state=ImportJob.State.RUNNING, moved_at=timezone.now()
    )
    job = ImportJob.objects.select_related("study", "user").get(pk=job_id)
    if not taken:
        return job
    try:
        message = _import(job)
    except Refused as error:
        _end(job, ImportJob.State.REFUSED, "The file has faults.", error.faults)
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
        _end(job, ImportJob.State.DONE, message)
    finally:
        file_of(job).unlink(missing_ok=True)
    return job


def _import(job: ImportJob) -> str:
    bundle = open_bytes(job.file_name, file_of(job).read_bytes())
    rows = bundle.items.data.count(b"\n") + 1
    read = read_bundle(bundle, task=job.task, on_row=_counter(job, rows))
    _moved(job, ROWS_READ)
    result = import_items(job.study.slug, [read], dry_run=job.dry_run, user=job.user)
    return str(result)


def _counter(job: ImportJob, rows: int) -> Callable[[], None]:
    """Notes how far the reading is, twice a second at most."""
    done, noted = 0, time.monotonic()

    def step() -> None:
        nonlocal done, noted
        done += 1
        if time.monotonic() - noted >= _EVERY_SECONDS:
            noted = time.monotonic()
            _moved(job, min(ROWS_READ - 1, 100 * done // rows))

    return step


def _moved(job: ImportJob, percent: int) -> None:
    ImportJob.objects.filter(pk=job.pk).update(progress=percent, moved_at=timezone.now())


def _end(job: ImportJob, state: str, message: str, faults: tuple[Fault, ...] = ()) -> None:
    job.state, job.message, job.progress = state, message, 100
    job.faults = [asdict(fault) for fault in faults[:KEPT_FAULTS]]
    job.moved_at = timezone.now()
    job.save(update_fields=["state", "message", "progress", "faults", "moved_at"])
