"""Celery tasks; each calls one service."""

from annotation.prolific.api.transport import ProlificError
from annotation.prolific.sync.polling import follow_all, refresh
from annotation.prolific.sync.webhooks import handle
from annotation.services.endings import release_expired
from studies.jobs.shared_tasks import shared_task


@shared_task
def release_expired_seats() -> None:
    release_expired()


@shared_task
def follow_prolific() -> None:
    follow_all()


@shared_task
def refresh_prolific(study_id: int) -> None:
    refresh(study_id=study_id)


@shared_task(autoretry_for=(ProlificError,), retry_backoff=10, retry_backoff_max=600, max_retries=5)
def handle_prolific_event(event_id: int) -> None:
    handle(event_id=event_id)
