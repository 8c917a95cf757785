"""Mitigations: what is added to a prompt so that a bias has less effect."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from judging.bias.texts import text
from judging.engine.interface import Options, Verdict
from judging.engine.messages import Message, Messages
from judging.protocols.protocol import JudgingProtocol

WARNING, REFLECTION = "warning", "reflection"
MITIGATIONS = {
    REFLECTION: "A second request asks the judge to look at its answer again",
    WARNING: "A system message says what must not count",
}


def warned(messages: Messages, language: str) -> Messages:
    """The prompt after a system message that says what must not count."""
    words = text(WARNING, "system", language=language)
    if messages and messages[0].role == "system":
        first = Message("system", f"{messages[0].text}\n\n{words}")
        return (first, *messages[1:])
    return (Message("system", words), *messages)


@dataclass(frozen=True)
class Reflecting:
    """A protocol with one more step: the judge looks at its answer again, and that answer counts.

    `details` of the verdict has the side of the first answer under `before_reflection`.
    """

    protocol: JudgingProtocol
    language: str

    @property
    def offers_tie(self) -> bool:
        return self.protocol.offers_tie

    @property
    def steps(self) -> int:
        return self.protocol.steps + 1

    def conversation(self, messages: Messages, earlier: tuple[str, ...]) -> Messages:
        if len(earlier) < self.protocol.steps:
            return self.protocol.conversation(messages, earlier)
        *before, answer = earlier
        asked = self.protocol.conversation(messages, tuple(before))
        again = Message("user", text(REFLECTION, "user", language=self.language))
        return (*asked, Message("assistant", answer), again)

    def options(self, earlier: tuple[str, ...]) -> Options:
        return self.protocol.options(self._own(earlier))

    def weigh(self, verdict: Verdict, probabilities: Mapping[str, float] | None) -> Verdict:
        return self.protocol.weigh(verdict, probabilities)

    def _own(self, earlier: tuple[str, ...]) -> tuple[str, ...]:
        """The replies before the protocol's own step, which the reflection repeats."""
        return earlier if len(earlier) < self.protocol.steps else earlier[:-1]

    def read(
        self,
        text: str,
        *,
        earlier: tuple[str, ...] = (),
        is_structured: bool = False,
        is_lenient: bool = False,
    ) -> Verdict:
        def read(reply: str, before: tuple[str, ...]) -> Verdict:
            return self.protocol.read(
                reply, earlier=before, is_structured=is_structured, is_lenient=is_lenient
            )

        if len(earlier) < self.protocol.steps:
            verdict = read(text, earlier)
            return replace(verdict, continues=verdict.continues or verdict.side is not None)
        *before, answer = earlier
        first = read(answer, tuple(before))
        verdict = read(text, tuple(before))
        return replace(verdict, details={**verdict.details, "before_reflection": first.side})

    def form(self) -> Mapping[str, Any]:
        return self.protocol.form()
