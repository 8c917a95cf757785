"""The pages between the instructions and the items, and an annotator's progress in them."""

import random
from dataclasses import dataclass

from annotation.models import (
    Annotator,
    AnnotatorEvent,
    ComprehensionAnswer,
    ComprehensionQuestion,
)
from studies.models import Item, Side

PRACTISED = "practised"
PRACTICE_READ = "practice read"


@dataclass(frozen=True)
class OpenQuestion:
    """The current comprehension question and the tries made at it."""

    question: ComprehensionQuestion
    number: int
    total: int
    tries: int

    @property
    def try_number(self) -> int:
        return self.tries + 1


def open_question(annotator: Annotator) -> OpenQuestion | None:
    """The first question without a correct answer; None when there are no (more) questions."""
    questions = list(ComprehensionQuestion.objects.filter(study=annotator.study_id))
    tries = dict.fromkeys((question.pk for question in questions), 0)
    right = set()
    for answer in ComprehensionAnswer.objects.filter(annotator=annotator):
        tries[answer.question_id] = max(tries.get(answer.question_id, 0), answer.number)
        if answer.is_right:
            right.add(answer.question_id)
    for number, question in enumerate(questions, start=1):
        if question.pk not in right:
            return OpenQuestion(question, number, len(questions), tries[question.pk])
    return None


@dataclass(frozen=True)
class Practice:
    """A study's practice items; `read` of them are finished, `answers` are the answers given."""

    items: tuple[Item, ...]
    answers: tuple[dict[str, object], ...]
    read: int

    @property
    def is_open(self) -> bool:
        return self.read < len(self.items)

    @property
    def item(self) -> Item:
        """The current practice item."""
        return self.items[self.read]

    @property
    def answer(self) -> dict[str, object] | None:
        """The answer to the current item; the page then shows the feedback on it."""
        return self.answers[self.read] if len(self.answers) > self.read else None


def practice_of(annotator: Annotator) -> Practice:
    """The annotator's practice; two queries, or one where the study has no practice items."""
    items = tuple(
        Item.everything.filter(study=annotator.study_id, split=Item.Split.PRACTICE)
        .select_related("persona")
        .order_by("key")
    )
    if not items:
        return Practice((), (), 0)
    events = list(
        AnnotatorEvent.objects.filter(
            annotator=annotator, event__in=[PRACTISED, PRACTICE_READ]
        ).values_list("event", "detail")
    )
    return Practice(
        items=items,
        answers=tuple(detail for event, detail in events if event == PRACTISED),
        read=sum(event == PRACTICE_READ for event, _ in events),
    )


def practice_order(annotator: Annotator, item: Item) -> str:
    """The response of a practice item that this annotator sees first."""
    fixed = item.fixed_first or ("" if item.shuffle_sides else Side.R1)
    if fixed:
        return fixed
    return random.Random(f"{annotator.seed} {item.key}").choice([Side.R1, Side.R2])  # noqa: S311
