"""What a worker does for this app."""

from celery import shared_task

from studies import importing


@shared_task
def import_file(job_id: int) -> None:
    """Import a queued file; running it twice imports it once."""
    importing.run_import(job_id=job_id)
