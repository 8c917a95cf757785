"""The steps before the items. Repeating a step that is done changes nothing."""

from annotation.models import Annotator


def consent(*, annotator_id: int, version: str) -> Annotator:
    """Store that the person agreed to the text with this version hash (texts.consent_text)."""
    raise NotImplementedError


def decline(*, annotator_id: int) -> Annotator:
    """End without consent."""
    raise NotImplementedError


def record_demographics(*, annotator_id: int, demographics: dict[str, str]) -> Annotator:
    """Store the answers of “About you” and reserve a quota place; state screened or quota_full.

    Raises `InvalidAnswer` when a question of the study is missing or its value unknown.
    """
    raise NotImplementedError


def finish_instructions(*, annotator_id: int) -> Annotator:
    """Leave the instructions and get seats; the state becomes annotating.

    Raises `StudyNotOpen` when the study is paused.
    """
    raise NotImplementedError


def leave_feedback(*, annotator_id: int, text: str) -> None:
    """Store what the person wants to say; the last text wins."""
    raise NotImplementedError
