"""Every sentence of a report's page, with its numbers and what each of them is about.

A sentence is made of quantities if `say` made it. If any other one has a number, nothing says what
that is about.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html.parser import HTMLParser

from analysis.report.quantities import Piece, Population, Text

FIRST_SCREEN = "First screen"
# Elements with sentences; the title of a figure is one without a full stop.
_SENTENCES, _TITLE = ("p", "li", "figcaption"), "h3"
_OTHERS = ("script", "style", "svg", "nav", "form", "td", "th")
_STOPS = (".", "!", "?", ":")
_END = re.compile(r"(?<=[.!?])\s+")
OF_QUANTITIES, WITHOUT_NUMBER, UNKNOWN = "made of quantities", "without a number", "unknown"


@dataclass(frozen=True)
class ListedNumber:
    """A number, its place in report.json, and the position of its population in the sentence's."""

    text: str
    unit: str
    path: str
    of: int | None


@dataclass(frozen=True)
class ListedSentence:
    """A sentence of a chapter; `pieces` are known if it is made of quantities."""

    chapter: str
    text: str
    pieces: Sequence[Piece] = ()

    @property
    def kind(self) -> str:
        if self.pieces:
            return OF_QUANTITIES
        return UNKNOWN if any(sign.isdigit() for sign in self.text) else WITHOUT_NUMBER

    @property
    def populations(self) -> list[Population]:
        """What its numbers are about, and other populations that it names."""
        about = [p.quantity.of for p in self.pieces if p.quantity and p.quantity.of]
        named = [piece.population for piece in self.pieces if piece.population]
        return list(dict.fromkeys([*about, *named]))

    @property
    def numbers(self) -> list[ListedNumber]:
        places = {of: place for place, of in enumerate(self.populations)}
        return [
            ListedNumber(
                piece.text,
                piece.quantity.unit,
                piece.path,
                places[piece.quantity.of] if piece.quantity.of else None,
            )
            for piece in self.pieces
            if piece.quantity
        ]

    @property
    def lines(self) -> Iterator[str]:
        """The sentence, and below it each number and what it is about."""
        yield f"  {self.text}"
        if self.kind == UNKNOWN:
            yield "    (not made of quantities)"
        for piece in self.pieces:
            if piece.quantity and not piece.population:
                of = (
                    f"of {piece.quantity.of}" if piece.quantity.of else "chosen, planned or checked"
                )
                yield f"    {piece.text}: {piece.quantity.unit}, {of}"
            elif piece.population:
                yield f"    {piece.population}"


def sentences_of(page: str, texts: Sequence[Text]) -> Iterator[ListedSentence]:
    """The sentences of a report's page, of which `say` made `texts`."""
    known = {words: pieces for text in texts for words, pieces in _divided(text)}
    reader = _Reader()
    reader.feed(page)
    reader.close()
    for block in reader.blocks:
        for words in _END.split(" ".join(block.text.split())):
            if words.endswith(_STOPS) or (words and block.is_title):
                yield ListedSentence(block.chapter, words, known.get(words, ()))


def _divided(text: Text) -> Iterator[tuple[str, Sequence[Piece]]]:
    """The sentences of a text, each with its pieces."""
    whole = "".join(piece.text.replace("\u00a0", " ") for piece in text.parts)
    begin = 0
    for words in _END.split(whole):
        begin = whole.index(words, begin)
        end = begin + len(words)
        yield words, [p for start, p in text.placed if start < end and start + len(p.text) > begin]
        begin = end


@dataclass
class _Block:
    chapter: str
    is_title: bool
    text: str = ""


class _Reader(HTMLParser):
    """Collects the texts of `_SENTENCES`, each with the heading of its chapter."""

    def __init__(self) -> None:
        super().__init__()
        self.blocks: list[_Block] = []
        self.chapter = FIRST_SCREEN
        self.open: list[tuple[str, bool]] = []  # elements, and whether their text counts
        self.in_chapters = self.in_heading = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.in_chapters |= tag == "section"
        if tag == "h2" and self.in_chapters:
            self.in_heading, self.chapter = True, ""
        elif tag in _OTHERS:
            self.open.append((tag, False))
        elif tag in _SENTENCES or tag == _TITLE:
            is_hidden = "visually-hidden" in (dict(attrs).get("class") or "")
            self.open.append((tag, not is_hidden))
            self.blocks.append(_Block(self.chapter, tag == _TITLE))

    def handle_endtag(self, tag: str) -> None:
        if tag == "h2":
            self.in_heading = False
        elif any(tag == name for name, _ in self.open):
            while self.open.pop()[0] != tag:
                pass

    def handle_data(self, data: str) -> None:
        if self.in_heading:
            self.chapter += data
        elif self.open and all(counts for _, counts in self.open):
            self.blocks[-1].text += data
