"""Numbers that know what they are about, and sentences that cannot mix what they are about.

A `Quantity` carries its population, and a sentence takes quantities. If they are of several
populations, its form has to print each of them.
"""

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from string import Formatter
from typing import Literal, NamedTuple

from analysis.report.report_json import Json, ReportJson
from analysis.report.rules import TOO_SMALL
from analysis.report.words import (
    decimal,
    decimal_range,
    figure,
    listed,
    number_of,
    p_value,
    percent,
    percent_range,
    plural,
    points,
    points_range,
    reason,
)

Unit = Literal[
    "share",
    "rate",
    "part",
    "points",
    "size",
    "margin",
    "certainty",
    "coefficient",
    "exact",
    "number",
    "count",
    "level",
    "p",
]


class OtherPopulation(ValueError):
    """A sentence has numbers of several populations and does not name each of them."""


class NotASlot(TypeError):
    """A value that a sentence does not take: a bare number, or a text with figures."""


@dataclass(frozen=True)
class Population:
    """What a number is about: `n` units of a kind, of how many, and by which rule.

    `path` and `among_path` are the places of `n` and `among` in report.json, if they are there.

    >>> str(Population("item", "that both orders decide alike", 77, 240))
    '77 items (of 240) that both orders decide alike'
    >>> str(Population("person", n=1))
    '1 person'
    """

    kind: str
    rule: str = ""
    n: int = 0
    among: int | None = None
    path: str = field(default="", compare=False)
    among_path: str = field(default="", compare=False)

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

    @property
    def among_words(self) -> str:
        return "" if self.among is None or self.is_whole else f" (of {self.among:,})"

    def __str__(self) -> str:
        rule = f" {self.rule}" if self.rule and not self.is_whole else ""
        return f"{number_of(self.n, self.kind)}{self.among_words}{rule}"


@dataclass(frozen=True)
class QuantityInterval:
    """The ends of a 95 % interval and their place in report.json, or why there is none.

    >>> QuantityInterval.at({"ci": None, "ci_reason": "too_few_items"}, "ci", "human.majority").why
    'too few items'
    """

    ends: tuple[float, float] | None = None
    path: str = ""
    why: str = ""

    @classmethod
    def at(cls, entry: ReportJson, key: str, path: str) -> "QuantityInterval":
        """Read an interval of report.json from the entry at `path`."""
        if entry[key] is None:
            return cls(why=reason(entry[f"{key}_reason"]))
        low, high = entry[key]
        return cls((low, high), f"{path}.{key}")

    @property
    def excludes_zero(self) -> bool:
        return self.ends is not None and not self.ends[0] <= 0 <= self.ends[1]


NO_INTERVAL = QuantityInterval(why="not computed")


@dataclass(frozen=True)
class Quantity:
    """A number, its population and its interval; `path` is its place in report.json, if any.

    What was chosen, such as a threshold, and what is planned have no population.
    """

    unit: Unit
    of: Population | None
    value: float
    path: str = ""
    interval: QuantityInterval = NO_INTERVAL

    def __post_init__(self) -> None:
        if not all(map(math.isfinite, (self.value, *(self.interval.ends or ())))):
            raise ValueError(f"{self.value} is not finite.")
        if self.unit == "share" and not 0 <= self.value <= 1:
            raise ValueError(f"{self.value} is no share.")

    def __str__(self) -> str:
        """The number in its unit; a share of few units is a count, as in every table."""
        if self.unit == "share" and self.of and self.of.n < TOO_SMALL:
            return f"{self.value * self.of.n:.0f}"
        return _UNITS[self.unit](self.value)


