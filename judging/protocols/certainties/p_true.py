"""The protocol that asks for a choice, and whether it is right: the probability of a yes counts."""

import re
from collections.abc import Mapping
from dataclasses import replace

from judging.engine.interface import Options, Verdict
from judging.engine.replies import is_empty
from judging.protocols.protocol import JudgingProtocol
from judging.protocols.reading.text import readable

# In every language of texts/.
_WORDS = {"yes": ("Yes", "Ja"), "no": ("No", "Nein")}
_REPLY = re.compile(r"(?:\[\[|\A)[\s*_`\"']*(Yes|Ja|No|Nein)\b", re.IGNORECASE)


class PTrue(JudgingProtocol):
    """The certainty is the probability that the model gives yes, over yes and no.

    It is read from log-probabilities at the word: a model that writes no still gives yes a
    probability. Without a word or without log-probabilities the certainty is missing, and the
    choice counts.
    """

    name = "p-true"
    description = "P(True): choice of a response, then the probability that it says it is right"
    family = "Scores and other certainties"
    asks_certainty = True
    needs_probabilities = True
    has_form = False
    steps = 2
    reply_tokens = 12

    def options(self, earlier: tuple[str, ...]) -> Options:
        return _WORDS if earlier else super().options(earlier)

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
        reply = readable(text)
        word = _REPLY.search(reply.text)
        if word is None:
            return replace(chosen, certainty=None, position=None)
        says = next(name for name, words in _WORDS.items() if word[1].title() in words)
        details = {**chosen.details, "says": says}
        return Verdict(chosen.side, None, details, position=reply.places[word.start(1)])

    def weigh(self, verdict: Verdict, probabilities: Mapping[str, float] | None) -> Verdict:
        if verdict.side is None or probabilities is None or "yes" not in probabilities:
            return verdict
        share = probabilities["yes"]
        details = {**verdict.details, "p_true": round(share, 6)}
        return replace(verdict, certainty=max(1, round(100 * share)), details=details)
