"""What a worker does for this app.

Pages queue these tasks: what computes is imported when a task runs.
"""

from celery import shared_task

from analysis.exports.delivery import storage, write_job


@shared_task
def build_report(report_id: int) -> None:
    """Build a queued report; running it twice gives the same report."""
    from analysis.lifecycle import build_job

    build_job.build_queued(report_id=report_id)


@shared_task
def recheck_report(recheck_id: int) -> None:
    """Compute a report again; running it twice gives the same findings."""
    from analysis.lifecycle import verification

    verification.recheck_queued(recheck_id=recheck_id)


@shared_task
def write_export(export_id: int) -> None:
    """Write a queued export; running it twice writes it once."""
    write_job.write_queued(export_id=export_id)


@shared_task
def tidy_exports() -> None:
    """Delete expired exports and take up again those that a killed worker left behind."""
    for export_id in storage.tidy_exports():
        write_export.delay(export_id)
