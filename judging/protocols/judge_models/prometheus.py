"""Prometheus 2: feedback, then `[RESULT]` and the better response, or a grade from 1 to 5."""

import re

from judging.engine.interface import Side, Verdict
from judging.protocols.judge_models.format import FAMILY, JudgeModel
from judging.protocols.reading.mentions import readable
from judging.protocols.scores import Score

_RESULT = re.compile(r"\[RESULT\]\s*(?:Response\s+)?([AB])(?![\w'’])[\s.*]*\Z")
_GRADE = re.compile(r"\[RESULT\]\s*\(?([1-5])\)?(?![\w/,:]|\.\d)[\s.*]*\Z")
_EVERY_RESULT = re.compile(r"\[RESULT\]")


class Prometheus2(JudgeModel):
    name = "prometheus-2"
    description = "Prometheus 2: feedback, then [RESULT] and a response"

    def verdict(self, text: str) -> Verdict:
        found = self.option(text)
        return Verdict(found[0], None, position=found[1]) if found else Verdict(None, None)

    def option(self, text: str) -> tuple[Side, int] | None:
        found = _RESULT.search(text)
        if found is None or len(_EVERY_RESULT.findall(text)) > 1:
            return None
        return ("A" if found[1] == "A" else "B"), found.start(1)


class Prometheus2Score(Score):
    """Absolute grading: each response alone; the higher grade wins, and equal ones are a tie."""

    name = "prometheus-2-score"
    description = "Prometheus 2: feedback, then [RESULT] 1–5, each response alone"
    family = FAMILY
    takes_framing = False
    reply_tokens = 200
    highest = 5

    def score(self, text: str) -> int | None:
        text = readable(text).text
        found = _GRADE.search(text)
        if found is None or len(_EVERY_RESULT.findall(text)) > 1:
            return None
        return int(found[1])
