"""A database that restarts ends nothing that somebody waits for."""

import time
from collections.abc import Callable
from typing import TypeVar

from django.db import InterfaceError, OperationalError, connection

from judging.errors import DatabaseAway
from judging.worker import runtime
from judging.worker.writer import RETRY_SECONDS

T = TypeVar("T")
_PAUSE = 1.0


def outlive_restart(step: Callable[[], T]) -> T:
    """The result of `step`, which is tried again while the database does not answer.

    Raises `DatabaseAway` after a minute, and at once where the process is to end.
    """
    deadline = time.monotonic() + RETRY_SECONDS
    while True:
        try:
            return step()
        except (OperationalError, InterfaceError) as error:
            connection.close()
            if runtime.is_stopping() or time.monotonic() > deadline:
                raise DatabaseAway(
                    f"The database does not answer: {str(error).strip()}. What was answered is "
                    "stored; the same command goes on."
                ) from error
            runtime.sleep(_PAUSE)
