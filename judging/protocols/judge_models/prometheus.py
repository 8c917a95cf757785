"""Prometheus 2, relative grading: feedback, then `[RESULT]` and the better response."""

import re

from judging.engine.interface import Side, Verdict
from judging.protocols.judge_models.format import (
    RESPONSES,
    JudgeModel,
    with_profile,
    without_profile,
)

_RESULT = re.compile(r"\[RESULT\]\s*(?:Response\s+)?([AB])(?![\w'’])[\s.*]*\Z")
_EVERY_RESULT = re.compile(r"\[RESULT\]")
_INSTRUCTION = """Write feedback that compares the two responses by how well each answers this, \
without judging them by anything else. End with the mark [RESULT] and the letter of the better \
response: [RESULT] A or [RESULT] B. Write nothing after the letter.

Feedback:"""


class Prometheus2(JudgeModel):
    name = "prometheus-2"
    description = "Prometheus 2: feedback, then [RESULT] and a response"
    template = with_profile(RESPONSES, _INSTRUCTION)
    template_without_persona = without_profile(RESPONSES, _INSTRUCTION)

    def verdict(self, text: str) -> Verdict:
        found = self.option(text)
        return Verdict(found[0] if found else None, None)

    def option(self, text: str) -> tuple[Side, int] | None:
        found = _RESULT.search(text)
        if found is None or len(_EVERY_RESULT.findall(text)) > 1:
            return None
        return ("A" if found[1] == "A" else "B"), found.start(1)
