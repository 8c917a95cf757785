"""Worker tasks for packs and batches; each is safe to repeat."""

from extras.packs import batches, jobs
from extras.packs.models import PackJob
from judging.worker.chunks import JUDGING_QUEUE
from studies.file_storage.storage import remove_drafts
from studies.jobs.queueing import queue
from studies.jobs.retry import tidy_jobs
from studies.jobs.shared_tasks import shared_task


@shared_task
def work_on_pack(job_id: int) -> None:
    """Write a pack, or read replies; running it twice does it once."""
    jobs.run_job(job_id=job_id)


@shared_task
def advance_batches(run_id: int) -> None:
    batches.advance_run(run_id=run_id)


def queue_batches(run_id: int) -> None:
    """Let a worker take the next step of a run that asks by batch."""
    queue(advance_batches, run_id, queue=JUDGING_QUEUE)


@shared_task
def tidy() -> None:
    """Restart jobs of killed workers, and delete packs that nobody downloads."""
    tidy_jobs(PackJob, work_on_pack, folder_of=jobs.folder_of)
    remove_drafts("packs")
