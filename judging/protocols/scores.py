"""Protocols that score each response alone: the higher score wins, and equal ones are a tie."""

import re
from collections.abc import Mapping
from typing import Any

from judging.engine.interface import Options, Side, Verdict
from judging.engine.messages import Messages, only_step
from judging.protocols.protocol import JudgingProtocol
from judging.protocols.reading.text import readable

# In double brackets, as the continuation of the prompt's open ones, or alone.
_BRACKETS = re.compile(r"\[\[\s*(\d{1,3})\s*\]\]")
_CONTINUED = re.compile(r"\A\W*(\d{1,3})\s*(?:\]\]|\Z)")


class Score(JudgingProtocol):
    """Two steps, each of which shows one response and no trace of the other."""

    family = "Scores and other certainties"
    offers_tie = True
    has_form = False
    reads_words = True
    steps = 2
    highest: int

    def conversation(self, messages: Messages, earlier: tuple[str, ...]) -> Messages:
        return only_step(messages, len(earlier))

    def options(self, earlier: tuple[str, ...]) -> Options:
        return {}

    def read(
        self,
        text: str,
        *,
        earlier: tuple[str, ...] = (),
        is_structured: bool = False,
        is_lenient: bool = False,
    ) -> Verdict:
        score = self.score(text)
        if score is None:
            return Verdict(None, None)
        if not earlier:
            return Verdict(None, None, continues=True)
        first = self.score(earlier[0])
        assert first is not None  # noqa: S101 - or the second step would not have been asked
        details: Mapping[str, Any] = {"scores": {"A": first, "B": score}}
        side: Side = "C" if first == score else "A" if first > score else "B"
        return Verdict(side, None, details)

    def score(self, text: str) -> int | None:
        """The score in a reply; None if there is none, or several that differ."""
        text = readable(text).text
        found = set(_BRACKETS.findall(text))
        if alone := _CONTINUED.match(text):
            found.add(alone[1])
        scores = {int(number) for number in found}
        score = scores.pop() if len(scores) == 1 else 0
        return score if 1 <= score <= self.highest else None


class Score10(Score):
    name = "score-10"
    description = "Score 1–10: each response alone, in a request of its own"
    highest = 10


class Score100(Score):
    name = "score-100"
    description = "Score 1–100: each response alone, in a request of its own"
    highest = 100
