"""Tasks of workers; each can safely run any number of times."""

from extras.advice import arguing
from extras.advice.models import ArgumentJob
from studies.jobs.retry import tidy_jobs
from studies.jobs.shared_tasks import shared_task


@shared_task
def write_arguments(job_id: int) -> None:
    arguing.run_job(job_id=job_id)


@shared_task
def tidy() -> None:
    """Restart jobs that a killed worker left behind; received arguments are not asked again."""
    tidy_jobs(ArgumentJob, write_arguments)
