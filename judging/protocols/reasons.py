"""Protocols that ask for a choice with its reasons, before or after it."""

import re
from collections.abc import Mapping
from typing import Any

from judging.engine.interface import SIDES, Verdict
from judging.protocols.protocol import JudgingProtocol
from judging.protocols.reading.text import readable

_LAST = re.compile(r"\[\[\s*([AB])\s*\]\][\s.*_`]*\Z")
_FIRST = re.compile(r"\A[\s*_`]*(?:\[\[)?\s*([AB])\s*(?:\]\]|[\s.:,*_`]*(?:\n|\Z))")


class ReasonBefore(JudgingProtocol):
    """The choice counts only at its place: at the end of the reply."""

    name = "reason-before"
    description = "Reasons before the choice: two to four sentences, then a response"
    family = "Reasons"
    reply_tokens = 120
    reads_words = True
    place = _LAST
    fields = ("reason", "answer")

    def read(
        self,
        text: str,
        *,
        earlier: tuple[str, ...] = (),
        is_structured: bool = False,
        is_lenient: bool = False,
    ) -> Verdict:
        if not (is_structured and self.keeps_form(text)):
            reply = readable(text)
            found = self.place.search(reply.text)
            if found:
                side = next(side for side in SIDES if side == found[1])
                return Verdict(side, None, position=reply.places[found.start(1)])
            if not is_lenient:
                return Verdict(None, None)
        return super().read(text, is_structured=is_structured, is_lenient=is_lenient)

    def form(self) -> dict[str, Mapping[str, Any]]:
        given: dict[str, Mapping[str, Any]] = {"reason": {"type": "string"}} | super().form()
        return {name: given[name] for name in self.fields}


class ReasonLine(ReasonBefore):
    name = "reason-line"
    description = "A one-line reason before the choice"
    reply_tokens = 40


class ReasonAfter(ReasonBefore):
    """The choice counts only at its place: at the beginning of the reply."""

    name = "reason-after"
    description = "Reasons after the choice: a response, then two to four sentences"
    place = _FIRST
    fields = ("answer", "reason")
