"""Reading a value as the persona's own answer: A, first, tie, a response's text, a model's name."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from studies.importers.columns.mapping import UNREAD
from studies.texts.normalisation import fold

_NAMES = (
    "response option text answer assistant model output completion reply candidate choice message"
).split()
_SIDES = {
    **dict.fromkeys(("a", "1", "r1", "first", "1st", "one", "left"), "r1"),
    **dict.fromkeys(("b", "2", "r2", "second", "2nd", "two", "right"), "r2"),
    **dict.fromkeys(("c", "tie", "tied", "draw", "equal", "equally good", "same"), "tie"),
    **dict.fromkeys(("both", "neither", "no preference", "no clear difference"), "tie"),
    **dict.fromkeys(("tie bothbad", "tie both bad", "undecided"), "tie"),
}
_NOTHING = {"", "na", "n a", "nan", "null", "none", "unknown", "missing"}
_NAME = re.compile(rf"(?:{'|'.join(_NAMES)}) ?(\w+)|(\w+) (?:{'|'.join(_NAMES)})")


@dataclass(frozen=True)
class ValueCount:
    """A value of the own answer: how often it occurs, and what it means; None if unread."""

    value: str
    count: int
    answer: str | None


def read_answer(
    value: str, texts: tuple[str, str], names: tuple[str, str], answers: Mapping[str, str]
) -> str | None:
    """r1, r2, tie, "" for no answer, or None if the value cannot be read.

    `texts` are the responses, `names` the models that wrote them; `answers` has what other values
    mean, before the common rules.
    """
    for pair in (texts, names):
        # Texts that differ in capitals only are told apart by the exact one.
        for form in (str.strip, fold):
            both = [form(text) for text in pair]
            if value and form(value) in both and both[0] != both[1]:
                return "r1" if form(value) == both[0] else "r2"
    if (given := answers.get(value)) is not None:
        return None if given == UNREAD else given
    return meaning_of(value)


def meaning_of(value: str) -> str | None:
    """The meaning of a value by common rules; "" for no answer, None if there is no rule."""
    words = " ".join(re.sub(r"[^\w]+|_", " ", value.casefold()).split()).removeprefix("the ")
    if words in _NOTHING:
        return ""
    if words in _SIDES:
        return _SIDES[words]
    if found := _NAME.fullmatch(words):
        return _SIDES.get(found[1] or found[2])
    return None


def counted(values: Iterable[tuple[str, str | None]]) -> list[ValueCount]:
    """How often each value occurs, the most frequent first; unread values before the others."""
    found = Counter(values)
    ordered = sorted(found.items(), key=lambda entry: (entry[0][1] is not None, -entry[1]))
    return [ValueCount(value, count, answer) for (value, answer), count in ordered]
