"""Worker tasks for reports about several studies; each is safe to repeat."""

from extras.several_studies import building
from extras.several_studies.models import StudiesReport
from studies.file_storage.storage import remove_drafts
from studies.jobs.retry import tidy_jobs
from studies.jobs.shared_tasks import shared_task


@shared_task
def build(report_id: int) -> None:
    building.build_queued(report_id=report_id)


@shared_task
def tidy() -> None:
    """Restart jobs of killed workers, and delete expired reports."""
    tidy_jobs(StudiesReport, build, folder_of=building.folder_of)
    remove_drafts("several")
