"""JudgeLM: the first line has a score for each response, and the rest explains them."""

import re
from collections.abc import Mapping
from typing import Any

from judging.engine.interface import Options, Side, Verdict
from judging.protocols.judge_models.format import JudgeModel

_SCORE = r"(10(?:\.0+)?|[0-9](?:\.[0-9]+)?)"
_SCORES = re.compile(rf"\s*{_SCORE}[ \t]+{_SCORE}[ \t]*(?:\n|\Z)")


class JudgeLM(JudgeModel):
    """The higher score wins; equal scores are a tie."""

    name = "judgelm"
    description = "JudgeLM: two scores from 1 to 10 on the first line"
    offers_tie = True

    def verdict(self, text: str) -> Verdict:
        found = _SCORES.match(text)
        if found is None:
            return Verdict(None, None)
        first, second = float(found[1]), float(found[2])
        if min(first, second) < 1:
            return Verdict(None, None)
        details: Mapping[str, Any] = {"scores": {"A": first, "B": second}}
        side: Side = "C" if first == second else "A" if first > second else "B"
        return Verdict(side, None, details)

    def options(self, earlier: tuple[str, ...]) -> Options:
        return {}
