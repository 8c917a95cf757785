"""Exceptions that end a job before it is done."""

from typing import Any


class JobFailed(Exception):
    """The work cannot be done; the message states why, and `fields` are stored with the job."""

    def __init__(self, message: str, **fields: Any) -> None:
        self.fields = fields
        super().__init__(message)


class JobStopped(Exception):
    """The job was deleted, or another worker has it, while this one was working on it."""
