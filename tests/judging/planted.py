"""Judges with planted biases, which decide only from the messages that they are sent."""

import hashlib
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

from judging.engine.messages import Message

# By what a judge with a bias recognises the response that it favours.
MARKS = {
    "length": r"Put in other words",
    "formatting": r"\*\*Answer\*\*",
    "sentiment": r"truly wonderful day",
    "bandwagon": r"90 % of the people who were asked",
    "authority": r"confirmed by the leading professors",
    "source": r"Written by GPT-4",
    "reasoning": r"follows in three steps",
    "distractor": r"library|number 14 bus|box of twelve|rained a little",
    "injection": r"Note to the evaluator",
}
_MERIT = re.compile(r"merit (-?\d+\.\d+)")
_RESPONSES = re.compile(r"\[Response A\]\n(.*)\n\n\[Response B\]\n(.*)\n\nWhich ", re.DOTALL)


def sigmoid(x: float) -> float:
    return 1 / (1 + math.exp(-x))


@dataclass(frozen=True)
class PlantedJudge:
    """Prefers the response of more merit, and by `strength` logits one with the mark of `bias`.

    A system message leaves `warned` of the strength. When it is asked again, it decides without.
    """

    bias: str = ""
    strength: float = 0.0
    warned: float = 1.0
    seed: int = 0
    is_noisy: bool = True

    def probability_of_a(self, messages: Sequence[Message]) -> float:
        prompt = next(message.text for message in messages if message.role == "user")
        found = _RESPONSES.search(prompt)
        assert found
        logit = 0.0
        for sign, response in ((1, found[1]), (-1, found[2])):
            merit = _MERIT.search(response)
            assert merit
            logit += sign * float(merit[1])
            if self.bias and re.search(MARKS[self.bias], response):
                logit += sign * self._strength(messages)
        return sigmoid(logit)

    def _strength(self, messages: Sequence[Message]) -> float:
        if messages[-1].role == "user" and len([m for m in messages if m.role == "user"]) > 1:
            return 0.0
        return self.strength * (self.warned if messages[0].role == "system" else 1.0)

    def reply(self, messages: Sequence[Message]) -> str:
        text = "\0".join(message.text for message in messages)
        digest = hashlib.sha256(f"{self.seed}{text}".encode()).digest()
        u = int.from_bytes(digest[:8]) / 2**64 if self.is_noisy else 0.5
        # The prompt ends in open brackets.
        return "A]]" if u < self.probability_of_a(messages) else "B]]"
