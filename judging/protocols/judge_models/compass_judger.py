"""CompassJudger: a comparison by criteria in prose, then the verdict in double brackets."""

import re

from judging.engine.interface import SIDES, Side, Verdict
from judging.protocols.judge_models.format import (
    RESPONSES,
    JudgeModel,
    with_profile,
    without_profile,
)

_VERDICT = re.compile(r"\[\[([A-Z])\]\]")
# “- Warmth: A”, one criterion a line; C is no difference.
_CRITERION = re.compile(
    r"^[ \t]*[-*][ \t]*([^:\n]{1,60}?)[ \t]*:[ \t]*([ABC])[ \t.]*$", re.MULTILINE
)
_INSTRUCTION = """Compare the two responses by the criteria that matter here. Give each criterion \
a line of its own with the response that is better in it, or C if they are equal: - criterion: A. \
Weigh them up in a sentence or two. On the last line write your verdict: [[A]] if response A is \
better, [[B]] if response B is better, [[C]] if you see no clear difference."""


class CompassJudger(JudgeModel):
    """`details` of the verdict has the criteria that the reply names in lines of their own."""

    name = "compass-judger"
    description = "CompassJudger: criteria, then [[A]], [[B]] or [[C]]"
    offers_tie = True
    reply_tokens = 300
    template = with_profile(RESPONSES, _INSTRUCTION)
    template_without_persona = without_profile(RESPONSES, _INSTRUCTION)

    def verdict(self, text: str) -> Verdict:
        found = self.option(text)
        if found is None:
            return Verdict(None, None)
        criteria = dict(_CRITERION.findall(text[: found[1]]))
        return Verdict(found[0], None, {"criteria": criteria} if criteria else {})

    def option(self, text: str) -> tuple[Side, int] | None:
        found = list(_VERDICT.finditer(text))
        if not found or len({each[1] for each in found}) > 1:
            return None
        side = next((side for side in SIDES if side == found[-1][1]), None)
        return (side, found[-1].start(1)) if side else None
