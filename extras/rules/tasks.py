"""Tasks of workers; each can safely run any number of times."""

from extras.rules.models import RuleSearch
from studies.jobs.retry import tidy_jobs
from studies.jobs.shared_tasks import shared_task


@shared_task
def search_rules(search_id: int) -> None:
    from extras.rules.searching import run_search  # Here, because it loads statistics.

    run_search(search_id=search_id)


@shared_task
def tidy() -> None:
    """Restart searches that a killed worker left behind; replies are not asked for again."""
    tidy_jobs(RuleSearch, search_rules)
