"""Tasks of this app for the worker."""

from celery import shared_task

from api import requests


@shared_task
def tidy_requests() -> None:
    requests.forget_old_requests()
