"""Labels as they are read from any file: who gave which label to which item."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field


class BadTable(Exception):
    """The file, or what the options say about it, cannot be checked."""


# What stands for “no label” in tables of other programs. Those that only programs write are never a
# label; the others are one where people or judges use them as labels.
WRITTEN_BY_PROGRAMS = frozenset({"", "nan", "<na>", "#n/a"})
NO_LABEL = WRITTEN_BY_PROGRAMS | {"-", "na", "n/a", "none", "null"}


@dataclass(frozen=True)
class Label:
    """One label; `where` is its place in the file, `certainty` is on the scale of the file."""

    where: str
    item: str
    rater: str
    is_judge: bool
    value: str
    certainty: float | None = None


@dataclass
class LabelTable:
    """All labels of a file, with what it says about each item, and how it was read.

    `reading` has one line for each part that was found, for people who check the guesses. `scales`
    has the lowest and highest certainty of people or of a judge, where an option names them;
    `skipped` has the faults of rows that were left out on request, None if nothing may be left out.
    """

    labels: list[Label] = field(default_factory=list)
    gold: dict[str, str] = field(default_factory=dict)
    persona: dict[str, str] = field(default_factory=dict)
    question: dict[str, str] = field(default_factory=dict)
    reading: list[str] = field(default_factory=list)
    scales: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    skipped: list[str] | None = None

    @property
    def items(self) -> list[str]:
        return sorted({label.item for label in self.labels})

    def raters(self, *, is_judge: bool) -> list[str]:
        return sorted({each.rater for each in self.labels if each.is_judge == is_judge})


def is_label(value: str) -> bool:
    return value.strip().casefold() not in NO_LABEL


def same_label(value: str) -> str:
    """The form in which two spellings of a label are equal: 1 and 1.0, Yes and yes."""
    value = value.strip().casefold()
    whole = value.removesuffix(".0")
    return whole if whole.lstrip("-").isdecimal() else value


def listed(names: Sequence[str], most: int = 8) -> str:
    """Names for a sentence; of many only the first."""
    shown = ", ".join(names[:most])
    return f"{shown} and {len(names) - most:,} more" if len(names) > most else shown
