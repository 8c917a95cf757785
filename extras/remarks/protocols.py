"""Protocols that ask a judge what annotators can say besides their choice."""

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from judging.engine.interface import Verdict
from judging.protocols.parsing import readable
from judging.protocols.protocol import JudgingProtocol

_BRACKETS = re.compile(r"\[\[\s*([^\[\]]+?)\s*\]\]")


class ChoiceAndMore(JudgingProtocol):
    """A choice, and one thing more in double brackets after it, which `details` has."""

    family = "Scores and other certainties"
    has_form = False
    reads_words = True
    reply_tokens = 12

    def more_of(self, words: list[str]) -> Mapping[str, Any] | None:
        """What the words in brackets say besides the choice; None if nothing is clear."""
        raise NotImplementedError

    def read(
        self,
        text: str,
        *,
        earlier: tuple[str, ...] = (),
        is_structured: bool = False,
        is_lenient: bool = False,
    ) -> Verdict:
        verdict = super().read(text, is_lenient=is_lenient)
        more = self.more_of([word.casefold() for word in _BRACKETS.findall(readable(text).text)])
        if verdict.side is None or more is None:
            return Verdict(None, None)
        return replace(verdict, details={**verdict.details, **more})


class ResponseSet(ChoiceAndMore):
    """A choice, and whether the other response would do as well."""

    name = "response-set"
    description = "Response set: choice of a response, and whether the other would do as well"

    def more_of(self, words: list[str]) -> Mapping[str, Any] | None:
        told = {word for word in words if word in ("yes", "no")}
        return {"either": told == {"yes"}} if len(told) == 1 else None


class Others(ChoiceAndMore):
    """A choice, and how many of 100 people would choose the same."""

    name = "others"
    description = "Others: choice of a response, and how many of 100 people would choose the same"

    def more_of(self, words: list[str]) -> Mapping[str, Any] | None:
        numbers = {int(word) for word in words if word.isdecimal() and int(word) <= 100}
        return {"others": numbers.pop()} if len(numbers) == 1 else None


RESPONSE_SET, OTHERS = ResponseSet(), Others()
