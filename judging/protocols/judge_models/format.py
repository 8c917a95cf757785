"""What the protocols of judge models have in common."""

from dataclasses import replace

from judging.engine.interface import Side, Verdict
from judging.protocols.protocol import JudgingProtocol
from judging.protocols.reading.mentions import readable

FAMILY = "Formats of models that were trained to judge"


class JudgeModel(JudgingProtocol):
    """A protocol whose reply has a fixed format, explained in words around it."""

    family = FAMILY
    has_form = False
    reads_words = True
    takes_framing = False
    reply_tokens = 200

    def read(
        self,
        text: str,
        *,
        earlier: tuple[str, ...] = (),
        is_structured: bool = False,
        is_lenient: bool = False,
    ) -> Verdict:
        reply = readable(text)
        found = self.verdict(reply.text)
        if found.position is None:
            return found
        return replace(found, position=reply.places[found.position])

    def verdict(self, text: str) -> Verdict:
        """The verdict in a reply without thoughts."""
        raise NotImplementedError

    def option(self, text: str) -> tuple[Side, int] | None:
        """The side that the format names in a reply, and where; None if it is not kept."""
        raise NotImplementedError
