"""The ends of a person's part; each releases what it held and leaves a log row and a code."""

from annotation.models import Annotator


def complete(*, annotator_id: int) -> Annotator:
    """End with every item answered; idempotent. Raises `Unfinished`, `AlreadyEnded`."""
    raise NotImplementedError


def withdraw(*, annotator_id: int) -> Annotator:
    """End on the person's wish, also after completion: their answers leave the analysis."""
    raise NotImplementedError


def mark_returned(*, annotator_id: int) -> Annotator:
    """The platform says that the person gave the place back."""
    raise NotImplementedError


def time_out(*, annotator_id: int) -> Annotator:
    """The time limit is over; answers are kept, seats come back."""
    raise NotImplementedError


def reject(*, annotator_id: int) -> Annotator:
    """The platform says that a researcher rejected the submission."""
    raise NotImplementedError
