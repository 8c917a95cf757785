"""Numbers that know what they are about, and sentences that cannot mix what they are about.

A `Quantity` carries its population, and a sentence takes quantities. If they are of several
populations, its form has to print each of them.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from string import Formatter
from typing import Literal

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


@dataclass(frozen=True)
class Text:
    """A text; `parts` are its pieces, each with the path of its number or “”.

    `about` are the populations of its quantities, `named` those that it names.
    """

    parts: tuple[tuple[str, str], ...]
    about: tuple[Population, ...] = ()
    named: tuple[Population, ...] = ()
    begins_with_name: bool = False

    def __str__(self) -> str:
        return "".join(text for text, _ in self.parts)

    @property
    def numbers(self) -> list[Json]:
        """All numbers: text, position in the sentence, and path."""
        numbers, start = [], 0
        for text, path in self.parts:
            if path:
                numbers.append({"at": start, "text": text, "path": path})
            start += len(text)
        return numbers

    @property
    def populations(self) -> list[Population]:
        """What its quantities are about, each once."""
        distinct: list[Population] = []
        for population in self.about:
            if not any(population.is_same(other) for other in distinct):
                distinct.append(population)
        return distinct

    @property
    def mixed(self) -> list[Population]:
        """Populations that are not named although there are several."""
        distinct = self.populations
        if len(distinct) < 2:
            return []
        return [of for of in distinct if not any(of.is_same(named) for named in self.named)]


Slot = Quantity | Population | Name | Words | Text


def clause(form: str, **slots: Slot) -> Text:
    """Fill in a part of a sentence; `say` checks the whole one.

    A slot is ``{x}`` for a number in its unit or for a population, ``{x.of}`` for the population of
    a number, ``{x.n}`` for the size of either, and for a population ``{x.has}``, which agrees with
    it.
    """
    parts: list[tuple[str, str]] = []
    about: list[Population] = []
    named: list[Population] = []
    begins_with_name = False
    for literal, slot, _, _ in Formatter().parse(form):
        _add(parts, (literal, ""))
        if slot is None:
            continue
        name, _, aspect = slot.partition(".")
        value = slots[name]
        if not any(text for text, _ in parts):
            begins_with_name = isinstance(value, Name) or (
                isinstance(value, Text) and value.begins_with_name
            )
        match value:
            case Text():
                _add(parts, *value.parts)
                about += value.about
                named += value.named
            case Quantity():
                of = value.of
                _add(
                    parts, (_of_population(of, aspect), "") if aspect else (str(value), value.path)
                )
                about.append(of)
                if aspect == "of":
                    named.append(of)
            case Population():
                _add(parts, (_of_population(value, aspect), ""))
                named.append(value)
            case Name() | Words():
                _add(parts, (str(value), ""))
            case _:
                raise NotASlot(
                    f"{value!r} is no slot of a sentence: use a quantity, a population, a name or "
                    "fixed words."
                )
    filled = tuple(part for part in parts if part[0])
    return Text(filled, tuple(about), tuple(named), begins_with_name)


def _add(parts: list[tuple[str, str]], *more: tuple[str, str]) -> None:
    """Append pieces; a name that ends with a full stop ends the sentence too."""
    for text, path in more:
        ended = parts and next((t for t, _ in reversed(parts) if t), "").endswith(".")
        parts.append((text[1:] if ended and text.startswith(".") else text, path))


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
    return text if text.begins_with_name else _capitalised(text)


def _capitalised(text: Text) -> Text:
    if not text.parts:
        return text
    (first, path), *rest = text.parts
    return replace(text, parts=((first[:1].upper() + first[1:], path), *rest))


def joined(parts: Sequence[Text]) -> Text:
    """Parts of a sentence with commas and “and”."""
    text = parts[0]
    for place, part in enumerate(parts[1:], start=2):
        form = "{text} and {part}" if place == len(parts) else "{text}, {part}"
        text = clause(form, text=text, part=part)
    return text
