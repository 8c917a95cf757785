"""Numbers that know what they are about, and sentences that cannot mix what they are about.

A `Quantity` carries its population, and a sentence takes quantities. If they are of several
populations, its form has to print each of them.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from string import Formatter
from typing import Any, Literal

from analysis.report.report_json import Json
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

Unit = Literal["share", "points", "certainty", "coefficient", "number", "count", "p", "cost"]
Form = str


class OtherPopulation(ValueError):
    """Two numbers of different populations where only numbers of one make sense."""


class NotASlot(TypeError):
    """A value that a sentence does not take: a bare number, or a text with figures."""


class Contradiction(ValueError):
    """A sentence whose words, number and test do not say the same."""


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

    @property
    def counted(self) -> str:
        return number_of(self.n, self.kind)

    def is_same(self, other: "Population") -> bool:
        """Whether both have the same units. All units are the same by any rule."""
        if self.is_whole and other.is_whole:
            return (self.kind, self.n) == (other.kind, other.n)
        return self == other

    def __str__(self) -> str:
        among = "" if self.among is None or self.is_whole else f" (of {self.among:,})"
        rule = f" {self.rule}" if self.rule and not self.is_whole else ""
        return f"{self.counted}{among}{rule}"

    @property
    def facts(self) -> Json:
        """The population as JSON."""
        found: Json = {"kind": self.kind, "rule": self.rule, "n": self.n, "among": self.among}
        return {key: value for key, value in found.items() if value not in ("", None)}


class Finding(StrEnum):
    """What a test says after its correction."""

    ABOVE = "above"
    BELOW = "below"
    EQUIVALENT = "equivalent"
    OPEN = "cannot tell"


@dataclass(frozen=True)
class TestResult:
    """A test after its correction: the finding, and what it was computed on.

    `p` is the p value after the `correction` among `tests`, `stopped` says where a test of several
    steps ended.
    """

    __test__ = False  # no class of tests, although its name begins like one

    finding: Finding
    of: Population | None
    p: float | None = None
    tests: int = 1
    correction: str = ""
    stopped: str = ""
    path: str = ""


@dataclass(frozen=True)
class Source:
    """Where a number comes from: how it was obtained, and when it was decided on."""

    origin: Literal["asked here", "imported", "computed"] = "computed"
    plan: Literal["planned", "explored", ""] = ""
    is_late: bool = False

    def __str__(self) -> str:
        late = "turned on after the data" if self.is_late else ""
        return ", ".join(filter(None, (self.origin, self.plan, late)))


@dataclass(frozen=True)
class Quantity:
    """A number with its interval and its population, or the reason why there is none.

    `of` is None for a setting of the study, such as the threshold. `name` is its key in report.json
    and `path` its place there.
    """

    name: str
    label: str
    unit: Unit
    of: Population | None
    value: float | None = None
    reason: str = ""
    low: float | None = None
    high: float | None = None
    interval_reason: str = ""
    level: float = 0.95
    definition: str = ""
    test: TestResult | None = None
    source: Source = field(default_factory=Source)
    path: str = ""
    interval_path: str = ""

    def __post_init__(self) -> None:
        if (self.value is None) == (not self.reason):
            raise ValueError(f"{self.name} needs a value or a reason.")
        if (self.low is None) != (self.high is None):
            raise ValueError(f"{self.name} has one end of an interval.")
        known = [x for x in (self.value, self.low, self.high) if x is not None]
        if not all(map(math.isfinite, known)):
            raise ValueError(f"{self.name} is not finite.")
        if self.ends and self.ends[0] > self.ends[1]:
            raise ValueError(f"The interval of {self.name} ends before it begins.")
        if self.unit == "share" and self.value is not None and not 0 <= self.value <= 1:
            raise ValueError(f"{self.name} is a share, but {self.value}.")

    @property
    def ends(self) -> tuple[float, float] | None:
        return None if self.low is None or self.high is None else (self.low, self.high)

    @property
    def n(self) -> int:
        return self.of.n if self.of else 0

    @property
    def is_few(self) -> bool:
        """Whether so few units are a count without a percentage."""
        return self.unit == "share" and self.of is not None and self.of.n < TOO_SMALL

    @property
    def includes_zero(self) -> bool:
        return self.ends is not None and self.ends[0] <= 0 <= self.ends[1]

    def shown(self, form: str = "") -> str:
        """The number in its unit; a share of few units is a count, as in every table."""
        if self.value is None:
            raise Contradiction(f"{self.name} is undefined ({self.reason}), so it cannot be said.")
        if form:
            return figure(self.value, form)
        if self.is_few:
            return f"{self.value * self.n:.0f}"
        return _UNITS[self.unit](self.value)

    @property
    def ends_shown(self) -> str:
        if self.ends is None:
            raise Contradiction(f"{self.name} has no interval.")
        return _RANGES.get(self.unit, decimal_range)(self.ends)

    @property
    def why(self) -> str:
        """Why there is no number, or no interval, in words."""
        return reason(self.reason or self.interval_reason)

    @property
    def facts(self) -> Json:
        """The quantity as JSON, without what is empty."""
        found: Json = {
            "name": self.name,
            "path": self.path,
            "label": self.label,
            "unit": self.unit,
            "value": self.value,
            "reason": self.reason,
            "ci": None if self.ends is None else list(self.ends),
            "of": self.of.facts if self.of else None,
            "source": str(self.source),
        }
        return {key: value for key, value in found.items() if value not in ("", None)}


_UNITS = {
    "share": percent,
    "points": points,
    "certainty": lambda value: figure(value, ".0f"),
    "coefficient": lambda value: decimal(value, 2),
    "number": lambda value: figure(value, ".1f"),
    "count": lambda value: f"{value:,.0f}",
    "p": p_value,
    "cost": lambda value: figure(value, ",.2f"),
}
_RANGES = {
    "share": percent_range,
    "points": points_range,
    "coefficient": lambda ends: decimal_range(ends, 2),
    "certainty": lambda ends: decimal_range(ends, 0),
    "number": lambda ends: decimal_range(ends, 1),
}


def _pair(one: Quantity, other: Quantity) -> tuple[Population | None, str]:
    """The population of both, and why a result of both is undefined."""
    if (one.of is None) != (other.of is None) or (
        one.of and other.of and not one.of.is_same(other.of)
    ):
        raise OtherPopulation(
            f"{one.label} is about {one.of}, {other.label} about {other.of}: they cannot be "
            "compared."
        )
    return one.of, one.reason or other.reason


def difference(one: Quantity, other: Quantity) -> Quantity:
    """`one` minus `other`, without an interval. Raises `OtherPopulation`."""
    of, why = _pair(one, other)
    if one.unit != other.unit:
        raise Contradiction(f"{one.label} and {other.label} have different units.")
    value = None if one.value is None or other.value is None else one.value - other.value
    return Quantity(
        f"{one.name} - {other.name}",
        f"{one.label} minus {other.label}",
        "points" if one.unit == "share" else one.unit,
        of,
        value,
        why,
        interval_reason="not_tested",
    )


def ratio(one: Quantity, other: Quantity) -> Quantity:
    """`one` divided by `other`, without an interval. Raises `OtherPopulation`."""
    of, why = _pair(one, other)
    value = None
    if one.value is not None and other.value is not None:
        value, why = (one.value / other.value, "") if other.value else (None, "empty_group")
    return Quantity(
        f"{one.name} / {other.name}",
        f"{one.label} divided by {other.label}",
        "number",
        of,
        value,
        why,
        interval_reason="not_tested",
    )


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

    `used` are the quantities and counts in it, `printed` the populations that it names.
    """

    parts: tuple[tuple[str, str], ...]
    used: tuple["Quantity | Population", ...] = ()
    printed: tuple[Population, ...] = ()
    begins_with_name: bool = False

    def __str__(self) -> str:
        return "".join(text for text, _ in self.parts)

    @property
    def numbers(self) -> list[Json]:
        """All numbers: text, position in the sentence, and path."""
        found, start = [], 0
        for text, path in self.parts:
            if path:
                found.append({"at": start, "text": text, "path": path})
            start += len(text)
        return found

    @property
    def populations(self) -> list[Population]:
        """What its quantities are about, each once."""
        found: list[Population] = []
        for each in self.used:
            of = each.of if isinstance(each, Quantity) else None
            if of is not None and not any(of.is_same(other) for other in found):
                found.append(of)
        return found

    @property
    def mixed(self) -> list[Population]:
        """Populations that are not named although there are several."""
        found = self.populations
        if len(found) < 2:
            return []
        return [of for of in found if not any(of.is_same(named) for named in self.printed)]


