"""Comprehension check, practice, and the rules for fair attention checks.

The platform does not allow researchers to reject participants for an attention check that a careful
annotator may fail: the instruction must be in the question, the check must look like any other
item, and a study of five minutes or more needs two of them.
"""

import json
import random
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction
from django.utils import translation
from django.utils.translation import gettext as _

from annotation.content.texts import ready_checks_text
from annotation.errors import ComprehensionError
from annotation.models import (
    Annotator,
    AnnotatorEvent,
    ComprehensionAnswer,
    ComprehensionQuestion,
)
from annotation.seats.assignment import checks_needed
from studies.models import Item, Side, Study, Task
from studies.services.studies import check_seen, lock_study, record, seen_of
from studies.texts.toml_values import NotToml, toml_value

MOST = 10


@dataclass(frozen=True)
class QuestionText:
    """A question; `right` is an index of `options`; `pointer` is the sentence with the answer."""

    text: str
    options: tuple[str, ...]
    right: int
    pointer: str


def standard_questions(study: Study) -> list[QuestionText]:
    """Questions about the standard instructions, in the language of the study."""
    with translation.override(study.page_language):
        if study.asks_own_answers:
            return [_for_yourself(), *([] if study.allow_tie else [_back(study)]), _distressing()]
        return [_perspective(study), _too_little(study), _back(study), _no_traps(), _distressing()]


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
                _("I go back to the previous item"),
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
                _("I go back to the previous item"),
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


def _no_traps() -> QuestionText:
    return QuestionText(
        _("You cannot find anything in the profile that settles the question. Is this a trap?"),
        (
            _("Yes, I look for the hidden hint"),
            _("Yes, I choose what nobody expects"),
            _("No, guessing from the profile is the task"),
        ),
        2,
        _("Guessing from the profile is the task. There are no trick questions."),
    )


def _distressing() -> QuestionText:
    return QuestionText(
        _("An item distresses you. What do you do?"),
        (
            _("I answer it anyway, or I lose my pay"),
            _("I skip it under “Help”, which costs me nothing"),
            _("I close the page and lose my place"),
        ),
        1,
        _how_to_skip(),
    )


def _how_to_skip() -> str:
    """The page says this below any instructions."""
    return _(
        "If an item distresses you, skip it under “Help”. That costs you nothing, neither pay nor "
        "place."
    )


def read_questions(text: str) -> list[QuestionText]:
    """Read the questions of a TOML text; `ComprehensionError` says what is wrong and where."""
    try:
        rows = toml_value(text)
    except NotToml as error:
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

    Raises `ComprehensionError` once an annotator has answered, which fixes the questions, and
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


PRACTISED = "practised"
PRACTICE_READ = "practice read"


@dataclass(frozen=True)
class OpenQuestion:
    """The current comprehension question and the tries so far."""

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
    if not questions:
        return None
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
        """The answer to the current item, on which the page then shows feedback."""
        return self.answers[self.read] if len(self.answers) > self.read else None


def practice_of(annotator: Annotator) -> Practice:
    """The annotator's practice; two queries, or one if the study has no practice items."""
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


# An attention check that is this much shorter than the items stands out by its length.
_SHORTEST_SHARE = 0.4
_QUOTED = re.compile(r"“([^“”]+)”|„([^„“”]+)[“”]|\"([^\"]+)\"|«([^«»]+)»|»([^«»]+)«|‘([^‘’]+)’")
# In the languages of the pages.
_BEGINS, _ENDS = (
    re.compile(r"\b(begin|start|anfäng|empie[cz]|commenc|inizi|zaczyna|começ)|يبدأ|开头"),
    re.compile(r"\b(ends?\b|endet|aufhör|termin|finisce|eindigt|kończy|acaba\b)|ينتهي|结尾"),
)
# If an instruction says what not to choose, the response without the quoted words is right.
_FORBIDS = re.compile(
    r"\b(not|n[’']t|never)\s+(to\s+)?(choose|select|pick|take|mark|click)\b|\bwählen sie nicht\b"
    r"|\bno elija\b|\bne choisissez pas\b|\bnon scelga\b|\bkies niet\b|\bnie wybieraj\b"
    r"|\bnão escolha\b|لا تختر|不要选"
)
_SHOWN = 60


@dataclass(frozen=True)
class ReadyCheck:
    """A ready-made attention check; response 1 is the right one."""

    question: str
    instruction: str
    right: str
    wrong: str


def ready_checks(study: Study) -> list[ReadyCheck]:
    """Two attention checks in the study's language, about as long as its items."""
    usual = _usual_length(study) or 0
    return [_as_long_as(check, usual) for check in ready_checks_text(study)]


