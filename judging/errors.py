"""The errors of judging. Pure: backends raise them too.

JudgingError
├── BadJudge          the judge cannot be stored, or cannot be asked, with these settings
├── BadRun            the run cannot be started or changed as requested
├── BadPlan           the plan of a campaign cannot be read or started
├── FieldError        one field is at fault; each interface names the field in its own way
│   ├── InvalidValue      a value that no judge and no run can have
│   └── ConflictingValue  a value that this judge or this run cannot have
└── DatabaseAway      the database did not answer for too long
"""

from collections.abc import Callable
from dataclasses import dataclass


class JudgingError(Exception):
    """Base of this app's errors."""


class BadJudge(JudgingError):
    """The judge cannot be stored, or cannot be asked, with these settings."""


class BadRun(JudgingError):
    """The run cannot be started or changed as requested."""


class BadPlan(JudgingError):
    """The plan of a campaign cannot be read or started; nothing of it was started."""


@dataclass(frozen=True)
class FailureReason:
    """Why a value is refused: a code for programs, and a sentence for readers.

    In the sentence `{field}` is the name of the field at fault, `{names[x]}` the name of another
    field, and `{x}` a value of the error. A command fills in its options, a page its labels.
    """

    code: str
    sentence: str


OUT_OF_RANGE = FailureReason("out_of_range", "{field} must be from {low} to {high}, not {value}.")
TOO_SMALL = FailureReason("too_small", "{field} must be at least {low}, not {value}.")
NOT_ALLOWED = FailureReason("not_allowed", "{field}: {problem}")


class FieldError(JudgingError):
    """A field is at fault. Each interface inserts its own names of fields into the message."""

    def __init__(self, field: str, reason: FailureReason, **values: object) -> None:
        self.field, self.reason, self.values = field, reason, values
        super().__init__(self.worded(_plain_name))

    @property
    def code(self) -> str:
        return self.reason.code

    def worded(self, name_of: Callable[[str], str]) -> str:
        """The sentence, with `name_of` applied to every field in it."""
        return self.reason.sentence.format(
            field=name_of(self.field), names=_Names(name_of), **self.values
        )


class InvalidValue(FieldError, BadJudge, BadRun):
    """A value that no judge and no run can have."""


class ConflictingValue(FieldError, BadJudge, BadRun, BadPlan):
    """A value that this judge or this run cannot have."""


class DatabaseAway(JudgingError):
    """The database did not answer for longer than a command waits for it."""


class _Names:
    """Names of fields, as `str.format` looks them up."""

    def __init__(self, name_of: Callable[[str], str]) -> None:
        self._name_of = name_of

    def __getitem__(self, field: str) -> str:
        return self._name_of(field)


def _plain_name(field: str) -> str:
    return field.replace("_", " ")
