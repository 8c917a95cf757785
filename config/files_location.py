"""Refuses to start a process that does not fit the rest of the installation."""

import logging
from collections.abc import Callable

from django.db import DatabaseError, connection

from config.health import newer_database
from studies.file_storage.storage import note_location
from studies.statements.clock import wrong_clock

logger = logging.getLogger(__name__)


def refusal() -> str:
    """Why a process that keeps files must not start, or nothing."""
    return misfit() or _asked(note_location)


def misfit() -> str:
    """Why any process must not start: its tables or its clock are not those of the database."""
    return _asked(lambda: newer_database() or wrong_clock())


def _asked(find: Callable[[], str]) -> str:
    """What is found wrong.

    Without a database a process may start: `/healthz` says what is missing, and whether files are
    elsewhere once it answers.
    """
    try:
        return find()
    except DatabaseError as error:
        logger.warning("whether this process fits the database could not be checked: %s", error)
        return ""
    finally:
        connection.close()
