"""Handing work to the workers, also while the broker is away."""

import logging
from typing import Any

from celery import Task
from kombu.exceptions import OperationalError

logger = logging.getLogger(__name__)


def queue(task: Task, *arguments: Any, **route: Any) -> None:
    """Queue a task. While the broker is away nothing is queued.

    The schedule, or a user who reads on the page that the work waits, then starts it.
    """
    try:
        task.apply_async(arguments, **route)
    except OperationalError as error:
        logger.warning("%s%s was not queued: %s", task.name, arguments, error)
