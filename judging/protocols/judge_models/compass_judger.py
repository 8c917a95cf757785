"""CompassJudger: a comparison by criteria in prose, then the verdict in double brackets."""

import re

from judging.engine.interface import SIDES, Side, Verdict
from judging.protocols.judge_models.format import JudgeModel

_VERDICT = re.compile(r"\[\[([A-Z])\]\]")
# “- Warmth: A”, one criterion a line; C is no difference.
_CRITERION = re.compile(
    r"^[ \t]*[-*][ \t]*([^:\n]{1,60}?)[ \t]*:[ \t]*([ABC])[ \t.]*$", re.MULTILINE
)


class CompassJudger(JudgeModel):
    """`details` of the verdict has the criteria that the reply names in lines of their own."""

    name = "compass-judger"
    description = "CompassJudger: criteria, then [[A]], [[B]] or [[C]]"
    offers_tie = True
    reply_tokens = 300

    def verdict(self, text: str) -> Verdict:
        found = self.option(text)
        if found is None:
            return Verdict(None, None)
        criteria = dict(_CRITERION.findall(text[: found[1]]))
        details = {"criteria": criteria} if criteria else {}
        return Verdict(found[0], None, details, position=found[1])

    def option(self, text: str) -> tuple[Side, int] | None:
        found = list(_VERDICT.finditer(text))
        if not found or len({each[1] for each in found}) > 1:
            return None
        side = next((side for side in SIDES if side == found[-1][1]), None)
        return (side, found[-1].start(1)) if side else None