# A rate or a part is a percentage of something else than its population's units, a size a number
# of points without a sign, a margin or a level a setting as it was chosen.
_UNITS = {
    "share": percent,
    "rate": percent,
    "part": lambda value: f"{value * 100:.0f} %",
    "points": points,
    "size": lambda value: figure(abs(value) * 100, ".1f"),
    "margin": lambda value: f"{value * 100:g}",
    "certainty": lambda value: figure(value, ".0f"),
    "coefficient": lambda value: decimal(value, 2),
    "exact": lambda value: decimal(value, 6),
    "number": lambda value: figure(value, ".1f"),
    "count": lambda value: f"{value:,.0f}",
    "level": lambda value: f"{value:g}",
    "p": p_value,
}
_RANGES = {
    "share": percent_range,
    "rate": percent_range,
    "points": points_range,
    "coefficient": lambda ends: decimal_range(ends, 2),
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

    def __bool__(self) -> bool:
        return bool(self.parts)

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

    A slot is ``{x}`` for a number in its unit or for a population. ``{x.of}`` is the population of
    a number, ``{x.full}`` the same with its rule even if that leaves none out, ``{x.some}`` without
    its rule, ``{x.n}`` only how many, ``{x.among}`` of how many. ``{x.interval}`` is “95 % CI” with
    its ends, ``{x.ends}`` the ends alone, ``{x.why}`` why there are none. ``{x.size}`` is
    the number of a population alone, and ``{x.has}``, ``{x.is}`` and ``{x.was}``
    agree with it.
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
            if aspect in ("interval", "ends", "why"):
                return _of_interval(value, aspect)
            if value.of is None:
                raise NotASlot(f"{value} has no population.")
            return _of_population(
                value.of, aspect, is_named=aspect in ("of", "full", "some", "among")
            )
        case Population():
            return _of_population(value, aspect, is_named=True)
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


def _of_interval(value: Quantity, aspect: str) -> list[Piece]:
    interval = value.interval
    if interval.ends is None:
        return [Piece(f"no interval: {interval.why}" if aspect == "interval" else interval.why)]
    ends = Piece(_RANGES[value.unit](interval.ends), interval.path, quantity=value)
    return [ends] if aspect == "ends" else [Piece("95 % CI "), ends]


def _of_population(of: Population, aspect: str, *, is_named: bool) -> list[Piece]:
    """The words about a population, whose numbers have their own places in report.json."""
    words, n = _population_words(of, aspect), f"{of.n:,}"
    named = of if is_named else None
    if aspect == "among" or not words.startswith(n):
        return [Piece(words, population=named)]
    if words == n:
        return [Piece(n, of.path, population=named)]
    before, bracket, after = words.removeprefix(n).partition(of.among_words or "(none)")
    pieces = [Piece(n, of.path), Piece(before, population=named)]
    if bracket:
        pieces += [Piece(" (of "), Piece(f"{of.among:,}", of.among_path), Piece(f"){after}")]
    return pieces


def _population_words(of: Population, aspect: str) -> str:
    match aspect:
        case "" | "of":
            return str(of)
        case "full":
            return str(of) if of.rule in str(of) else f"{of} {of.rule}"
        case "some":
            return str(replace(of, rule=""))
        case "n":
            return number_of(of.n, of.kind)
        case "size":
            return f"{of.n:,}"
        case "among" if of.among is not None:
            return number_of(of.among, of.kind)
        case "has":
            return "has" if of.n == 1 else "have"
        case "is":
            return "is" if of.n == 1 else "are"
        case "was":
            return "was" if of.n == 1 else "were"
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
    return _remembered(capitalised(text))


def _remembered(text: Text) -> Text:
    if (texts := _recorded.get()) is not None:
        texts.append(text)
    return text


def sentences(*texts: Text) -> Text:
    """Whole sentences that follow one another, each of which names its own populations."""
    parts = [part for text in texts for part in (Piece(" "), *text.parts)]
    return Text(tuple(parts[1:]), texts[0].begins_with_name)


def fixed(words: str) -> Text:
    """Words for readers of every report, whose figures belong to them, as in “95 % CI”."""
    return _remembered(Text((Piece(words),)))


def unbroken(text: Text) -> str:
    """The words without line breaks between a number and “%”."""
    return str(text).replace(" %", "\u00a0%")


def capitalised(text: Text) -> Text:
    """The text with a capital at its start, except a name."""
    if not text.parts or text.begins_with_name:
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


def joined(parts: Sequence[Text], comma: str = ", ", last: str = " and ") -> Text:
    """Parts of a sentence with commas and “and”."""
    text = parts[0] if parts else Text(())
    for place, part in enumerate(parts[1:], start=2):
        between = last if place == len(parts) else comma
        text = clause(f"{{text}}{between}{{part}}", text=text, part=part)
    return text
