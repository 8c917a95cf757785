"""Tasks of packs for the workers; each can safely run any number of times."""

from celery import shared_task

from extras.packs import jobs
from extras.packs.models import PackJob
from studies.file_storage.drafts import remove_drafts
from studies.jobs.retry import tidy_jobs


@shared_task
def work_on_pack(job_id: int) -> None:
    """Write a pack, or read replies; running it twice does it once."""
    jobs.run_job(job_id=job_id)


@shared_task
def tidy() -> None:
    """Restart jobs that a killed worker left behind, and delete packs that nobody downloads."""
    tidy_jobs(PackJob, work_on_pack, folder_of=jobs.folder_of)
    remove_drafts("packs")
