"""Backups that an administrator makes and restores on the Server page; a worker does the work."""

from pathlib import Path

from django.conf import settings
from django.core.cache import cache
from django.db import transaction

from extras.administration import backups
from extras.administration.backups import BackupError
from extras.administration.models import BackupJob
from judging.models import JudgeRun
from studies.jobs.models import Job
from studies.jobs.retry import same_job
from studies.jobs.runner import JobProgress, carry_out
from studies.models import Backup, Study
from studies.statements import clock

_MOST_NAMED = 3


def request_backup(*, user_name: str) -> BackupJob:
    """Queue a new backup; a second press finds the first one's job."""
    name = f"{clock.now():%Y-%m-%d-%H%M%S}.zip"
    chosen = settings.BACKUP_DIR  # type: ignore[misc]
    folder = Path(chosen or Path(settings.VAR_DIR) / "backups")
    return _request(BackupJob.Action.MAKE, folder / name, user_name)


def request_restore(backup: Backup, *, user_name: str) -> BackupJob:
    """Queue the restoring of a backup. Raises `BackupError` where something is under way."""
    if reason := obstacle():
        raise BackupError(reason)
    return _request(BackupJob.Action.RESTORE, Path(backup.file), user_name)


@transaction.atomic
def _request(action: BackupJob.Action, file: Path, user_name: str) -> BackupJob:
    from extras.administration.tasks import run_backup_job

    waiting = BackupJob.objects.select_for_update(no_key=True).filter(state__in=Job.OPEN)
    if (same := same_job(waiting, run_backup_job)) is not None:
        if same.action != action:
            raise BackupError("Another backup or restore is under way. Wait until it is done.")
        return same
    job = BackupJob.objects.create(action=action, file=str(file), user_name=user_name)
    run_backup_job.delay_on_commit(job.pk)  # type: ignore[attr-defined]
    return job


def obstacle() -> str:
    """What must end before everything is replaced; empty if nothing is under way."""
    running = Study.objects.filter(state=Study.State.OPEN).values_list("title", flat=True)
    if titles := list(running.order_by("title")):
        named = ", ".join(f"“{title}”" for title in titles[:_MOST_NAMED])
        more = f" and {len(titles) - _MOST_NAMED:,} more" if len(titles) > _MOST_NAMED else ""
        return f"People may be answering. Pause or close these studies first: {named}{more}."
    if JudgeRun.objects.filter(state__in=JudgeRun.ACTIVE).exists():
        return "Judges are being asked. Pause their runs first."
    return ""


def carry_out_job(job_id: int) -> None:
    """Make or restore a queued backup; a killed worker's job is started again by another."""
    carry_out(BackupJob, job_id, _work, expected=(BackupError,))


def _work(job: BackupJob, progress: JobProgress) -> dict[str, str]:
    path = Path(job.file)
    if job.action == BackupJob.Action.MAKE:
        return {"message": _make(path, progress)}
    if reason := obstacle():
        raise BackupError(reason)
    progress(10, "Every checksum is compared, then everything is replaced.")
    with backups.opened(path) as archive:
        if archive.manifest.key_fingerprint != backups.key_fingerprint():
            raise BackupError(
                "The backup was made with a different SECRET_KEY. Restore it by the command, "
                "which says what to do about the key."
            )
    done = backups.restore_backup(path, replace=True)
    cache.clear()
    return {
        "message": f"The installation is as it was at {done.taken_at}: {done.rows:,} rows, "
        f"{done.files:,} files. Everybody must sign in again."
    }


def _make(path: Path, progress: JobProgress) -> str:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    if path.is_file():  # a killed worker had finished it
        return "The backup was written."
    progress(10, "Rows and files are written.")
    contents = backups.make_backup(path)
    return f"{contents.rows:,} rows and {contents.files:,} files were written."
