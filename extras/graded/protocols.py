"""Protocols that ask a judge what people are asked next to their choice."""

from dataclasses import replace

from judging.engine.interface import Verdict
from judging.protocols.protocol import JudgingProtocol
from judging.protocols.usual import Score


class Score5(Score):
    name = "score-5"
    description = "Score 1–5: each response alone, in a request of its own"
    highest = 5


class Score7(Score):
    name = "score-7"
    description = "Score 1–7: each response alone, in a request of its own"
    highest = 7


class _Steps(Score):
    """Reads a strength, which is a number as a score is."""

    name = "steps"
    description = ""
    highest = 3


class StatedStrength(JudgingProtocol):
    """A choice with its strength: 1 slightly, 2 clearly, 3 strongly; `details` has the strength."""

    name = "strength"
    description = "Strength: choice of a response, and how strongly it is preferred, from 1 to 3"
    family = "Scores and other certainties"
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
        strength = _STEPS.score(text)
        if verdict.side is None or strength is None:
            return Verdict(None, None)
        return replace(verdict, details={**verdict.details, "strength": strength})


_STEPS = _Steps()
SCORE_5, SCORE_7, STRENGTH = Score5(), Score7(), StatedStrength()
