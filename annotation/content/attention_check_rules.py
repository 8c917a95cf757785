"""The recruiting platform's rules for fair attention checks, applied before recruiting.

The platform does not allow researchers to reject participants for an attention check that a careful
annotator may fail: the instruction must be in the question, the check must look like any other
item, and a study of five minutes or more needs two of them.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from annotation.content.comprehension import questions_of
from annotation.content.text_templates import ready_checks_text
from annotation.seats.assignment import checks_needed
from studies.models import Item, Side, Study

# An attention check that is this much shorter than the items can be recognised by its length.
_SHORTEST_SHARE = 0.4
_QUOTED = re.compile(r"“([^“”]+)”|„([^„“”]+)[“”]|\"([^\"]+)\"|«([^«»]+)»|»([^«»]+)«|‘([^‘’]+)’")
_BEGINS, _ENDS = (
    re.compile(r"\b(begin|start|beginn|anfäng)"),
    re.compile(r"\b(ends?\b|endet|aufhör)"),
)
# An instruction that tells what not to choose keys the response without the quoted words.
_FORBIDS = re.compile(
    r"\b(not|n[’']t|never)\s+(to\s+)?(choose|select|pick|take|mark|click)\b|\bwählen sie nicht\b"
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
        right, wrong = (" ".join(check[name][:number]) for name in ("right", "wrong"))
        if len(right) + len(wrong) >= length:
            break
    return ReadyCheck(check["question"], check["instruction"], right, wrong)


def unfair_checks(study: Study) -> list[str]:
    """One sentence for every rule that the attention checks of a study break; two queries."""
    found = list(Item.everything.filter(study=study, split=Item.Split.ATTENTION_CHECK))
    warnings = [*_too_few(study, len(found)), *_unreadable_pointers(study)]
    if found:
        usual = _usual_length(study)
        for check in sorted(found, key=lambda item: item.key):
            warnings += [
                f"Attention check “{check.key}”: {fault}" for fault in _faults(check, usual)
            ]
    return warnings


def texts_of(check: Item) -> tuple[str, str]:
    """The response that counts as right, and the other one."""
    texts = [str(check.response(side).get("text") or "") for side in Side.values]
    return (texts[1], texts[0]) if check.check_answer == Side.R2 else (texts[0], texts[1])


def _too_few(study: Study, there: int) -> Iterator[str]:
    needed = checks_needed(study)
    if 0 < there < needed:
        yield (
            f"A study of {study.minutes} minutes needs {needed} attention checks and has {there}. "
            "Until then, failing one is no ground to ask a participant to return their place."
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
        yield "it has a content warning, and annotators who skip it would count as failing."
    if usual is not None and _length(check) < _SHORTEST_SHARE * usual:
        yield "it is much shorter than the items, so it does not look like an item."


def _keyed_wrong(check: Item) -> Iterator[str]:
    """Compare the words that the instruction quotes with the response that counts as right."""
    instruction = _plain(check.check_instruction)
    quotes = ["".join(found) for found in _QUOTED.findall(check.check_instruction)]
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
            f"who follows the instruction (“{named}”) chooses the other response than the one that "
            f"counts as right, and fails. {texts} Change the right response."
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
    """Questions that refer to a sentence that the study's own instructions do not contain."""
    own = _plain(study.instructions)
    if not own:
        return
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
    """Text without differences in spaces and case, which readers do not notice."""
    return " ".join(text.split()).casefold()
