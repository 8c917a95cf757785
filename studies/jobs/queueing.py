"""Sending work to the workers, including outages of the broker."""

import logging
from typing import Any

from celery import Task
from kombu.exceptions import OperationalError

logger = logging.getLogger(__name__)


def queue(task: Task, *arguments: Any, **route: Any) -> None:
    """Queue a task. During an outage of the broker nothing is queued.

    The schedule, or a user who sees on the page that the work waits, then starts it.
    """
    try:
        task.apply_async(arguments, **route)
    except OperationalError as error:
        logger.warning("%s%s was not queued: %s", task.name, arguments, error)
