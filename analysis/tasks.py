"""What a worker does for this app."""

from celery import shared_task

from analysis import building


@shared_task
def build_report(report_id: int) -> None:
    """Build a queued report; running it twice gives the same report."""
    building.build_queued(report_id=report_id)
