"""Tasks of workers; each can safely run any number of times."""

from extras.personas import drafting
from extras.personas.models import DraftingJob
from studies.jobs.retry import tidy_jobs
from studies.jobs.shared_tasks import shared_task


@shared_task
def write_profile_drafts(job_id: int) -> None:
    drafting.run_job(job_id=job_id)


@shared_task
def tidy() -> None:
    """Restart jobs that a killed worker left behind; received texts are not asked for again."""
    tidy_jobs(DraftingJob, write_profile_drafts)