Slot = Quantity | Population | TestResult | Name | Words | Text


def names(found: Sequence[str]) -> Text:
    """Names joined as in a sentence."""
    return Text(((listed(found), ""),), begins_with_name=True)


def clause(form: Form, **slots: Slot) -> Text:
    """Fill in a part of a sentence; `say` checks the whole one.

    A slot is ``{x}`` for the number in its unit, ``{x.of}`` for its population, ``{x.n}`` for the
    size of it, ``{x.interval}`` and ``{x.ends}``, ``{x.why}`` for the reason, and for a count
    ``{x.is}`` and ``{x.has}``, which agree with it. A format such as ``{x:.1f}`` sets the digits.
    """
    parts: list[tuple[str, str]] = []
    used: list[Quantity | Population] = []
    printed: list[Population] = []
    begins_with_name = False
    for literal, slot, digits, _ in Formatter().parse(form):
        _add(parts, [(literal, "")])
        if slot is None:
            continue
        name, _, aspect = slot.partition(".")
        value = slots[name]
        if not any(text for text, _ in parts):
            begins_with_name = isinstance(value, Name) or (
                isinstance(value, Text) and value.begins_with_name
            )
        if isinstance(value, Text):
            used += value.used
            printed += value.printed
        elif isinstance(value, Quantity | Population):
            used.append(value)
            of = value.of if isinstance(value, Quantity) else value
            if of is not None and (aspect == "of" or isinstance(value, Population)):
                printed.append(of)
        _add(parts, _pieces(value, aspect, digits or ""))
    found = tuple(part for part in parts if part[0])
    return Text(found, tuple(used), tuple(printed), begins_with_name)


