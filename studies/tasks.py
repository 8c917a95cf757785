"""Tasks of this app for the worker."""

import smtplib

from studies.file_storage.storage import remove_drafts
from studies.importers import uploads
from studies.importers.uploads import tidy_uploads
from studies.jobs.retry import tidy_jobs
from studies.jobs.shared_tasks import shared_task
from studies.models import ImportJob
from studies.pages.accounts import password_reset


@shared_task
def import_file(job_id: int) -> None:
    """Import a queued file; running it twice imports it once."""
    uploads.run_import(job_id=job_id)


@shared_task
def tidy_imports() -> None:
    """Restart imports of killed workers, and delete files that nobody imports."""
    tidy_jobs(ImportJob, import_file, folder_of=uploads.folder_of)
    tidy_uploads()
    remove_drafts("imports")


@shared_task(
    autoretry_for=(OSError, smtplib.SMTPException),
    retry_backoff=10,
    retry_backoff_max=300,
    max_retries=5,
)
def send_reset_link(email: str) -> None:
    password_reset.send_link(email=email)
