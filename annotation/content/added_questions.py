"""Questions that extras ask next to the choice, on the page of an item.

Their answers are stored in the transaction of the choice, as a part of each of its revisions. Every
item page and every answer asks whether the study has such questions, so an entry keeps that in
memory.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

from annotation.models import Annotation, Assignment
from studies.extra import Kind
from studies.models import Study


class AddedForm(Protocol):
    """An extra's questions at one item: a form next to that of the choice, made for each request.

    `name` is that of the questions. `template` shows it as `added`, in an element with
    `data-added`: the script keeps drafts of the fields inside, and a key chooses the option with
    this `data-key` of the group that has the focus.
    """

    name: ClassVar[str]
    template: ClassVar[str]

    def fill(self, entered: Mapping[str, Any]) -> None:
        """Take what somebody entered or had entered before, by the names of the fields."""

    def check(self, choice: str) -> Mapping[str, str]:
        """The faults of what was filled in, by the id of the control that each is about.

        `choice` is a, b or tie as displayed; empty if it is missing.
        """

    def entered(self, assignment: Assignment) -> Mapping[str, str]:
        """The values of the fields: those of the draft, otherwise of the answer."""

    def draft(self, assignment: Assignment) -> Mapping[str, str]:
        """What a draft keeps of what was filled in, right or wrong, in content terms."""

    def is_stored(self, answer: Annotation) -> bool:
        """Whether the answer already has exactly what was filled in."""

    def store(self, answer: Annotation) -> None:
        """Store what was filled in as a part of the answer's current revision."""


@dataclass(frozen=True)
class AddedQuestions:
    """The questions of an extra: a new form for a study that asks them, otherwise None."""

    name: str
    form_for: Callable[[Study], AddedForm | None]


MORE: Kind[AddedQuestions] = Kind("steps", "questions")


def added_forms(study: Study) -> Sequence[AddedForm]:
    """New forms for everything that extras ask in a study."""
    return [form for question in MORE.of(study) if (form := question.form_for(study)) is not None]


def added_at(assignment: Assignment, *, after_advice: bool) -> Sequence[AddedForm]:
    """The forms at an item: none if a whole set is ranked, or before its advice is shown."""
    is_first_step = assignment.item.has_advice and not after_advice
    if assignment.option_order or is_first_step:
        return []
    return added_forms(assignment.annotator.study)
