"""The text of a reply as it is read: without thoughts, markup, and the middle of a long one."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from judging.engine.replies import without_thoughts

# No pattern sees more of a reply, so the time that reading takes has a limit.
FIRST, LAST = 2_000, 6_000
_BLANKS = re.compile(r"\s{17,}")
_LONG_RUN = re.compile(r"([^\w\s])\1{32,}")
_MARKS = re.compile(
    r"[*`$~]|(?<!\w)_+|_+(?!\w)|^[ \t]*(?:#{1,6}|>|[-•–+](?=\s))[ \t]*", re.MULTILINE
)
_WIDE = str.maketrans("：（）【】「」，；％［］｛｝", ":()[]“”,;%[]{}")
# A reply that changes its mind, or says something else in the end.
CHANGED = re.compile(
    r"\b(?:reflection|reconsider\w*|wait|correction|actually|final(?:ly)?|no,|nein,|überlegung"
    r"|korrektur|doch)\b|\A\W*(?:no|or|sorry|nein|oder|o|ou|non|或|不)\b",
    re.IGNORECASE,
)
# The beginning of a next turn, or of a next task that the model makes up.
_NEXT_TURN = re.compile(
    r"^[#* \t]*+(?:"
    r"\[(?:user profile|user question|question|context|response [ab]|article|profile)\][ \t]*$"
    r"(?!\s*\Z)"
    r"|(?:user|human|instruction|system|nutzer|benutzer)\s*\d*\s*:"
    r"|(?:next|another|nächste\w*)\s+(?:user|question|profile|person|example|item|turn"
    r"|frage|aufgabe)\b"
    r"|(?:example|question|item|case|profile|task|aufgabe|beispiel)\s*#?\d+\s*[:.])"
    r"|<\|\w+\|>|</s>|\[/?INST\]|<(?:start|end)_of_turn>",
    re.IGNORECASE | re.MULTILINE,
)


@dataclass(frozen=True, slots=True)
class Placed:
    """A text that was made of a reply, and where in the reply each of its characters stands."""

    text: str
    places: Sequence[int]

    def sub(self, pattern: re.Pattern[str], new: Callable[[re.Match[str]], str]) -> "Placed":
        """The text with each match replaced by a text that is as long at most."""
        pieces: list[str] = []
        places: list[int] = []
        end = 0
        for found in pattern.finditer(self.text):
            piece = new(found)
            pieces += self.text[end : found.start()], piece
            places += self.places[end : found.start()]
            places += self.places[found.start() : found.start() + len(piece)]
            end = found.end()
        return Placed("".join((*pieces, self.text[end:])), [*places, *self.places[end:]])


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
    return "\n" * min(run[0].count("\n"), 3) or " " * 16


def plain(text: str) -> str:
    """The text with blanks for markup and with narrow signs; everything keeps its place."""
    return _MARKS.sub(lambda mark: " " * len(mark[0]), text.translate(_WIDE))


def without_next_turn(text: str, start: int = 0) -> str:
    """The text up to the next turn or task that the model makes up behind `start`."""
    cut = _NEXT_TURN.search(text, start)
    return text[: cut.start()] if cut and text[: cut.start()].strip() else text
