"""The protocol that compares two responses by each criterion of a study, and as a whole."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from judging.engine.interface import SIDES, Side, Verdict
from judging.protocols.protocol import JudgingProtocol
from judging.protocols.reading.text import readable

_LETTER = re.compile(r"\[\[\s*([ABC])\s*\]\]")


@dataclass(frozen=True)
class Criteria(JudgingProtocol):
    """`criteria` are the key and the name of each, in the order of the prompt.

    A criterion can be a tie, the choice as a whole cannot.
    """

    criteria: tuple[tuple[str, str], ...] = ()

    name = "criteria"
    description = "Criteria: a choice by each criterion of the study, then as a whole"
    family = ""
    needs_criteria = True
    has_form = False
    reads_words = True
    reply_tokens = 60

    def of_study(self, criteria: Sequence[Mapping[str, str]]) -> "Criteria":
        return Criteria(tuple((each["key"], each["name"]) for each in criteria))

    def read(
        self,
        text: str,
        *,
        earlier: tuple[str, ...] = (),
        is_structured: bool = False,
        is_lenient: bool = False,
    ) -> Verdict:
        lines = self._lines(text)
        if lines is None:
            return Verdict(None, None)
        *each, (whole, position) = lines
        if whole == "C":
            return Verdict(None, None)
        keys = (key for key, _ in self.criteria)
        chosen = dict(zip(keys, (side for side, _ in each), strict=True))
        return Verdict(whole, None, {"criteria": chosen}, position=position)

    def _lines(self, text: str) -> list[tuple[Side, int]] | None:
        """The side of every criterion and of the whole, with their places in the text.

        None unless there is one letter for each, in order, in a line that names its criterion.
        """
        reply = readable(text)
        text = reply.text
        letters = list(_LETTER.finditer(text))
        if len(letters) != len(self.criteria) + 1:
            return None
        end = 0
        for (_, name), letter in zip(self.criteria, letters, strict=False):
            if name.casefold() not in text[end : letter.start()].casefold():
                return None
            end = letter.end()
        return [
            (next(s for s in SIDES if s == letter[1]), reply.places[letter.start(1)])
            for letter in letters
        ]