def _as_long_as(check: dict[str, Any], length: float) -> ReadyCheck:
    """The first sentences of both responses, until they are as long as an item."""
    for number in range(1, len(check["right"]) + 1):
        right, wrong = (check["between"].join(check[name][:number]) for name in ("right", "wrong"))
        if len(right) + len(wrong) >= length:
            break
    return ReadyCheck(check["question"], check["instruction"], right, wrong)


def unfair_checks(study: Study) -> list[str]:
    """One sentence for each rule that the study's attention checks break; two queries."""
    checks = list(Item.everything.filter(study=study, split=Item.Split.ATTENTION_CHECK))
    warnings = [*_too_few(study, len(checks)), *_unreadable_pointers(study)]
    if checks:
        usual = _usual_length(study)
        for check in sorted(checks, key=lambda item: item.key):
            warnings += [
                f"Attention check “{check.key}”: {fault}" for fault in _faults(check, usual)
            ]
    return warnings


def texts_of(check: Item) -> tuple[str, str]:
    """The response that counts as right, or a practice item's own answer, and the other one."""
    texts = [str(check.response(side).get("text") or "") for side in Side.values]
    key = check.check_answer or check.first_person
    return (texts[1], texts[0]) if key == Side.R2 else (texts[0], texts[1])


def _too_few(study: Study, there: int) -> Iterator[str]:
    needed = checks_needed(study)
    if 0 < there < needed:
        yield (
            f"A study of {study.minutes} minutes needs {needed} attention checks and has {there}. "
            "Until then, you cannot ask participants who fail one to return their place."
        )


def _faults(check: Item, usual: float | None) -> Iterator[str]:
    instruction = _plain(check.check_instruction)
    if not instruction:
        yield "it has no instruction, so annotators must guess the expected answer."
    elif instruction not in _plain(check.question):
        yield "the instruction is not in the question, where annotators look for it."
    yield from _keyed_wrong(check)
    if check.fixed_first:
        yield "its responses are not shuffled, so the right answer is always on the same side."
    if check.warnings:
        yield "it has a content warning, and annotators who skip it would fail it."
    if usual is not None and _length(check) < _SHORTEST_SHARE * usual:
        yield "it is much shorter than the items, so it does not look like an item."


def _keyed_wrong(check: Item) -> Iterator[str]:
    """Compare the words that the instruction quotes with the response that counts as right."""
    instruction = _plain(check.check_instruction)
    quotes = ["".join(groups) for groups in _QUOTED.findall(check.check_instruction)]
    right, wrong = texts_of(check)
    fits = [any(_fits(quote, text, instruction) for quote in quotes) for text in (right, wrong)]
    if _FORBIDS.search(instruction):
        fits.reverse()
    if not quotes or fits == [True, False]:
        return
    texts = f"Right by its key: “{_short(right)}” The other one: “{_short(wrong)}”"
    named = "”, “".join(quotes)
    if fits == [False, True]:
        yield (
            f"annotators who follow the instruction (“{named}”) choose the response that counts as "
            f"wrong, and fail. {texts} Change the right response."
        )
    elif fits == [True, True]:
        yield f"the words “{named}” of the instruction fit both responses. {texts}"
    else:
        yield f"the words “{named}” of the instruction are in neither response. {texts}"


def _fits(quote: str, text: str, instruction: str) -> bool:
    words, plain = _plain(quote).strip(" .,;:!?…"), _plain(text).strip(" .,;:!?…")
    if _BEGINS.search(instruction):
        return plain.startswith(words)
    return plain.endswith(words) if _ENDS.search(instruction) else words in plain


def _short(text: str) -> str:
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN].rstrip()}…"


def _unreadable_pointers(study: Study) -> Iterator[str]:
    """Questions that quote a sentence which the study's own instructions do not contain."""
    if not study.instructions.strip():
        return
    with translation.override(study.page_language):
        own = _plain(f"{study.instructions} {_how_to_skip()}")
    for number, question in enumerate(questions_of(study), start=1):
        if _plain(question.pointer) not in own:
            yield (
                f"Comprehension question {number} refers to “{question.pointer}”, which is not in "
                "the instructions."
            )


def _usual_length(study: Study) -> float | None:
    """The median number of letters of the first items; None if there are no items."""
    lengths = sorted(_length(item) for item in Item.objects.filter(study=study)[:100])
    return lengths[len(lengths) // 2] if lengths else None


def _length(item: Item) -> int:
    return sum(len(str(item.response(side).get("text") or "")) for side in ("r1", "r2"))


def _plain(text: str) -> str:
    """Text with spaces and case normalised, because readers do not notice these."""
    return " ".join(text.split()).casefold()
