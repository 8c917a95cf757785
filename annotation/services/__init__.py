"""Every change to annotators, seats and answers."""

from annotation.services.admission import confirm, doubt, enter, enter_by_link, note_signed, resume
from annotation.services.answers import record_answer, record_displayed, save_draft, skip_item
from annotation.services.endings import (
    complete,
    exclude,
    extend,
    include,
    mark_returned,
    reinstate,
    reject,
    release_expired,
    time_out,
    withdraw,
)
from annotation.services.steps import (
    answer_question,
    consent,
    decline,
    finish_instructions,
    finish_practice_item,
    leave_feedback,
    pass_checks,
    practise,
    record_demographics,
)

__all__ = [
    "answer_question",
    "complete",
    "confirm",
    "consent",
    "decline",
    "doubt",
    "enter",
    "enter_by_link",
    "exclude",
    "extend",
    "finish_instructions",
    "finish_practice_item",
    "include",
    "leave_feedback",
    "mark_returned",
    "note_signed",
    "pass_checks",
    "practise",
    "record_answer",
    "record_demographics",
    "record_displayed",
    "reinstate",
    "reject",
    "release_expired",
    "resume",
    "save_draft",
    "skip_item",
    "time_out",
    "withdraw",
]
