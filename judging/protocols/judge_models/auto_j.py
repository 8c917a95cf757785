"""Auto-J: key factors in prose, and a last sentence with the final decision."""

import re

from judging.engine.interface import Options, Side, Verdict
from judging.protocols.judge_models.format import JudgeModel

_DECISION = re.compile(
    r"\bfinal\s+decision\s+is\s*:?\s*(?:Response\s+([12])|(Tie))\b", re.IGNORECASE
)
_SIDES: dict[str | None, Side] = {"1": "A", "2": "B", None: "C"}


class AutoJ(JudgeModel):
    name = "auto-j"
    description = "Auto-J: an analysis, then the sentence with the final decision"
    offers_tie = True
    reply_tokens = 300

    def verdict(self, text: str) -> Verdict:
        found = self.option(text)
        return Verdict(found[0], None, position=found[1]) if found else Verdict(None, None)

    def option(self, text: str) -> tuple[Side, int] | None:
        found = list(_DECISION.finditer(text))
        if not found or len({_SIDES[each[1]] for each in found}) > 1:
            return None
        last = found[-1]
        return _SIDES[last[1]], last.start(1 if last[1] else 2)

    def options(self, earlier: tuple[str, ...]) -> Options:
        return {"A": ("1",), "B": ("2",), "C": ("Tie",)}
