"""Work that runs every minute."""

from extras.panels.forgetting import forget_withdrawn
from studies.jobs.shared_tasks import shared_task


@shared_task
def tidy() -> None:
    """Delete ids of people who withdrew."""
    forget_withdrawn()