def _add(parts: list[tuple[str, str]], more: Sequence[tuple[str, str]]) -> None:
    """Append pieces; a name that ends with a full stop ends the sentence too."""
    for text, path in more:
        ended = parts and next((t for t, _ in reversed(parts) if t), "").endswith(".")
        parts.append((text[1:] if ended and text.startswith(".") else text, path))


def _pieces(value: object, aspect: str, digits: str) -> Sequence[tuple[str, str]]:
    match value:
        case Text():
            return value.parts
        case Quantity():
            return _of_quantity(value, aspect, digits)
        case Population():
            return [(_of_population(value, aspect), "")]
        case TestResult():
            if aspect != "p" or value.p is None:
                raise NotASlot("Of a test, a sentence shows the p value, if it has one.")
            return [(p_value(value.p), value.path)]
        case Name() | Words():
            return [(str(value), "")]
    raise NotASlot(
        f"{value!r} is no slot of a sentence: use a quantity, a population, a name or fixed words."
    )


def _of_quantity(value: Quantity, aspect: str, digits: str) -> list[tuple[str, str]]:
    match aspect:
        case "":
            return [(value.shown(digits), value.path)]
        case "ends":
            return [(value.ends_shown, value.interval_path)]
        case "interval":
            if value.ends is None:
                return [(f"no interval: {value.why}", "")]
            return [(f"{value.level:.0%} CI ".replace("%", " %"), ""), *_ends(value)]
        case "why":
            return [(value.why, "")]
        case "label":
            return [(value.label, "")]
    if value.of is None:
        raise NotASlot(f"{value.name} is a setting and has no {aspect}.")
    return [(_of_population(value.of, {"of": ""}.get(aspect, aspect)), "")]


def _ends(value: Quantity) -> list[tuple[str, str]]:
    return [(value.ends_shown, value.interval_path)]


def _of_population(of: Population, aspect: str) -> str:
    is_one = of.n == 1
    match aspect:
        case "":
            return str(of)
        case "n":
            return of.counted
        case "count":
            return f"{of.n:,}"
        case "is":
            return "is" if is_one else "are"
        case "has":
            return "has" if is_one else "have"
    raise NotASlot(f"A population has no {aspect}.")


def say(form: Form, **slots: Slot) -> Text:
    """A whole sentence, or several. Raises `OtherPopulation` if it mixes populations.

    >>> judge = Quantity("accuracy", "accuracy", "share", Population("item", n=77, among=77), 0.792)
    >>> str(say("{who} is right on {x} of {x.of}.", who=Name("k"), x=judge))
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


# Said if the interval that is shown leaves out 0, and the test does not hold.
CHANCE = " After correction for all claims of the report, this can be chance."


def finding_of(test: TestResult, value: Quantity) -> Finding:
    """What the test says about a quantity. Raises `Contradiction` and `OtherPopulation`.

    A claim that the interval next to it does not bear is none.
    """
    if test.of is not None and value.of is not None and not test.of.is_same(value.of):
        raise OtherPopulation(f"The test is about {test.of}, {value.label} about {value.of}.")
    if test.finding not in (Finding.ABOVE, Finding.BELOW):
        return test.finding
    if value.value is None:
        raise Contradiction(f"{value.name} is undefined, but its test says {test.finding}.")
    if (value.value > 0) != (test.finding is Finding.ABOVE):
        raise Contradiction(f"{value.name} is {value.value}, but its test says {test.finding}.")
    return Finding.OPEN if value.ends is None or value.includes_zero else test.finding


def claim(forms: Mapping[Finding, Form], test: TestResult, tested: Quantity, **slots: Slot) -> Text:
    """The sentence for what a test says; `tested` is the slot ``{x}`` and `test` is ``{test}``.

    An open test whose interval leaves out 0 says that this can be chance.
    """
    found = finding_of(test, tested)
    form = forms[found]
    if found is Finding.OPEN and tested.ends is not None and not tested.includes_zero:
        form += CHANCE
    return say(form, x=tested, test=test, **slots)


def by_population(same: Form, apart: Form, **slots: Any) -> Text:
    """The form `same` if all quantities are of one population, else `apart`, which names each."""
    found = [each for each in slots.values() if isinstance(each, Quantity) and each.of]
    first = found[0].of if found else None
    is_one = all(first and each.of and first.is_same(each.of) for each in found)
    return say(same if is_one else apart, **slots)
