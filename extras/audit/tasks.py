"""Tasks of workers; each can safely run any number of times."""

from extras.audit.models import Audit
from studies.jobs.retry import tidy_jobs
from studies.jobs.shared_tasks import shared_task


@shared_task
def audit_items(audit_id: int) -> None:
    """Audit the items of a study."""
    from extras.audit import job

    job.audit_queued(audit_id=audit_id)


@shared_task
def tidy() -> None:
    """Restart audits that a killed worker left behind."""
    tidy_jobs(Audit, audit_items)
