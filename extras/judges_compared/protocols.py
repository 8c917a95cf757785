"""Judges that say first what a person would want, or that see a reference answer."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from judging.engine.interface import Options, Verdict
from judging.engine.messages import is_empty
from judging.protocols.protocol import JudgingProtocol, NextToReference

_LONGEST = 2_000  # characters of a statement that a judgment keeps


class Committed(JudgingProtocol):
    """First what this person would want here, without the responses; then a choice in its light."""

    name = "committed"
    description = (
        "Committed: first what this person would want, before the responses; then a choice"
    )
    family = "Reasons"
    has_form = False
    reads_words = True
    steps = 2
    reply_tokens = 60

    def options(self, earlier: tuple[str, ...]) -> Options:
        return super().options(earlier) if earlier else {}

    def read(
        self,
        text: str,
        *,
        earlier: tuple[str, ...] = (),
        is_structured: bool = False,
        is_lenient: bool = False,
    ) -> Verdict:
        if not earlier:
            return Verdict(None, None, continues=not is_empty(text))
        verdict = super().read(text, is_lenient=is_lenient)
        statement: Mapping[str, Any] = {"statement": earlier[0].strip()[:_LONGEST]}
        return replace(verdict, details={**verdict.details, **statement})


class Reference(NextToReference):
    """A choice between the two responses next to the item's reference answer."""

    name = "reference"
    description = "Reference: choice of a response, with the item’s reference answer in the prompt"


COMMITTED, REFERENCE = Committed(), Reference()
