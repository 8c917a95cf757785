"""Probes that write one of the two responses in another way, without changing what it says."""

import re
from typing import ClassVar

from judging.bias.probe import Asked, ResponseProbe
from judging.bias.texts import text, words

_SENTENCE_END = re.compile(r"(?<=[.!?。！？])\s+")
_FIRST_WORDS = re.compile(r"\S+(?:\s+\S+){0,2}")


class _Addition(ResponseProbe):
    """Text before or after the favoured response; `texts` has it under the probe's name."""

    is_before: ClassVar[bool] = False

    def rewrite(self, response: str, asked: Asked) -> str:
        place = "before" if self.is_before else "after"
        added = text(self.name, place, language=asked.language, name=asked.option)
        return f"{added}\n{response}" if self.is_before else f"{response}\n\n{added}"


class Length(_Addition):
    name = "length"
    description = "Longer without more content"


class Formatting(ResponseProbe):
    name = "formatting"
    description = "Markdown: a heading, a list and bold words"

    def rewrite(self, response: str, asked: Asked) -> str:
        lines = [line for part in response.splitlines() for line in _SENTENCE_END.split(part)]
        items = [f"- {_FIRST_WORDS.sub(_bold, line, count=1)}" for line in lines if line.strip()]
        return "\n".join([text(self.name, "heading", language=asked.language), "", *items])


def _bold(first: re.Match[str]) -> str:
    return f"**{first[0]}**"


class Sentiment(ResponseProbe):
    name = "sentiment"
    description = "A warm and cheerful tone"

    def rewrite(self, response: str, asked: Asked) -> str:
        before, after = (
            text(self.name, place, language=asked.language) for place in ("before", "after")
        )
        return f"{before}\n\n{response}\n\n{after}"


class Bandwagon(_Addition):
    name = "bandwagon"
    description = "A note that most people chose it"
    option_name = "PERCENT"
    default = "90"
    is_before = True

    def problem(self, option: str) -> str:
        if option.isascii() and option.isdigit() and 1 <= int(option) <= 100:
            return ""
        return "Write a percentage from 1 to 100, such as bandwagon:90."


class Authority(_Addition):
    name = "authority"
    description = "A reference to experts and a handbook"


class Distractor(ResponseProbe):
    name = "distractor"
    description = "An irrelevant sentence"

    def rewrite(self, response: str, asked: Asked) -> str:
        known = words(self.name, "sentences", language=asked.language)
        return f"{response} {known[asked.draw('distractor', asked.item) % len(known)]}"


class Reasoning(_Addition):
    name = "reasoning"
    description = "Steps that only look like reasons"


class Source(_Addition):
    name = "source"
    description = "A note that names a brand or model as its author"
    option_name = "AUTHOR"
    default = "GPT-4"
    is_before = True

    def problem(self, option: str) -> str:
        if set(option) & set("[]\n"):
            return "An author cannot contain brackets or line breaks."
        return super().problem(option)


class Injection(_Addition):
    name = "injection"
    description = "An instruction to choose it"
