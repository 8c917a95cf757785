"""Every change to annotators, seats and answers."""

from annotation.services.admission.confirmation import confirm, doubt, note_signed
from annotation.services.admission.entry import enter, enter_by_link, resume
from annotation.services.answers import record_answer, record_displayed
from annotation.services.comprehension import (
    answer_question,
    finish_practice_item,
    pass_checks,
    practise,
)
from annotation.services.drafts import save_draft
from annotation.services.endings import (
    complete,
    mark_returned,
    reinstate,
    reject,
    time_out,
    withdraw,
)
from annotation.services.exclusion import exclude, include
from annotation.services.expiry import release_expired
from annotation.services.extension import extend
from annotation.services.skips import skip_item
from annotation.services.steps import (
    consent,
    decline,
    finish_instructions,
    leave_feedback,
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
