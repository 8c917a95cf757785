"""The facts from which the card and the metadata of a bundle are written."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from typing import Any

from analysis.data.collection import Collection
from analysis.exports.tables.catalogue import Disclosure
from analysis.exports.tables.columns import Column
from studies.models.studies import Study


@dataclass(frozen=True)
class DescribedFile:
    """A file of the bundle: its path, its size, its hash."""

    path: str
    bytes: int
    sha256: str


@dataclass(frozen=True)
class DescribedPart:
    """A table of the bundle and its files, by format."""

    name: str
    columns: tuple[Column, ...]
    rows: int
    files: dict[str, DescribedFile]


@dataclass
class DescribedScore:
    """How often the verdicts of one rater equal the personas' own answers."""

    items: int = 0
    tied: int = 0
    scored: int = 0
    correct: int = 0

    def add(self, row: dict[str, Any]) -> None:
        self.items += 1
        self.tied += row["verdict_reason"] == "tied"
        self.scored += row["correct"] is not None
        self.correct += row["correct"] is True


@dataclass(frozen=True)
class DataDescription:
    """Everything that the card and the metadata state; nothing in it names an annotator."""

    study: Study
    collection: Collection
    on: date
    licence: str
    disclosure: Disclosure
    parts: tuple[DescribedPart, ...]
    left_out: tuple[str, ...]
    wide: tuple[Column, ...]
    report: str
    scores: dict[str, DescribedScore]

    @property
    def languages(self) -> list[str]:
        """The languages of the items; that of the study as long as it has none."""
        return list(self.collection.item_languages) or [self.study.language]


class ScoreKeeper:
    """Scores each rater while the aggregates are written to a file."""

    def __init__(self) -> None:
        self.scores: dict[str, DescribedScore] = {}

    def watch(self, rows: Iterator[dict[str, Any]]) -> Iterator[dict[str, Any]]:
        for row in rows:
            name = row["rater_id"]
            if row["run"]:
                name = f"{name}, {row['setting']}, {row['features']} ({row['run'][:8]})"
            self.scores.setdefault(name, DescribedScore()).add(row)
            yield row
