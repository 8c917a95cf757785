"""A forecast in words and table rows, for pages and the command."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from studies.money import format_cost, format_money

DesignFacts = Mapping[str, Any]
STATES = {
    "better": "Better",
    "worse": "Worse",
    "equivalent": "Equivalent",
    "cannot_tell": "Cannot tell",
    "not_worse": "Not worse",
}
_HUNDRED = 100
_NEARLY_NONE = 0.01  # smaller expected differences count as none


@dataclass(frozen=True)
class OutcomeLine:
    """One true difference, and the number of 100 studies that end in each state."""

    difference: str
    chances: list[str]
    half_width: str


@dataclass(frozen=True)
class WhatIf:
    """A what-if design for display; `sentence` says what it can show."""

    items: int
    answers: int
    annotators: int
    sentence: str
    detectable: str
    cost: str
    is_planned: bool

    @property
    def key(self) -> str:
        return f"{self.items}x{self.answers}"

    @property
    def shown(self) -> dict[str, str]:
        """What the page's script shows of the design."""
        return {
            "sentence": self.sentence,
            "detectable": self.detectable,
            "people": f"{self.annotators:,}",
            "cost": self.cost,
        }


def points(value: float) -> str:
    """A true difference: “+5 points”."""
    if round(value * 100, 1) == 0:
        return "0 points"
    sign = "+" if value > 0 else "−"
    return f"{sign}{abs(value) * 100:.3g} points"


def of_hundred(chance: Mapping[str, float]) -> str:
    """“20 (18–22)”: studies out of a hundred, with the Monte Carlo interval."""
    low, high = round(chance["low"] * _HUNDRED), round(chance["high"] * _HUNDRED)
    return f"{round(chance['value'] * _HUNDRED)} ({low}–{high})"


def rows_of(design: DesignFacts) -> list[OutcomeLine]:
    return [
        OutcomeLine(
            points(one["difference"]),
            [of_hundred(one["chances"][state]) for state in STATES],
            "–" if one["half_width"] is None else f"±{one['half_width'] * 100:.1f}",
        )
        for one in design["outcomes"]
    ]


def sentence_of(design: DesignFacts) -> str:
    """What the design can show, in one sentence or two."""
    size = f"With {size_words(design['items'], design['answers'])} each"
    if design["too_few"]:
        return f"{size}, there are too few people, personas or questions for any conclusion."
    gap, word, often = _headline(design)
    parts = []
    if often:
        parts.append(
            f"{size}, a judge that is truly {abs(gap) * 100:.3g} points {word} than the majority "
            f"of people is found to be {word} in {often} such studies."
        )
    equal = next((one for one in design["outcomes"] if one["difference"] == 0), None)
    if equal is not None:
        parts.append(
            "An equally good judge is shown to be equivalent in "
            f"{_about(equal['chances']['equivalent']['value'])}."
        )
    return " ".join(parts) or f"{size}, no judge can be that much better."


def _headline(design: DesignFacts) -> tuple[float, str, str]:
    """The expected difference, or 5 points, its word, and how often it is found ("" if unknown)."""
    expected = design["expected"]
    gap = expected if expected and abs(expected) >= _NEARLY_NONE else 0.05
    word = "better" if gap > 0 else "worse"
    outcome = next((one for one in design["outcomes"] if one["difference"] == gap), None)
    return gap, word, "" if outcome is None else _about(outcome["chances"][word]["value"])


def size_words(items: int, answers: int) -> str:
    """“300 items and 3 answers”, per item."""
    return f"{items:,} items and {_answers(answers)}"


def summary_of(design: DesignFacts) -> str:
    """The design in one line: what it can detect, and the power at one difference."""
    if design["too_few"]:
        return "Too few people, personas or questions for any conclusion"
    detectable = design["detectable"]["value"]
    line = "Detects no difference in four studies of five"
    if detectable is not None:
        line = f"Detects {detectable * 100:.1f} points in four studies of five"
    gap, word, often = _headline(design)
    if often:
        line += f"; finds a judge {abs(gap) * 100:.3g} points {word} in {often}"
    return line


