"""Reading a verdict out of a reply.

The prompt ends in an open `[[`. A reply may continue it (`A]] [[80]]`), answer in full
(`[[A]] [[80]]`) or be the bare letter. Which of several verdicts counts is for `verdicts` to say.
One that cannot be used counts too: a judge that ends on `[[C]]` where no tie was offered is not
given the `[[A]]` it wrote before.
"""

import json
import re
from dataclasses import dataclass

from judging.engine.interface import Side
from judging.protocols.verdicts import decide

# Some chat templates open the thought themselves: a reply then holds its end alone.
_THINK = "think|thinking|thought|thoughts|reasoning|reflection|scratchpad"
_THOUGHT = re.compile(
    rf"<({_THINK})>.*?(?:</\1>|\Z)|\A(?:(?!<(?:{_THINK})>).)*</(?:{_THINK})>"
    r"|\[THINK\].*?(?:\[/THINK\]|\Z)|◁think▷.*?(?:◁/think▷|\Z)"
    r"|<\|channel\|>analysis<\|message\|>.*?(?=<\|channel\|>final<\|message\|>|\Z)"
    r"|<\|channel\|>final<\|message\|>",
    re.DOTALL | re.IGNORECASE,
)
_STRUCTURED = re.compile(r'"answer"\s*:\s*"([ABC])"')
_REFUSAL = re.compile(
    r"\b(?:i\s+(?:can(?:no|')?t|can\s+not|won't|will\s+not|am\s+unable|am\s+not\s+able"
    r"|must\s+decline|refuse)"
    r"|i'm\s+(?:sorry|unable|not\s+able)|i\s+am\s+sorry|i\s+apologi[sz]e|as\s+an\s+ai"
    r"|unable\s+to\s+(?:assist|help|comply|provide|determine|make))\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Verdict:
    """The side chosen, as letters of the prompt; None where the reply gives none."""

    side: Side | None
    certainty: int | None


def parse_reply(
    text: str, *, offers_tie: bool, asks_certainty: bool, is_structured: bool = False
) -> Verdict:
    """Read side and certainty; C counts where a tie was offered, certainty where it was asked.

    Where a form was asked for and kept to, it is read; otherwise the words are.
    """
    text = _without_thoughts(text)
    if is_structured and (form := read_form(text)) is not None:
        side, certainty = form
    else:
        chosen, certainty = decide(text)
        side = chosen.side if chosen else None
    if side == "C":
        return Verdict(side if offers_tie else None, None)
    return Verdict(side, certainty if side is not None and asks_certainty else None)


def looks_like_refusal(text: str) -> bool:
    """Whether the words of a reply without a verdict decline to judge."""
    return _REFUSAL.search(_without_thoughts(text).replace("’", "'")) is not None


def says_nothing(text: str) -> bool:
    """Whether a reply holds thoughts alone, or not even those."""
    return not _without_thoughts(text).strip()


def read_form(text: str) -> tuple[Side | None, int | None] | None:
    """The verdict in the form of structured outputs; None where the text does not keep to it."""
    try:
        form = json.loads(_without_thoughts(text))
    except (ValueError, RecursionError):
        return None
    if not isinstance(form, dict) or form.get("answer") not in ("A", "B", "C"):
        return None
    certainty = form.get("certainty")
    usable = type(certainty) is int and 1 <= certainty <= 100
    return form["answer"], certainty if usable else None


def verdict_position(text: str, *, is_structured: bool = False) -> int | None:
    """Where in `text` the word of the verdict begins; None where there is no verdict."""
    if is_structured and read_form(text) and (letter := _STRUCTURED.search(text)):
        return letter.start(1)
    chosen, _ = decide(_without_thoughts(text))
    return chosen.position if chosen else None


def _without_thoughts(text: str) -> str:
    """Blank what was thought aloud; everything else stays where it stands."""
    return _THOUGHT.sub(lambda thought: " " * len(thought[0]), text)
