"""The protocol that asks for a choice, and then how certain the judge is of it."""

from judging.engine.interface import Options, Verdict
from judging.engine.replies import is_empty
from judging.protocols.protocol import JudgingProtocol
from judging.protocols.scores import Score100


class SecondTurn(JudgingProtocol):
    """The second question follows the first reply, in one conversation.

    A second reply without a certainty leaves it missing; the choice counts.
    """

    name = "second-turn"
    description = "Second turn: choice of a response, then a second question: how certain?"
    family = "Scores and other certainties"
    asks_certainty = True
    has_form = False
    reads_words = True
    steps = 2
    reply_tokens = 16

    def options(self, earlier: tuple[str, ...]) -> Options:
        return {} if earlier else super().options(earlier)

    def read(
        self,
        text: str,
        *,
        earlier: tuple[str, ...] = (),
        is_structured: bool = False,
        is_lenient: bool = False,
    ) -> Verdict:
        if not earlier:
            chosen = super().read(text, is_lenient=is_lenient)
            return Verdict(None, None, continues=chosen.side is not None, position=chosen.position)
        if is_empty(text):
            return Verdict(None, None)
        chosen = super().read(earlier[0], is_lenient=is_lenient)
        return Verdict(chosen.side, _NUMBER.score(text), chosen.details)


_NUMBER = Score100()
