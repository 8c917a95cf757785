"""Storing an answer."""

import datetime as dt

from annotation.models import Annotation


def record_answer(
    *,
    annotator_id: int,
    assignment_id: int,
    choice: str,
    certainty: int | None = None,
    shown_at: dt.datetime | None = None,
    active_ms: int | None = None,
) -> Annotation:
    """Store an answer in content terms (`Assignment.as_content` translates a, b, tie).

    An identical repeat changes nothing, a different one is a revision. Commits before it returns.
    Raises `Assignment.DoesNotExist` (not this annotator's), `AlreadyEnded`, `InvalidAnswer`,
    `StudyNotOpen` (closed).
    """
    raise NotImplementedError
