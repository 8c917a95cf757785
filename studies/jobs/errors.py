"""How a job ends before it is done."""

from typing import Any


class JobFailed(Exception):
    """The work cannot be done; the message says why, and `fields` are stored with the job."""

    def __init__(self, message: str, **fields: Any) -> None:
        self.fields = fields
        super().__init__(message)


class JobStopped(Exception):
    """Somebody deleted the job, or another worker has it, while this one was working on it."""
