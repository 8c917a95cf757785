"""Tasks of this app for the worker."""

from api import requests
from studies.jobs.shared_tasks import shared_task


@shared_task
def tidy_requests() -> None:
    requests.forget_old_requests()
