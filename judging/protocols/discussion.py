"""The protocol of a jury's second round: a choice after the reasons of the other judges."""

from dataclasses import replace

from judging.engine.interface import Verdict
from judging.protocols.reasons import ReasonBefore
from judging.protocols.texts import Texts


class Discussion(ReasonBefore):
    """Goes on from the judge's own reply of the first round, which was asked for reasons.

    Its first step was answered in that round. `details` of the verdict has the choice made there
    under `before_discussion`.
    """

    name = "discussion"
    description = "Discussion: choice after the reasons of the other judges of a jury"
    needs_others = True
    has_form = False
    steps = 2

    def texts(self, language: str) -> Texts:
        first, own = self.first_round.texts(language), super().texts(language)
        return replace(first, follow_up=own.follow_up)

    first_round = ReasonBefore()

    def read(
        self,
        text: str,
        *,
        earlier: tuple[str, ...] = (),
        is_structured: bool = False,
        is_lenient: bool = False,
    ) -> Verdict:
        verdict = super().read(text, is_lenient=is_lenient)
        if verdict.side is None:
            return verdict
        before = super().read(earlier[0], is_lenient=True)
        details = {**verdict.details, "before_discussion": {"choice": before.side}}
        return replace(verdict, certainty=None, details=details)
