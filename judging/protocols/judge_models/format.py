"""What the protocols of judge models have in common."""

from judging.engine.interface import Side, Verdict
from judging.engine.replies import without_thoughts
from judging.protocols.protocol import JudgingProtocol

# The texts of an item, after what the protocol says first.
PROFILE = """[Person]
{{ persona }}

"""
RESPONSES = """{{ context }}{{ question }}[Response A]
{{ response_a }}

[Response B]
{{ response_b }}

{{ ask }}

"""
NUMBERED_RESPONSES = """{{ context }}{{ question }}[Response 1]
{{ response_a }}

[Response 2]
{{ response_b }}

{{ ask }}

"""
_NOBODY = "Nothing is known about the person that this is about.\n\n"


def with_profile(responses: str, instruction: str) -> str:
    """The template of a judge that sees the profile."""
    return f"{PROFILE}{responses}{instruction}"


def without_profile(responses: str, instruction: str) -> str:
    """The template of a judge that sees nothing of the persona."""
    return f"{_NOBODY}{responses}{instruction}"


class JudgeModel(JudgingProtocol):
    """A protocol whose reply has a fixed format, explained in words around it."""

    family = "Formats of models that were trained to judge"
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
        return self.verdict(without_thoughts(text))

    def verdict(self, text: str) -> Verdict:
        """The verdict in a reply without thoughts."""
        raise NotImplementedError

    def option_position(
        self, text: str, *, earlier: tuple[str, ...], is_structured: bool
    ) -> int | None:
        found = self.option(without_thoughts(text))
        return found[1] if found else None

    def option(self, text: str) -> tuple[Side, int] | None:
        """The side that the format names in a reply, and where; None if it is not kept."""
        raise NotImplementedError
