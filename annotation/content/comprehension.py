"""The questions of the comprehension check: ready-made ones for each task, or a study's own."""

import json
import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction
from django.utils import translation
from django.utils.translation import gettext as _

from annotation.errors import ComprehensionError
from annotation.models import ComprehensionAnswer, ComprehensionQuestion
from studies.models import Study, Task
from studies.services.studies import check_seen, lock_study, record, seen_of

MOST = 10


@dataclass(frozen=True)
class QuestionText:
    """A question; `right` counts `options` from 0; `pointer` is the sentence with the answer."""

    text: str
    options: tuple[str, ...]
    right: int
    pointer: str


def standard_questions(study: Study) -> list[QuestionText]:
    """Questions on the standard instructions, in the language of the study."""
    with translation.override(study.language):
        if study.asks_own_answers:
            return [_for_yourself(), *([] if study.allow_tie else [_back(study)])]
        return [_perspective(study), _too_little(study), _back(study)]


def _for_yourself() -> QuestionText:
    return QuestionText(
        _("Which of the two texts do you choose?"),
        (
            _("The one that I like better myself"),
            _("The one that most people would choose"),
            _("The one that is written better"),
        ),
        0,
        _("Answer for yourself. No answer is right or wrong."),
    )


def _perspective(study: Study) -> QuestionText:
    wrote = Task(study.task) in (Task.AUTHORSHIP, Task.QUESTION_ANSWER_AUTHORSHIP)
    right = (
        _("The one that the person in the profile wrote, as far as I can tell")
        if wrote
        else _("The one that fits the person in the profile")
    )
    return QuestionText(
        _("Which of the two texts do you choose?"),
        (_("The one that I like better myself"), right, _("The one that is written better")),
        1,
        _("Answer as the person would, not as you would yourself."),
    )


def _too_little(study: Study) -> QuestionText:
    text = _("The profile says nothing that bears on the question. What do you do?")
    if not study.ask_certainty:
        return QuestionText(
            text,
            (_("I choose my best guess"), _("I leave the item open"), _("I stop the study")),
            0,
            _("Guessing from the profile is the task. There are no trick questions."),
        )
    return QuestionText(
        text,
        (
            _("I choose my best guess and give a high number, to be on the safe side"),
            _("I leave the item open"),
            _("I choose my best guess and give a low number"),
        ),
        2,
        _(
            "Then give a number from 1 to 100 for how certain you are. "
            "A low number is a good answer when the profile says little."
        ),
    )


def _back(study: Study) -> QuestionText:
    if study.offers_either:
        return QuestionText(
            _("You can imagine the person choosing either text. What do you do?"),
            (
                _("I choose “Either could be right”"),
                _("I always choose the first one"),
                _("I go back to the item before"),
            ),
            0,
            _(
                "If you can imagine the person choosing either text, choose “Either could be "
                "right”."
            ),
        )
    if study.allow_tie:
        return QuestionText(
            _("Both texts fit the person equally well. What do you do?"),
            (
                _("I choose “No clear difference”"),
                _("I always choose the first one"),
                _("I go back to the item before"),
            ),
            0,
            _("If both texts fit equally well, choose “No clear difference”."),
        )
    return QuestionText(
        _("You want to change an answer that you gave. Can you?"),
        (_("Yes, until I finish"), _("No, never"), _("Yes, also after I have finished")),
        0,
        _("You can go back and change an answer until you finish."),
    )


def read_questions(text: str) -> list[QuestionText]:
    """Read the questions of a TOML text; `ComprehensionError` says what is wrong and where."""
    try:
        rows = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ComprehensionError(f"The text is not valid TOML: {error}.") from error
    if unknown := set(rows) - {"question"}:
        raise ComprehensionError(f"“{sorted(unknown)[0]}” is not allowed. Use only [[question]].")
    questions = rows.get("question", [])
    if not isinstance(questions, list) or not all(isinstance(row, dict) for row in questions):
        raise ComprehensionError("Start every question with [[question]], in double brackets.")
    if len(questions) > MOST:
        raise ComprehensionError(f"{len(questions)} questions are too many. Use at most {MOST}.")
    return [_question(number, row) for number, row in enumerate(questions, start=1)]


def _question(number: int, row: dict[str, Any]) -> QuestionText:
    for key, longest in (("text", 300), ("right", 300), ("pointer", 500)):
        value = row.get(key)
        if not isinstance(value, str) or not value.strip():
            raise ComprehensionError(f"Question {number} needs {key}, a text in quotes.")
        if len(value) > longest:
            raise ComprehensionError(f"Question {number}: {key} is longer than {longest} letters.")
    options = row.get("options")
    if (
        not isinstance(options, list)
        or not 2 <= len(options) <= MOST
        or not all(isinstance(option, str) and option.strip() for option in options)
        or len(set(options)) < len(options)
    ):
        raise ComprehensionError(
            f"Question {number} needs options: a list of 2 to {MOST} different texts."
        )
    if row["right"] not in options:
        raise ComprehensionError(f"Question {number}: right is not one of its options.")
    return QuestionText(row["text"], tuple(options), options.index(row["right"]), row["pointer"])


def as_toml(questions: Iterable[QuestionText]) -> str:
    """The questions as a TOML text that `read_questions` reads back unchanged."""
    # A JSON string that does not escape letters is also a TOML string.
    return "\n".join(
        "[[question]]\n"
        f"text = {_quote(question.text)}\n"
        f"options = [{', '.join(map(_quote, question.options))}]\n"
        f"right = {_quote(question.options[question.right])}\n"
        f"pointer = {_quote(question.pointer)}\n"
        for question in questions
    )


def _quote(text: str) -> str:
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def questions_of(study: Study) -> list[QuestionText]:
    return [
        QuestionText(row.text, tuple(row.options), row.right, row.pointer)
        for row in ComprehensionQuestion.objects.filter(study=study)
    ]


def seen_text(questions: Iterable[QuestionText]) -> str:
    """The hash of the questions that a form shows."""
    return seen_of(as_toml(questions))


@transaction.atomic
def set_questions(
    *,
    study_id: int,
    questions: Sequence[QuestionText],
    seen: str | None = None,
    user: User | None = None,
) -> list[QuestionText]:
    """Set or remove a study's comprehension check; repeating the same questions changes nothing.

    Raises `ComprehensionError` once an annotator has answered: the questions are fixed then, and
    `StaleVersion` if the questions are not those whose `seen_text` a form showed.
    """
    study = lock_study(study_id)
    check_seen(study, seen, seen_text(questions_of(study)), what="the comprehension questions")
    if questions_of(study) == list(questions):
        return list(questions)
    if ComprehensionAnswer.objects.filter(question__study=study).exists():
        raise ComprehensionError(
            "Annotators have answered these questions, so they cannot change. To use other "
            "questions, create a new study."
        )
    ComprehensionQuestion.objects.filter(study=study).delete()
    ComprehensionQuestion.objects.bulk_create(
        ComprehensionQuestion(
            study=study,
            text=question.text,
            options=list(question.options),
            right=question.right,
            pointer=question.pointer,
            position=position,
        )
        for position, question in enumerate(questions, start=1)
    )
    record(study, "comprehension check set", user=user, questions=len(questions))
    return list(questions)
