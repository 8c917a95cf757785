"""Tasks of the schedule about the installation as a whole, and of the Server page."""

from celery import shared_task

from config.operations import backup_jobs, retention
from studies.jobs.retry import tidy_jobs
from studies.models import BackupJob


@shared_task
def carry_out_retention() -> None:
    retention.carry_out_retention()


@shared_task
def run_backup_job(job_id: int) -> None:
    backup_jobs.carry_out_job(job_id)


def tidy_backup_jobs() -> None:
    """Start the jobs of killed workers again."""
    tidy_jobs(BackupJob, run_backup_job)
