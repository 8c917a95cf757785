"""What is asked for guidelines, and the texts that a wording gets in front of its own."""

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from judging.engine.messages import Messages, from_user, looks_like_refusal, without_thoughts
from judging.worker.job_requests import WrittenReply
from studies.texts.normalisation import digest
from studies.texts.slots import Slots

EXAMPLES, CASES, MOST_GUIDELINES = 4, 10, 5
_SHORTEST, _LONGEST = 15, 220  # letters of a guideline
_LONGEST_TEXT = 700  # letters of each text of a case

ASK = (
    "An AI model was asked which of two responses a person described in a profile chose. Below are "
    "{n} cases in which it was wrong.\n\n"
    "{cases}\n\n"
    "Write up to five guidelines that would have led the model to the right choice and that also "
    "hold for other people and questions. Do not name a case. Write one guideline per line, each "
    "beginning with “- ”. Write nothing else."
)
PROMPT_SHA256 = digest(ASK)


@dataclass(frozen=True)
class LessonWords:
    """The words around what was learned, in the language of a prompt."""

    examples: str
    case: str
    chose: str
    reason: str
    guidelines: str
    rules: str
    more: str
    less: str
    fields: str


_FILE = Path(__file__).with_name("words.toml")
WORDS = {
    language: LessonWords(**words)
    for language, words in tomllib.loads(_FILE.read_text("utf-8")).items()
}


@dataclass(frozen=True)
class LearnedCase:
    """An item as the judge saw it, the side that was right, and a person's reason if there is one.

    The side that the judge chose is empty in an example.
    """

    slots: Slots
    right: str
    judge: str = ""
    reason: str = ""

    def shown(self, words: LessonWords) -> str:
        slots = self.slots
        texts = [
            _cut(slots.persona),
            f"{_cut(slots.context)}\n{_cut(slots.question)}".strip(),
            f"[A]\n{_cut(slots.response_a)}",
            f"[B]\n{_cut(slots.response_b)}",
            words.chose.format(letter=self.right)
            + (f"\nThe model chose: {self.judge}" if self.judge else ""),
            words.reason.format(reason=_cut(self.reason)) if self.reason else "",
        ]
        return "\n\n".join(filter(None, texts))


def _cut(text: str) -> str:
    """A text of an item, short and without what a wording reads as a slot."""
    text = text.strip().replace("{{", "{ {").replace("}}", "} }")
    return text if len(text) <= _LONGEST_TEXT else f"{text[:_LONGEST_TEXT]} …"


def messages_for_guidelines(cases: Sequence[LearnedCase]) -> Messages:
    texts = [f"Case {n}\n{case.shown(WORDS['en'])}" for n, case in enumerate(cases, 1)]
    return from_user(ASK.format(n=len(cases), cases="\n\n".join(texts)))


_BEGINNING = re.compile(r"^\s*(?:[-*•]|\d+[.)])\s+")


def guidelines_in(reply: str) -> list[str]:
    """The guidelines in a reply, in order; lines that are none are left out.

    >>> guidelines_in("Sure:\\n- Look at what the person does for a living.\\n- No.")
    ['Look at what the person does for a living.']
    """
    text = without_thoughts(reply)
    if looks_like_refusal(text):
        return []
    lines = dict[str, None]()
    for line in text.splitlines():
        if _BEGINNING.match(line):
            words = " ".join(_cut(_BEGINNING.sub("", line).replace("*", "")).split())
            if _SHORTEST <= len(words) <= _LONGEST:
                lines[words] = None
    return list(lines)[:MOST_GUIDELINES]


def guidelines() -> WrittenReply:
    def read_fields(text: str) -> Mapping[str, Any]:
        return {"guidelines": lines} if (lines := guidelines_in(text)) else {}

    return WrittenReply(read_fields)


def of_examples(cases: Sequence[LearnedCase], words: LessonWords) -> str:
    texts = [
        f"{words.case.format(n=number)}\n{case.shown(words)}"
        for number, case in enumerate(cases, 1)
    ]
    return "\n\n".join([words.examples, *texts]) if cases else ""


def of_guidelines(lines: Sequence[str], words: LessonWords) -> str:
    return "\n".join([words.guidelines, *(f"- {line}" for line in lines)]) if lines else ""


def of_rules(rules: Sequence[tuple[str, float]], words: LessonWords) -> str:
    """`rules` are texts, each with how much more often people follow it than the judge."""
    lines = [
        (words.more if more > 0 else words.less).format(rule=_cut(text)) for text, more in rules
    ]
    return "\n".join([words.rules, *(f"- {line}" for line in lines)]) if lines else ""


def of_fields(fields: Sequence[str], words: LessonWords) -> str:
    return words.fields.format(fields=", ".join(map(_cut, fields))) if fields else ""
