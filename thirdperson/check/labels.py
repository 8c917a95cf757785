"""Labels read from any file: who gave which label to which item."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from unicodedata import normalize

from studies.texts.cells import WRITTEN_BY_PROGRAMS, name_of


class BadTable(Exception):
    """The file, or the options for it, cannot be used."""


class NoLabels(BadTable):
    """No column has labels of people, or of a judge."""


class UnclearPeople(BadTable):
    """Columns may have labels of people, or of several things."""

    def __init__(self, message: str, columns: Sequence[str]) -> None:
        super().__init__(message)
        self.columns = tuple(columns)


# Words for “no label” in tables of other programs. Words that only programs write are never a
# label; the others are labels if people or judges use them as such.
NO_LABEL = WRITTEN_BY_PROGRAMS | {"-", "na", "n/a", "none", "null"}


@dataclass(frozen=True)
class Label:
    """One label; `where` is its place in the file, `certainty` uses the file's scale."""

    where: str
    item: str
    rater: str
    is_judge: bool
    value: str
    certainty: float | None = None


@dataclass
class LabelTable:
    """All labels of a file, with facts about each item, and how it was read.

    `reading` has one line per role found, so that people can check the guesses. `scales` has the
    lowest and highest certainty of people or a judge from options; `skipped` has the faults of rows
    left out on request, None if none may be left out.
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
        return sorted({label.rater for label in self.labels if label.is_judge == is_judge})


def is_label(value: str) -> bool:
    return value.strip().casefold() not in NO_LABEL


@lru_cache(maxsize=4096)  # labels are few, and each occurs often
def same_label(value: str) -> str:
    """A normalised label: 1, 1.0 and １ are equal, and so are Yes and yes."""
    value = normalize("NFKC", name_of(value)).casefold()
    whole = value.removesuffix(".0")
    return whole if whole.lstrip("-").isdecimal() else value


def listed(names: Sequence[str], most: int = 8) -> str:
    """Names for a sentence, shortened if there are many."""
    first = ", ".join(names[:most])
    return f"{first} and {len(names) - most:,} more" if len(names) > most else first
