"""Worker tasks of verification; each is safe to repeat."""

from analysis.models import Report
from extras.verification.models import Recheck
from studies.jobs.retry import tidy_jobs
from studies.jobs.shared_tasks import shared_task


@shared_task
def recheck_report(recheck_id: int) -> None:
    """Recompute a report. Imported late, because it loads the statistics."""
    from extras.verification.rechecks import recheck_queued

    recheck_queued(recheck_id=recheck_id)


@shared_task
def tidy() -> None:
    """Restart rechecks of killed workers, and delete those of deleted reports."""
    tidy_jobs(Recheck, recheck_report)
    Recheck.objects.filter(report__state=Report.State.GONE).delete()
