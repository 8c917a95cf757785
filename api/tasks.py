"""Tasks of this app for the worker."""

from celery import shared_task

from api import requests, webhooks
from studies.jobs.queueing import queue


@shared_task
def tidy_requests() -> None:
    requests.forget_old_requests()
    webhooks.forget_old_deliveries()


@shared_task
def send_webhooks() -> None:
    """Store new events, and queue every delivery that is due."""
    webhooks.find_events()
    for delivery_id in webhooks.due():
        queue(send_delivery, delivery_id)


@shared_task
def send_delivery(delivery_id: int) -> None:
    """Attempt a delivery that is due; running this twice sends it once."""
    webhooks.attempt(delivery_id)
