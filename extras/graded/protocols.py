"""Protocols that ask a judge what people are asked next to their choice."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from judging.engine.interface import Verdict
from judging.protocols.parsing import read_object
from judging.protocols.protocol import JudgingProtocol, NextToReference
from judging.protocols.statements import readable
from judging.protocols.usual import YES_OR_NO, Score, says


class Score5(Score):
    name = "score-5"
    description = "Score 1–5: each response alone, in a request of its own"
    highest = 5


class Score7(Score):
    name = "score-7"
    description = "Score 1–7: each response alone, in a request of its own"
    highest = 7


class RightWrong(NextToReference, Score):
    """Whether each response is right, next to the item's reference answer: 1 wrong, 2 right."""

    name = "right-wrong"
    description = "Right or wrong: each response alone, next to the item’s reference answer"
    highest = 2
    takes_labels = False  # a number is no answer to this question

    def form(self) -> dict[str, Mapping[str, Any]]:
        return {"answer": {"type": "string", "enum": ["Yes", "No"]}}

    def score_in_form(self, text: str) -> int | None:
        return {"Yes": 2, "No": 1}.get(str(read_object(text).get("answer")))

    def score(self, text: str) -> int | None:
        """2 for a yes, 1 for a no; None if the reply has neither, or both."""
        if (score := self.score_in_form(text)) is not None:
            return score
        answers: set[Any] = {says(word) for word in YES_OR_NO.finditer(readable(text).text)}
        return {"yes": 2, "no": 1}[answers.pop()] if len(answers) == 1 else None


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
SCORE_5, SCORE_7, RIGHT_WRONG, STRENGTH = Score5(), Score7(), RightWrong(), StatedStrength()
