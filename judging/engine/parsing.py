"""Reading a verdict out of a reply.

The prompt ends in an open `[[`. A reply may continue it (`A]] [[80]]`), answer in full
(`[[A]] [[80]]`) or be the bare letter. The last verdict decides, even when it cannot be used: a
judge that ends on `[[C]]` where no tie was offered is not given the `[[A]]` it wrote before.
"""

import json
import re
from dataclasses import dataclass

from judging.engine.protocol import Side

# Some chat templates open the thought themselves: a reply then holds its end alone.
_THOUGHT = re.compile(
    r"<(think|thinking|reasoning)>.*?(?:</\1>|\Z)"
    r"|\A(?:(?!<(?:think|thinking|reasoning)>).)*</(?:think|thinking|reasoning)>",
    re.DOTALL | re.IGNORECASE,
)
_SIDES: dict[str, Side] = {"A": "A", "B": "B", "C": "C", "TIE": "C"}
_STRUCTURED = re.compile(r'"answer"\s*:\s*"([ABC])"')
_LABEL = r"(?:(?:answer|response|assistant|pair)\s+)?"
_VERDICT_WORD = rf"{_LABEL}([A-WYZ]|tie|both|neither|none|equal)"
_VERDICT = re.compile(rf"\[\[\s*{_VERDICT_WORD}\s*\]\]", re.IGNORECASE)
_CONTINUED = re.compile(rf"[\s*_`\"']*{_VERDICT_WORD}\s*\]\]", re.IGNORECASE)
# The letter alone, alone on the first line, or followed by the certainty only.
_BARE = re.compile(
    r"[^\w\[]*(?:(?:[Aa]nswer|[Rr]esponse)\s*:?\s*)?\[?([ABC])\]?[^\w\n\[]*(?:\Z|\n|(?=\[\[\s*\d))"
)
_BRACKETED_NUMBER = re.compile(r"\[\[\s*(\d{1,3})\s*%?\s*\]\]")
# Without brackets a number counts only where it can mean nothing else: right behind the verdict,
# or beside a word for certainty in the same sentence.
_NUMBER_BEHIND = re.compile(r"[\s\-–—:,]{0,4}[(\[]?(\d{1,3})\s*%?[\s.)\]]*(?:\n|\Z)")
_NUMBER_NAMED = re.compile(
    r"\b(?:confiden|certain|sure)\w*[^.\n\d]{0,40}?(\d{1,3})\b"
    r"|\b(\d{1,3})\s*%?\s*(?:confident|certain|sure)\b",
    re.IGNORECASE,
)
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
        side, certainty = _read_words(text)
    if side == "C":
        return Verdict(side if offers_tie else None, None)
    return Verdict(side, certainty if side is not None and asks_certainty else None)


def _read_words(text: str) -> tuple[Side | None, int | None]:
    verdicts = _verdicts(text)
    if not verdicts:
        return None, None
    words = [verdict[1].upper() for verdict in verdicts]
    behind = text[verdicts[-1].end() :]
    # Where the mind was changed, a number before the last verdict is about what was given up.
    about_it = text if len(set(words)) == 1 else behind
    return _SIDES.get(words[-1]), _certainty(about_it, behind)


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
    verdicts = _verdicts(_without_thoughts(text))
    return verdicts[-1].start(1) if verdicts else None


def _without_thoughts(text: str) -> str:
    """Blank what was thought aloud; everything else stays where it stands."""
    return _THOUGHT.sub(lambda thought: " " * len(thought[0]), text)


def _verdicts(text: str) -> list[re.Match[str]]:
    """The verdicts of a text, as they stand in it; the bare letter where there is no other."""
    opening = _CONTINUED.match(text)
    found = [*([opening] if opening else []), *_VERDICT.finditer(text)]
    bare = None if found else _BARE.match(text)
    return [bare] if bare else found


def _certainty(text: str, behind: str) -> int | None:
    if _BRACKETED_NUMBER.search(text):
        numbers = [int(n) for n in _BRACKETED_NUMBER.findall(text)]
    elif match := _NUMBER_BEHIND.match(behind):
        numbers = [int(match[1])]
    else:
        numbers = [int(before or after) for before, after in _NUMBER_NAMED.findall(behind)]
    usable = [n for n in numbers if 1 <= n <= 100]
    return usable[-1] if usable else None
