"""Waiting for a database that restarts."""

import time
from collections.abc import Callable
from typing import TypeVar

from django.db import InterfaceError, OperationalError, connection

from judging.errors import DatabaseAway
from judging.worker import runtime
from judging.worker.records.writer import RETRY_SECONDS

T = TypeVar("T")
_PAUSE = 1.0


def outlive_restart(step: Callable[[], T]) -> T:
    """The result of `step`, which is repeated while the database does not answer.

    Raises `DatabaseAway` after a minute, and immediately if the process is ending.
    """
    deadline = time.monotonic() + RETRY_SECONDS
    while True:
        try:
            return step()
        except (OperationalError, InterfaceError) as error:
            connection.close()
            if runtime.is_stopping() or time.monotonic() > deadline:
                raise DatabaseAway(
                    f"The database does not answer: {str(error).strip()}. All answers so far are "
                    "stored. Run the same command again to continue."
                ) from error
            runtime.sleep(_PAUSE)
