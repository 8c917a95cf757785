"""Worker tasks; each is safe to repeat. What loads the statistics is imported late."""

from analysis.models import Report
from extras.report_readers.models import Recheck, StudiesReport
from studies.file_storage.storage import remove_drafts
from studies.jobs.retry import tidy_jobs
from studies.jobs.shared_tasks import shared_task


@shared_task
def build(report_id: int) -> None:
    """Build a report about several studies."""
    from extras.report_readers.several.building import build_queued

    build_queued(report_id=report_id)


@shared_task
def recheck_report(recheck_id: int) -> None:
    """Compute a report again."""
    from extras.report_readers.recomputed.rechecks import recheck_queued

    recheck_queued(recheck_id=recheck_id)


@shared_task
def tidy() -> None:
    """Restart jobs of killed workers, and delete expired reports and rechecks of deleted ones."""
    from extras.report_readers.several.building import folder_of

    tidy_jobs(StudiesReport, build, folder_of=folder_of)
    remove_drafts("several")
    tidy_jobs(Recheck, recheck_report)
    Recheck.objects.filter(report__state=Report.State.GONE).delete()
