"""Tasks of workers; each can safely run any number of times."""

from extras.improving.models import Improvement
from studies.jobs.retry import tidy_jobs
from studies.jobs.shared_tasks import shared_task


@shared_task
def improve(improvement_id: int) -> None:
    from extras.improving.improving import run_improvement  # Here, because it loads statistics.

    run_improvement(improvement_id=improvement_id)


@shared_task
def tidy() -> None:
    """Restart improvements that a killed worker left behind; replies are not asked for again."""
    tidy_jobs(Improvement, improve)
