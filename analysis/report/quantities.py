"""Numbers that know what they are about, and sentences that cannot mix what they are about.

A `Quantity` carries its population, and a sentence takes quantities. If they are of several
populations, its form has to print each of them.
"""

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from string import Formatter
from typing import Literal, NamedTuple

from analysis.report.report_json import Json
from analysis.report.rules import TOO_SMALL
from analysis.report.words import figure, listed, number_of, percent, plural, points

Unit = Literal["share", "points", "certainty", "number", "count"]


class OtherPopulation(ValueError):
    """A sentence has numbers of several populations and does not name each of them."""


class NotASlot(TypeError):
    """A value that a sentence does not take: a bare number, or a text with figures."""


@dataclass(frozen=True)
class Population:
    """What a number is about: `n` units of a kind, of how many, and by which rule.

    >>> str(Population("item", "that both orders decide alike", 77, 240))
    '77 items (of 240) that both orders decide alike'
    >>> str(Population("person", n=1))
    '1 person'
    """

    kind: str
    rule: str = ""
    n: int = 0
    among: int | None = None

    def __post_init__(self) -> None:
        if self.n < 0 or (self.among is not None and self.among < self.n):
            raise ValueError(f"{self.n:,} of {self.among} {plural(self.kind)} is no population.")

    @property
    def is_whole(self) -> bool:
        """Whether all units belong to it, so that the rule leaves none out."""
        return self.among == self.n

    def is_same(self, other: "Population") -> bool:
        """Whether both have the same units. All units are the same by any rule."""
        if self.is_whole and other.is_whole:
            return (self.kind, self.n) == (other.kind, other.n)
        return self == other

    def __str__(self) -> str:
        among = "" if self.among is None or self.is_whole else f" (of {self.among:,})"
        rule = f" {self.rule}" if self.rule and not self.is_whole else ""
        return f"{number_of(self.n, self.kind)}{among}{rule}"


@dataclass(frozen=True)
class Quantity:
    """A number and its population; `path` is its place in report.json, if it has one there."""

    unit: Unit
    of: Population
    value: float
    path: str = ""

    def __post_init__(self) -> None:
        if not math.isfinite(self.value):
            raise ValueError(f"{self.value} is not finite.")
        if self.unit == "share" and not 0 <= self.value <= 1:
            raise ValueError(f"{self.value} is no share.")

    def __str__(self) -> str:
        """The number in its unit; a share of few units is a count, as in every table."""
        if self.unit == "share" and self.of.n < TOO_SMALL:
            return f"{self.value * self.of.n:.0f}"
        return _UNITS[self.unit](self.value)


_UNITS = {
    "share": percent,
    "points": points,
    "certainty": lambda value: figure(value, ".0f"),
    "number": lambda value: figure(value, ".1f"),
    "count": lambda value: f"{value:,.0f}",
}


class Name(str):
    """The name of a judge, a group or an item, which stays as it is written."""

    __slots__ = ()


class Words(str):
    """Fixed words of a form. They have no figures, which only quantities have."""

    __slots__ = ()

    def __new__(cls, text: str) -> "Words":
        if any(sign.isdigit() for sign in text):
            raise NotASlot(f"“{text}” has figures: use a quantity or a population.")
        return super().__new__(cls, text)


class Piece(NamedTuple):
    """A part of a text: words, or a number with its path in report.json if it has one there.

    `quantity` is the number's, and `population` is the one that the words name.
    """

    text: str
    path: str = ""
    quantity: Quantity | None = None
    population: Population | None = None


@dataclass(frozen=True)
class Text:
    """A text and its pieces."""

    parts: tuple[Piece, ...]
    begins_with_name: bool = False

    def __str__(self) -> str:
        return "".join(piece.text for piece in self.parts)

    @property
    def placed(self) -> Iterator[tuple[int, Piece]]:
        """Every piece with its position in the text."""
        start = 0
        for piece in self.parts:
            yield start, piece
            start += len(piece.text)

    @property
    def numbers(self) -> list[Json]:
        """The numbers that report.json has: text, position in the sentence, and path."""
        return [
            {"at": start, "text": piece.text, "path": piece.path}
            for start, piece in self.placed
            if piece.path
        ]

    @property
    def populations(self) -> list[Population]:
        """What its quantities are about, each once."""
        distinct: list[Population] = []
        for piece in self.parts:
            of = piece.quantity and piece.quantity.of
            if of and not any(of.is_same(other) for other in distinct):
                distinct.append(of)
        return distinct

    @property
    def mixed(self) -> list[Population]:
        """Populations that are not named although there are several."""
        distinct = self.populations
        if len(distinct) < 2:
            return []
        named = [piece.population for piece in self.parts if piece.population]
        return [of for of in distinct if not any(of.is_same(other) for other in named)]


