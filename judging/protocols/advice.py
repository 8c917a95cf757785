"""The protocol that asks before and after an advice is shown."""

from dataclasses import replace

from judging.engine.interface import Verdict
from judging.protocols.protocol import JudgingProtocol


class Advice(JudgingProtocol):
    """The second step shows the item's advice; the judge keeps its answer or changes it.

    The answer after the advice counts. `details` has the one before it under `before_advice`.
    """

    name = "advice"
    description = "Advice: choice and certainty before and after the item’s advice"
    family = ""
    asks_certainty = True
    needs_advice = True
    begins_with = "certainty"
    steps = 2
    reply_tokens = 32

    def read(
        self,
        text: str,
        *,
        earlier: tuple[str, ...] = (),
        is_structured: bool = False,
        is_lenient: bool = False,
    ) -> Verdict:
        def answer_in(reply: str) -> Verdict:
            return super(Advice, self).read(
                reply, is_structured=is_structured, is_lenient=is_lenient
            )

        verdict = answer_in(text)
        if verdict.side is None or verdict.certainty is None:
            return Verdict(None, None)
        if not earlier:
            return Verdict(None, None, continues=True, position=verdict.position)
        before = answer_in(earlier[0])
        first = {"choice": before.side, "certainty": before.certainty}
        return replace(verdict, details={**verdict.details, "before_advice": first})
