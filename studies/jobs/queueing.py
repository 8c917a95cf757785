"""Sending work to the workers, including outages of the broker."""

import logging
import sys
from typing import Any

from celery import Task
from kombu.exceptions import KombuError

logger = logging.getLogger(__name__)


def failures() -> tuple[type[Exception], ...]:
    """What queueing may raise: errors of a broker's server, of its folder, and of the library."""
    errors: tuple[type[Exception], ...] = (KombuError, OSError)
    if "redis" in sys.modules:  # otherwise the broker is a folder
        from redis import RedisError

        errors += (RedisError,)
    return errors


_problem = ""


def problem() -> str:
    """Why the last task of this process was not queued; empty if it was, or if there was none."""
    return _problem


def queue(task: Task, *arguments: Any, **route: Any) -> None:
    """Queue a task. Nothing is queued while the broker is down or full.

    The schedule starts it later, or a user who sees on the page that it waits.
    """
    global _problem
    try:
        task.apply_async(arguments, **route)
        _problem = ""
    except failures() as error:
        _problem = str(error)
        logger.warning("%s%s was not queued: %s", task.name, arguments, error)
