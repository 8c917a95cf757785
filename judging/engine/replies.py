"""Parts of a reply other than its verdict: thoughts, refusals, or nothing."""

import re

# Some chat templates open the thought themselves, so a reply contains only its end.
_THINK = "think|thinking|thought|thoughts|reasoning|reflection|scratchpad"
_THOUGHT = re.compile(
    rf"<({_THINK})>.*?(?:</\1>|\Z)|\A(?:(?!<(?:{_THINK})>).)*</(?:{_THINK})>"
    r"|\[THINK\].*?(?:\[/THINK\]|\Z)|◁think▷.*?(?:◁/think▷|\Z)"
    r"|<\|channel\|>analysis<\|message\|>.*?(?=<\|channel\|>final<\|message\|>|\Z)"
    r"|<\|channel\|>final<\|message\|>",
    re.DOTALL | re.IGNORECASE,
)
_REFUSAL = re.compile(
    r"\b(?:i\s+(?:can(?:no|')?t|can\s+not|won't|will\s+not|am\s+unable|am\s+not\s+able"
    r"|must\s+decline|refuse)"
    r"|i'm\s+(?:sorry|unable|not\s+able)|i\s+am\s+sorry|i\s+apologi[sz]e|as\s+an\s+ai"
    r"|unable\s+to\s+(?:assist|help|comply|provide|determine|make))\b",
    re.IGNORECASE,
)


def without_thoughts(text: str) -> str:
    """Blank the model's thoughts; everything else keeps its position."""
    return _THOUGHT.sub(lambda thought: " " * len(thought[0]), text)


def without_cut_end(text: str) -> str:
    """A reply that was cut off, without the word or number at its end: its rest may be missing."""
    end = len(text)
    if text[-1:] in (".", ",") and text[-2:-1].isdigit():
        end -= 1  # the decimals may be missing
    while end and text[end - 1].isalnum():
        end -= 1
    return text[:end]


def looks_like_refusal(text: str) -> bool:
    """Whether a reply without a verdict declines to judge."""
    return _REFUSAL.search(without_thoughts(text).replace("’", "'")) is not None


def is_empty(text: str) -> bool:
    """Whether a reply holds only thoughts, or nothing at all."""
    return not without_thoughts(text).strip()