def bare(words: str) -> Text:
    """A text whose numbers are of unknown populations."""
    return Text((Piece(words),))


Slot = Quantity | Population | Name | Words | Text


def clause(form: str, **slots: Slot) -> Text:
    """Fill in a part of a sentence; `say` checks the whole one.

    A slot is ``{x}`` for a number in its unit or for a population, ``{x.of}`` for the population of
    a number, ``{x.n}`` for the size of either, and for a population ``{x.has}``, which agrees with
    it.
    """
    parts: list[Piece] = []
    begins_with_name = False
    for literal, slot, _, _ in Formatter().parse(form):
        _add(parts, Piece(literal))
        if slot is None:
            continue
        name, _, aspect = slot.partition(".")
        value = slots[name]
        if not any(piece.text for piece in parts):
            begins_with_name = isinstance(value, Name) or (
                isinstance(value, Text) and value.begins_with_name
            )
        _add(parts, *_pieces(value, aspect))
    return Text(tuple(piece for piece in parts if piece.text), begins_with_name)


def _pieces(value: Slot, aspect: str) -> Sequence[Piece]:
    match value:
        case Text():
            return value.parts
        case Quantity():
            if not aspect:
                return [Piece(str(value), value.path, quantity=value)]
            named = value.of if aspect == "of" else None
            return [Piece(_of_population(value.of, aspect), quantity=value, population=named)]
        case Population():
            return [Piece(_of_population(value, aspect), population=value)]
        case Name() | Words():
            return [Piece(str(value))]
    raise NotASlot(
        f"{value!r} is no slot of a sentence: use a quantity, a population, a name or fixed words."
    )


def _add(parts: list[Piece], *more: Piece) -> None:
    """Append pieces; a name that ends with a full stop ends the sentence too."""
    for piece in more:
        before = next((other.text for other in reversed(parts) if other.text), "")
        is_double = before.endswith(".") and piece.text.startswith(".")
        parts.append(piece._replace(text=piece.text[1:]) if is_double else piece)


def _of_population(of: Population, aspect: str) -> str:
    match aspect:
        case "" | "of":
            return str(of)
        case "n":
            return number_of(of.n, of.kind)
        case "has":
            return "has" if of.n == 1 else "have"
    raise NotASlot(f"A population has no {aspect}.")


def say(form: str, **slots: Slot) -> Text:
    """A whole sentence, or several. Raises `OtherPopulation` if it mixes populations.

    >>> accuracy = Quantity("share", Population("item", n=77, among=77), 0.792)
    >>> str(say("{who} is right on {x} of {x.of}.", who=Name("k"), x=accuracy))
    'k is right on 79.2 % of 77 items.'
    """
    text = clause(form, **slots)
    if mixed := text.mixed:
        of = "; ".join(map(str, text.populations))
        raise OtherPopulation(
            f"“{form}” has numbers about {of}, and does not name {listed([*map(str, mixed)])}."
        )
    sentence = text if text.begins_with_name else _capitalised(text)
    if (texts := _recorded.get()) is not None:
        texts.append(sentence)
    return sentence


def _capitalised(text: Text) -> Text:
    if not text.parts:
        return text
    first, *rest = text.parts
    return replace(
        text, parts=(first._replace(text=first.text[:1].upper() + first.text[1:]), *rest)
    )


_recorded: ContextVar[list[Text] | None] = ContextVar("recorded", default=None)


@contextmanager
def recorded() -> Iterator[list[Text]]:
    """All sentences that `say` makes inside."""
    texts: list[Text] = []
    token = _recorded.set(texts)
    try:
        yield texts
    finally:
        _recorded.reset(token)


def joined(parts: Sequence[Text]) -> Text:
    """Parts of a sentence with commas and “and”."""
    text = parts[0]
    for place, part in enumerate(parts[1:], start=2):
        form = "{text} and {part}" if place == len(parts) else "{text}, {part}"
        text = clause(form, text=text, part=part)
    return text
