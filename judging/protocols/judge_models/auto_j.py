"""Auto-J: key factors in prose, and a last sentence with the final decision."""

import re

from judging.engine.interface import Options, Side, Verdict
from judging.protocols.judge_models.format import (
    NUMBERED_RESPONSES,
    JudgeModel,
    with_profile,
    without_profile,
)

_DECISION = re.compile(
    r"\bfinal\s+decision\s+is\s*:?\s*(?:Response\s+([12])|(Tie))\b", re.IGNORECASE
)
_INSTRUCTION = """First name what matters for this decision and say how the two responses differ \
in it. Then end with one sentence in exactly this form: “So, the final decision is Response 1.”, \
or the same with Response 2, or with Tie if you see no clear difference."""
_SIDES: dict[str | None, Side] = {"1": "A", "2": "B", None: "C"}


class AutoJ(JudgeModel):
    name = "auto-j"
    description = "Auto-J: an analysis, then the sentence with the final decision"
    offers_tie = True
    reply_tokens = 300
    template = with_profile(NUMBERED_RESPONSES, _INSTRUCTION)
    template_without_persona = without_profile(NUMBERED_RESPONSES, _INSTRUCTION)

    def verdict(self, text: str) -> Verdict:
        found = self.option(text)
        return Verdict(found[0] if found else None, None)

    def option(self, text: str) -> tuple[Side, int] | None:
        found = list(_DECISION.finditer(text))
        if not found or len({_SIDES[each[1]] for each in found}) > 1:
            return None
        last = found[-1]
        return _SIDES[last[1]], last.start(1 if last[1] else 2)

    def options(self, earlier: tuple[str, ...]) -> Options:
        return {"A": ("1",), "B": ("2",), "C": ("Tie",)}
