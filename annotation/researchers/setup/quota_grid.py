"""Targets of quota groups as a grid of rows and columns, and ways to fill it."""

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from annotation.errors import QuotaError
from annotation.seats.quotas import Quota, QuotaQuestion
from studies.pages.numbers import whole_number

MOST_CELLS = 200
MOST_PLACES = 10_000

Values = tuple[str, ...]

_WOMEN = {"woman", "women", "female", "frau", "weiblich"}
_MEN = {"man", "men", "male", "mann", "männlich"}
_SMALL = {"no formal education"}


@dataclass(frozen=True)
class QuotaCell:
    """One group of the grid: the name of its field, what was typed, and its words."""

    name: str
    text: str
    label: str


@dataclass(frozen=True)
class GridLine:
    label: str
    cells: tuple[QuotaCell, ...]
    total: int


@dataclass(frozen=True)
class QuotaTable:
    """The last question gives the columns, those before it the rows."""

    questions: tuple[QuotaQuestion, ...]
    corner: str
    columns: tuple[str, ...]
    lines: tuple[GridLine, ...]
    column_totals: tuple[int, ...]
    total: int


def combinations(questions: Sequence[QuotaQuestion]) -> list[Values]:
    """Every group that the questions make, in order; `QuotaError` if there are too many."""
    number = math.prod(len(question.options) for question in questions)
    if number > MOST_CELLS:
        raise QuotaError(
            f"These questions make {number:,} groups. Choose fewer questions: at most "
            f"{MOST_CELLS} groups are possible."
        )
    return list(itertools.product(*(question.options for question in questions)))


def small_options(question: QuotaQuestion) -> list[str]:
    """The values of groups that are known to be so small that equal numbers would not be found.

    These are genders other than woman and man, about one or two adults in a hundred, and people
    without any formal education.
    """
    names = {
        value: {value.casefold(), label.casefold()} for value, label in question.options.items()
    }
    is_gender = all(any(words & found for found in names.values()) for words in (_WOMEN, _MEN))
    return [
        value
        for value, found in names.items()
        if (is_gender and not found & (_WOMEN | _MEN)) or found & _SMALL
    ]


def evenly(
    total: int, questions: Sequence[QuotaQuestion], typed: Mapping[Values, str]
) -> dict[Values, str]:
    """`total` in equal parts for the groups that were chosen: those whose field is not empty.

    If every field is empty, all groups are chosen but those that are known to be small. These keep
    the number that was typed for them.
    """
    small = [small_options(question) for question in questions]
    is_small = {
        values: any(value in few for value, few in zip(values, small, strict=True))
        for values in typed
    }
    chosen = [values for values, text in typed.items() if text and not is_small[values]]
    chosen = chosen or [values for values in typed if not is_small[values]] or list(typed)
    kept = {values: text for values, text in typed.items() if is_small[values]}
    left = max(0, total - sum(whole_number(text, most=MOST_PLACES) or 0 for text in kept.values()))
    parts = shared_out(left, [Fraction(1)] * len(chosen))
    return dict.fromkeys(typed, "") | kept | dict(zip(chosen, map(str, parts), strict=True))


def field_name(number: int) -> str:
    return f"target-{number}"


def make_grid(questions: Sequence[QuotaQuestion], texts: Mapping[Values, str]) -> QuotaTable:
    """The grid to show; cells that hold no number count as nothing in its totals."""
    cells = combinations(questions)
    *rows, last = questions
    across = list(last.options.values()) if rows else []
    width = len(across) or 1
    made = [
        QuotaCell(field_name(number), texts.get(values, ""), label_of(questions, values))
        for number, values in enumerate(cells)
    ]
    lines = []
    for start in range(0, len(made), width):
        part = tuple(made[start : start + width])
        head = questions[:-1] if rows else questions
        lines.append(GridLine(label_of(head, cells[start]), part, sum(map(_count, part))))
    return QuotaTable(
        tuple(questions),
        " × ".join(question.label for question in rows) or last.label,
        tuple(across),
        tuple(lines),
        tuple(sum(_count(line.cells[n]) for line in lines) for n in range(len(across))),
        sum(line.total for line in lines),
    )


def label_of(questions: Sequence[QuotaQuestion], values: Values) -> str:
    """A group in the words of the page; of several questions fewer than all may be named."""
    pairs = zip(questions, values, strict=False)
    return ", ".join(question.options[value] for question, value in pairs)


def _count(cell: QuotaCell) -> int:
    return whole_number(cell.text, most=MOST_PLACES) or 0


def read_targets(questions: Sequence[QuotaQuestion], texts: Mapping[Values, str]) -> list[Quota]:
    """The groups of the cells that hold a number; `QuotaError` names the cell that holds none."""
    keys = [question.key for question in questions]
    groups = []
    for values, text in texts.items():
        if not text:
            continue
        target = read_target(text, label_of(questions, values))
        groups.append(Quota(target, dict(zip(keys, values, strict=True))))
    return groups


def read_target(text: str, label: str) -> int:
    target = whole_number(text, most=MOST_PLACES)
    if target is None:
        raise QuotaError(
            f"{label}: “{text[:40]}” is no number of annotators. Enter a whole number from 0 to "
            f"{MOST_PLACES:,}, or leave the field empty for no such group."
        )
    return target


def shared_out(total: int, weights: Sequence[Fraction]) -> list[int]:
    """`total` in whole parts as close to the weights as possible; the first get what is left."""
    everything = sum(weights)
    if not everything:
        return [0] * len(weights)
    exact = [weight * total / everything for weight in weights]
    parts = [math.floor(part) for part in exact]
    left = total - sum(parts)
    by_remainder = sorted(range(len(parts)), key=lambda n: (parts[n] - exact[n], n))
    for number in by_remainder[:left]:
        parts[number] += 1
    return parts