def detectable_words(design: DesignFacts) -> str:
    """The minimum detectable difference, with its Monte Carlo interval."""
    detectable = design["detectable"]
    if detectable["value"] is None:
        return "none"
    low, high = detectable["low"], detectable["high"]
    ends = f" ({low * 100:.1f}–{high * 100:.1f})" if low and high else ""
    return f"{detectable['value'] * 100:.1f} points{ends}"


def people_cost(cost: Mapping[str, Any]) -> str:
    """“$135.00”, or “$135.00 plus fee and tax” while these are unknown."""
    if cost["total"] is not None:
        return format_money(cost["total"], cost["currency"])
    return f"{format_money(cost['rewards'], cost['currency'])} plus fee and tax"


def cost_words(design: DesignFacts) -> str:
    """The cost of people, and of judges if it is known."""
    cost = design["cost"]
    words = people_cost(cost)
    if cost["judge_dollars"]:
        words += f", and ${format_cost(cost['judge_dollars'])} for judges"
    return words


def cost_lines(design: DesignFacts) -> list[tuple[str, str]]:
    """Each part of the cost, and the total."""
    cost, currency = design["cost"], design["cost"]["currency"]

    def sum_of(name: str) -> str:
        return "unknown" if cost[name] is None else format_money(cost[name], currency)

    fee = "Fee and tax" if cost["is_stated"] else "Fee"
    lines = [("Rewards", sum_of("rewards")), (fee, sum_of("fee"))]
    if not cost["is_stated"]:
        lines.append(("Tax on the fee", sum_of("tax")))
    dollars = cost["judge_dollars"]
    return [
        *lines,
        ("People in total", sum_of("total")),
        ("Judges", "unknown" if dollars is None else f"${format_cost(dollars)}"),
    ]


def what_ifs(result: Mapping[str, Any]) -> list[WhatIf]:
    """All designs of a forecast, smallest first."""
    planned = result["designs"][0]
    designs = [
        WhatIf(
            items=one["items"],
            answers=one["answers"],
            annotators=one["annotators"],
            sentence=sentence_of(one),
            detectable=detectable_words(one),
            cost=cost_words(one),
            is_planned=one is planned,
        )
        for one in result["designs"]
    ]
    return sorted(designs, key=lambda one: (one.items * one.answers, one.items))


def assumed_lines(result: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    """Name, value and source of what the forecast assumes about people and judges."""
    assumed, pilot = result["assumptions"], result["pilot"]
    lines = []
    for name, (label, of_pilot) in _ASSUMED.items():
        value = assumed[name]
        if value is None:
            continue
        source = "default"
        if name in assumed["chosen"]:
            source = "chosen"
        elif pilot is not None:
            part = pilot["components"].get(of_pilot)
            if part is None:
                source = f"pilot {assumed['pilot']}"
            elif part["value"] is not None:
                ends = f"{part['low']:.2f}–{part['high']:.2f}"
                source = f"pilot {assumed['pilot']} (95 % interval {ends})"
        lines.append((label, f"{value:.3g}", source))
    return lines


_ASSUMED = {
    "accuracy_people": ("Accuracy of one person", ""),
    "accuracy_judge": ("Accuracy of a judge", ""),
    "sd_item": ("SD of items (logit)", "item"),
    "sd_annotator": ("SD of people (logit)", "annotator"),
    "sd_persona": ("SD of personas (logit)", "persona"),
    "sd_question": ("SD of questions (logit)", "question"),
    "overlap": ("Overlap of difficulties", "overlap"),
}


def _about(share: float) -> str:
    n = round(share * _HUNDRED)
    return f"about {n} of 100" if n else "fewer than 1 of 100"


def _answers(k: int) -> str:
    return "one answer" if k == 1 else f"{k} answers"
