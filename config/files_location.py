"""Refuses to start a process that keeps files elsewhere than the rest of the installation."""

import logging

from django.db import DatabaseError, connection

from studies.file_storage.location import note_location

logger = logging.getLogger(__name__)


def refusal() -> str:
    """Why this process must not start, or nothing.

    Without a database it may: `/healthz` says what is missing, and whether files are elsewhere once
    it answers.
    """
    try:
        return note_location()
    except DatabaseError as error:
        logger.warning("where files are kept could not be checked: %s", error)
        return ""
    finally:
        connection.close()
