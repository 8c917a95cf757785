"""Where a reply names a response: “Response A”, “(B)”, “the first answer”, “选项二”.

Each mention is replaced by one private character, so that patterns of words need not repeat
every way to name a response.
"""

import re
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from judging.engine.interface import Side
from judging.engine.replies import without_thoughts
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
_STRUCK = compiled_when_used(
    r"~~[^~\n]+~~|<(?:s|del|strike)>[^<\n]*</(?:s|del|strike)>", re.IGNORECASE
)
_MARKS = compiled_when_used(
    r"[*`$]|(?<!\w)_+|_+(?!\w)|^[ \t]*(?:#{1,6}|>|[-•–+](?=\s))[ \t]*", re.MULTILINE
)
_LATEX = compiled_when_used(
    r"\\(?:text(?:bf|it)?|mathrm|mathbf)\{([^{}]*)\}|\\[()\[\]]?(?=[\[\]()\s])"
)
_ANGLES = compiled_when_used(r"<[ \t]*(\d{1,3}[ \t]*%?|[ABC])[ \t]*>")

_GAP = compiled_when_used(r"\n\s*\n")
_REPEATED = compiled_when_used(r"([^\w\n])\1{3,}")


# What is read of a reply: no pattern sees more, so the time that reading takes has a limit.
FIRST, LAST = 2_000, 6_000
_BLANKS = compiled_when_used(r"\s{17,}")
_LONG_RUN = compiled_when_used(r"([^\w\s])\1{32,}")


@dataclass(frozen=True, slots=True)
class Placed:
    """A text that was made of a reply, and where in the reply each of its characters stands."""

    text: str
    places: Sequence[int]

    def sub(
        self,
        pattern: re.Pattern[str],
        new: Callable[[re.Match[str]], str],
        at: Callable[[re.Match[str]], int] = re.Match.start,
    ) -> "Placed":
        """The text with what `pattern` finds replaced, as `re.sub` does it.

        A new text stands where the match has it, otherwise at the place that `at` tells.
        """
        pieces: list[str] = []
        places: list[int] = []
        end = 0
        for found in pattern.finditer(self.text):
            piece = new(found)
            pieces += self.text[end : found.start()], piece
            places += self.places[end : found.start()]
            if (offset := found[0].find(piece)) >= 0:
                start = found.start() + offset
                places += self.places[start : start + len(piece)]
            elif len(piece) == len(found[0]):
                places += self.places[found.start() : found.end()]
            else:
                places += [self.places[at(found)]] * len(piece)
            end = found.end()
        if not end:
            return self
        return Placed("".join((*pieces, self.text[end:])), [*places, *self.places[end:]])

    def until(self, end: int) -> "Placed":
        return Placed(self.text[:end], self.places[:end])


def readable(reply: str) -> Placed:
    """What is read of a reply: no thoughts, no long runs of one sign, no middle of a long one."""
    text = without_thoughts(reply)
    placed = Placed(text, range(len(text)))
    placed = placed.sub(_BLANKS, _few_blanks).sub(_LONG_RUN, lambda run: run[1] * 32)
    if len(placed.text) <= FIRST + LAST:
        return placed
    text, places = placed.text, placed.places
    gap = [places[FIRST]] * 2
    return Placed(f"{text[:FIRST]}\n\n{text[-LAST:]}", [*places[:FIRST], *gap, *places[-LAST:]])


def _few_blanks(run: re.Match[str]) -> str:
    lines = run[0].count("\n")
    return "\n" * min(lines, 3) if lines else " " * 16


def plain(placed: Placed) -> Placed:
    """The text without markup and struck words, with its full-width signs."""
    placed = _normalised(placed)
    placed = placed.sub(_STRUCK, lambda found: " ")
    placed = placed.sub(_LATEX, lambda found: found[1] or "")
    placed = placed.sub(_ANGLES, lambda found: f"[{found[1]}]", _letter)
    placed = placed.sub(_MARKS, lambda found: "")
    placed = placed.sub(_GAP, lambda found: "\n\n")
    return placed.sub(_REPEATED, lambda found: found[1] * 3)


def _normalised(placed: Placed) -> Placed:
    text = unicodedata.normalize("NFKC", placed.text)
    if text == placed.text:
        return placed
    each = [unicodedata.normalize("NFKC", character) for character in placed.text]
    places = [place for new, place in zip(each, placed.places, strict=True) for _ in new]
    # Letters and accents that were joined make the text shorter: then no place is known.
    return Placed(text, places if "".join(each) == text else [-1] * len(text))


def without_quotations(placed: Placed) -> Placed:
    """The text with its quoted sentences blanked: they are the words of somebody else."""
    return placed.sub(_QUOTED, lambda quoted: " " * len(quoted[0]))


def with_mentions(placed: Placed) -> Placed:
    """The text with every mention of a response replaced by its character."""
    return placed.sub(_NAMES, _character, _letter)


def _letter(found: "re.Match[str]") -> int:
    """Where the group that names the response begins."""
    return found.start(found.lastindex or 0)


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
