"""Where a reply names a response: “Response A”, “(B)”, “the first answer”, “选项二”.

Each mention is replaced by one private character, so that patterns of words need not repeat
every way to name a response.
"""

import re
import unicodedata

from judging.engine.interface import Side
from judging.protocols.reading.lazy import compiled_when_used

_SIDES: tuple[Side, ...] = ("A", "B", "C")
BARE = "\ue000\ue001\ue002"  # only the letter
NAMED = "\ue010\ue011\ue012"  # the letter after a word like “response”
NUMBERED = "\ue020\ue021\ue022"  # “Response 1”, “the second answer”
ANY = BARE + NAMED + NUMBERED
MENTION = compiled_when_used(f"[{ANY}]")

_NOUN = (
    r"(?:response|answer|option|reply|assistant|candidate|choice|text|completion|antwort|variante"
    r"|möglichkeit|respuesta|opción|réponse|texte|回答|回复|选项|答案|答复|回应|方案|文本)"
)
_OPENING = r"(?:[\[({\"'“”„«»‘’【「『]{1,2}[ \t]?)?"
_CLOSING = r"(?:[ \t]?[\])}\"'“”„«»‘’】」』]{1,2})?"
_NO_LETTER_BEFORE = r"(?<![A-Za-zÀ-ɏ0-9&'’])"
_NO_LETTER_BEHIND = r"(?![A-Za-zÀ-ɏ0-9&]|['’][a-zA-Z]|-[a-zA-Z0-9])"
# A small letter counts only where it cannot be a word: “a response a young person likes”.
_SMALL = r"[abc](?=\s*(?:[.,;:!)\]|\"”’]|$|(?:is|est|es|ist|because|wins)\b))"
_NO_NUMBER_BEHIND = r"(?![A-Za-zÀ-ɏ0-9%]|[.,/]\d|\s*[%/]|\.?\s*-\s*\d)"
_NAMES = compiled_when_used(
    rf"(?<![A-Za-zÀ-ɏ])(?i:{_NOUN})s?[ \t#_]{{0,2}}{_OPENING}"
    rf"(?:(?P<named>[ABC]{_NO_LETTER_BEHIND}|{_SMALL})"
    rf"|(?P<digit>[12]{_NO_NUMBER_BEHIND}|[一二甲乙](?!样|些|起|致|共|定|般|个|种))){_CLOSING}"
    rf"|\b(?P<ordinal>(?i:first|second|1st|2nd|erste|zweite|première|deuxième|seconde"
    rf"|primera|segunda))[nr]?\s+(?i:{_NOUN})\b"
    rf"|第(?P<chinese>[一二])(?:个|种|条|则)?{_NOUN}"
    rf"|{_NO_LETTER_BEFORE}{_OPENING}(?P<bare>[ABC]){_NO_LETTER_BEHIND}{_CLOSING}",
    re.MULTILINE,
)
_FIRST = {"1", "一", "甲", "first", "1st", "erste", "première", "primera"}
_QUOTED = compiled_when_used(
    r"[\"“„«「『](?=[^\"”“»」』\n]{25,})[^\"”“»」』\n]*(?:[\"”“»」』]|$)", re.MULTILINE
)
_STRUCK = compiled_when_used(r"~~[^~\n]+~~|<(?:s|del|strike)>.*?</(?:s|del|strike)>", re.IGNORECASE)
_MARKS = compiled_when_used(
    r"[*`$]|(?<!\w)_+|_+(?!\w)|^[ \t]*(?:#{1,6}|>|[-•–+](?=\s))[ \t]*", re.MULTILINE
)
_LATEX = compiled_when_used(
    r"\\(?:text(?:bf|it)?|mathrm|mathbf)\{([^{}]*)\}|\\[()\[\]]?(?=[\[\]()\s])"
)
_ANGLES = compiled_when_used(r"<[ \t]*(\d{1,3}[ \t]*%?|[ABC])[ \t]*>")

_GAP = compiled_when_used(r"\n\s*\n")
_REPEATED = compiled_when_used(r"([^\w\n])\1{3,}")


def plain(text: str) -> str:
    """The text without markup, struck words and long quotations, with its full-width signs."""
    text = unicodedata.normalize("NFKC", text)
    text = _STRUCK.sub(" ", text)
    text = _LATEX.sub(lambda found: found[1] or "", text)
    text = _ANGLES.sub(r"[\1]", text)
    text = _MARKS.sub("", text)
    return _REPEATED.sub(r"\1\1\1", _GAP.sub("\n\n", text))


def without_quotations(text: str) -> str:
    """The text with its quoted sentences blanked: they are the words of somebody else."""
    return _QUOTED.sub(lambda quoted: " " * len(quoted[0]), text)


def with_mentions(text: str) -> str:
    """The text with every mention of a response replaced by its character."""
    return _NAMES.sub(_character, text)


def _character(found: "re.Match[str]") -> str:
    if found["bare"]:
        return BARE["ABC".index(found["bare"])]
    if found["named"]:
        return NAMED["ABC".index(found["named"].upper())]
    word = found["digit"] or found["ordinal"] or found["chinese"]
    return NUMBERED[0 if word.lower() in _FIRST else 1]


def side_of(character: str) -> Side:
    """The response that a character stands for."""
    return _SIDES[ord(character) % 16]


def is_numbered(character: str) -> bool:
    """Whether the response was named by its number."""
    return character in NUMBERED
