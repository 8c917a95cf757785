"""Tasks of workers; each can safely run any number of times."""

from extras.arena import asking
from extras.arena.models import Arena
from studies.jobs.retry import tidy_jobs
from studies.jobs.shared_tasks import shared_task


@shared_task
def write_pairs(arena_id: int) -> None:
    asking.run_arena(arena_id=arena_id)


@shared_task
def tidy() -> None:
    """Restart what a killed worker left behind, and fill the stock of every live arena."""
    tidy_jobs(Arena, write_pairs)
    for arena in Arena.objects.filter(is_live=True).select_related("study"):
        asking.wake(arena)
