"""The protocol whose certainty is one of five named levels."""

import re
from dataclasses import replace

from judging.engine.interface import Verdict
from judging.protocols.protocol import JudgingProtocol
from judging.protocols.reading.text import readable
from judging.protocols.texts import languages, texts

# The levels of studies/prompts/bands.txt, each of which spans twenty numbers.
LEVELS = (
    "uncertain",
    "moderately_confident",
    "quite_confident",
    "confident",
    "highly_confident",
)
_SPAN = 20


class Levels(JudgingProtocol):
    """A level is stored by its name, and counts as the certainty in its middle: 10, 30, … 90."""

    name = "levels"
    description = "Levels: choice of a response and one of five named levels of certainty"
    family = "Scores and other certainties"
    asks_certainty = True
    has_form = False
    reads_words = True
    reply_tokens = 12

    def read(
        self,
        text: str,
        *,
        earlier: tuple[str, ...] = (),
        is_structured: bool = False,
        is_lenient: bool = False,
    ) -> Verdict:
        verdict = super().read(text, is_lenient=is_lenient)
        level = _level(text)
        if verdict.side is None or level is None:
            return replace(verdict, certainty=None)
        details = {**verdict.details, "level": LEVELS[level]}
        return replace(verdict, certainty=level * _SPAN + _SPAN // 2, details=details)


def _level(text: str) -> int | None:
    """The level in double brackets, in any of the languages; None if there are several."""
    inside = re.findall(r"\[\[([^\[\]]+)\]\]", readable(text).text)
    found = {
        place
        for language in languages()
        for place, name in enumerate(texts(Levels.name, language).levels)
        for words in inside
        if " ".join(words.split()).casefold() == name.casefold()
    }
    return found.pop() if len(found) == 1 else None
