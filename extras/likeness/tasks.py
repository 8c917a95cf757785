"""Tasks for the worker: the errors of annotators compared with those of judges."""

from celery import shared_task

from extras.likeness.models import ErrorComparison
from studies.jobs.retry import tidy_jobs


@shared_task
def compare_errors(comparison_id: int) -> None:
    """Compare the errors of annotators and judges; safe to run twice."""
    from extras.likeness.annotators import compare_queued

    compare_queued(comparison_id=comparison_id)


@shared_task
def tidy() -> None:
    """Restart jobs that a killed worker left behind."""
    tidy_jobs(ErrorComparison, compare_errors)
