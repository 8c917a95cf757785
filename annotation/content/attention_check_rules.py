"""The recruiting platform's rules for fair attention checks, applied before recruiting.

The platform does not allow researchers to reject participants for an attention check that a careful
annotator may fail: the instruction must be in the question, the check must look like any other
item, and a study of five minutes or more needs two of them.
"""

from collections.abc import Iterator

from annotation.content.comprehension import questions_of
from annotation.seats.assignment import checks_needed
from studies.models import Item, Study

# An attention check that is this much shorter than the items can be recognised by its length.
_SHORTEST_SHARE = 0.4


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
    if check.fixed_first:
        yield "its responses are not shuffled, so the right answer is always on the same side."
    if check.warnings:
        yield "it has a content warning, and annotators who skip it would count as failing."
    if usual is not None and _length(check) < _SHORTEST_SHARE * usual:
        yield "it is much shorter than the items, so it does not look like an item."


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
