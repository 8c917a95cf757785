"""Rules that a program can apply: a measured feature, of which a response has more than the other.

Words are counted in English only; in other languages such a feature favours neither response.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

from judging.engine.messages import declines_to_help

NEITHER = -1
_WORD = re.compile(r"\w+(?:[’']\w+)?")
_SENTENCE_END = re.compile(r"[.!?。！？]+(?:\s|$)")
_FORMATTED = re.compile(
    r"^\s*(?:[-*•]|\d+[.)]|#{1,6})\s+|\*\*[^*\n]+\*\*|^\s*\|.*\|\s*$", re.MULTILINE
)
_SHORT = 4  # letters; shorter words say little about a persona or a question


def _any(*words: str) -> re.Pattern[str]:
    return re.compile(rf"\b(?:{'|'.join(words)})\b", re.IGNORECASE)


_HEDGES = _any(
    *("may", "might", "could", "perhaps", "maybe", "possibly", "probably", "generally", "often"),
    *("usually", "sometimes", "it depends", "depends on", "tends? to", "seems?", "likely"),
)
_EXAMPLES = _any("for example", "for instance", "such as", r"e\.g\.")
_POLITE = _any("please", "thanks?", "thank you", "sorry", "apologi[sz]e", "glad", "happy to")
_YOU, _I = _any("you", "your", "yours", "yourself"), _any("I", "I'm", "I’m", "my", "me")


@dataclass(frozen=True)
class MeasuredText:
    """A response, with the words of its item's persona and question."""

    text: str
    persona: frozenset[str]
    question: frozenset[str]

    @cached_property
    def words(self) -> list[str]:
        return _WORD.findall(self.text)

    @cached_property
    def kinds_of_words(self) -> frozenset[str]:
        return long_words(self.text)

    def count(self, pattern: re.Pattern[str]) -> int:
        return len(pattern.findall(self.text))


def long_words(text: str) -> frozenset[str]:
    """The different words of a text in lower case, without short ones."""
    return frozenset(word.lower() for word in _WORD.findall(text) if len(word) >= _SHORT)


@dataclass(frozen=True)
class MeasuredFeature:
    """A rule that favours the response with more of something.

    `margin` is how much more that must be, as a share of the larger amount.
    """

    name: str
    rule: str
    amount: Callable[[MeasuredText], float]
    margin: float = 0.0

    def favours(self, one: MeasuredText, two: MeasuredText) -> int:
        """0 or 1 for the first or second response, -1 for neither."""
        first, second = self.amount(one), self.amount(two)
        if abs(first - second) <= self.margin * max(first, second):
            return NEITHER
        return int(second > first)


def _per_sentence(text: MeasuredText) -> float:
    return len(text.words) / max(1, len(_SENTENCE_END.findall(text.text)))


def _letters_per_word(text: MeasuredText) -> float:
    return sum(map(len, text.words)) / max(1, len(text.words))


MEASURED = (
    MeasuredFeature("longer", "The response that is longer", lambda t: len(t.text), 0.1),
    MeasuredFeature(
        "formatted",
        "The response with more lists, headings, tables or bold words",
        lambda t: t.count(_FORMATTED),
    ),
    MeasuredFeature(
        "paragraphs", "The response with more paragraphs", lambda t: t.text.count("\n\n")
    ),
    MeasuredFeature("sentences", "The response with longer sentences", _per_sentence, 0.2),
    MeasuredFeature("words", "The response with longer words", _letters_per_word, 0.05),
    MeasuredFeature("hedges", "The response that hedges more", lambda t: t.count(_HEDGES)),
    MeasuredFeature(
        "questions",
        "The response that asks more questions",
        lambda t: sum(map(t.text.count, "?？؟")),
    ),
    MeasuredFeature(
        "exclamations",
        "The response with more exclamation marks",
        lambda t: sum(map(t.text.count, "!！")),
    ),
    MeasuredFeature(
        "persona",
        "The response with more words from the persona’s profile",
        lambda t: len(t.kinds_of_words & t.persona),
    ),
    MeasuredFeature(
        "question",
        "The response with more words from the question",
        lambda t: len(t.kinds_of_words & t.question),
    ),
    MeasuredFeature(
        "numbers", "The response with more numbers", lambda t: sum(w.isdecimal() for w in t.words)
    ),
    MeasuredFeature("examples", "The response with more examples", lambda t: t.count(_EXAMPLES)),
    MeasuredFeature("you", "The response that says “you” more often", lambda t: t.count(_YOU)),
    MeasuredFeature("i", "The response that says “I” more often", lambda t: t.count(_I)),
    MeasuredFeature(
        "polite", "The response with more thanks, apologies and offers", lambda t: t.count(_POLITE)
    ),
    MeasuredFeature(
        "declines", "The response that declines to help", lambda t: declines_to_help(t.text)
    ),
)
