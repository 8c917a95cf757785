"""All sides that state certainty: as arrays, in report.json, and as drawn in figures."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from analysis.data.verdicts import Floats, Ints, Verdicts
from analysis.report.encode import Json
from analysis.report.figures import PEOPLE, Key, styles
from analysis.report.section import Report
from analysis.report.study import ReportedStudy
from analysis.report.text.names import run_names, whole_runs


def _entries(report: Report) -> list[tuple[str, Mapping[str, Any]]]:
    """The entries that state certainty: majority, single answers, and each run."""
    human = report["human"]
    people = [("People, majority", human["majority"]), ("People, single", human["individual"])]
    return [*people, *zip(run_names(report), report["judges"], strict=True)]


def certain_sides(report: Report) -> list[tuple[str, Mapping[str, Any]]]:
    return [(who, side) for who, side in _entries(report) if side["certainty"]["summary"]["n"]]


@dataclass(frozen=True)
class SideOfCertainty:
    """A side that states certainty, and how figures draw it."""

    name: str
    entry: Report
    colour: str
    dash: str
    symbol: str
    unit: str
    steps: Sequence[Report]

    @property
    def key(self) -> Key:
        return Key(self.name, self.colour, self.dash)

    @property
    def bars(self) -> Sequence[Report]:
        return self.entry["certainty"]["histogram"]


def drawn_sides(report: Report) -> list[SideOfCertainty]:
    human = report["human"]
    sides = [
        SideOfCertainty(
            name, human[unit], PEOPLE, dash, symbol, counted, report["by_threshold"][unit]
        )
        for name, unit, dash, symbol, counted in (
            ("People, majority", "majority", "solid", "circle", "item"),
            ("People, single", "individual", "dot", "circle-open", "answer"),
        )
    ]
    # Runs that saw less of the persona have their own section.
    names, drawn = run_names(report), styles(report)
    for index in whole_runs(report):
        steps = report["by_threshold"]["judges"][index]
        sides.append(
            SideOfCertainty(names[index], report["judges"][index], *drawn[index], "item", steps)
        )
    return [side for side in sides if side.entry["certainty"]["summary"]["n"]]


@dataclass(frozen=True, eq=False)
class Stated:
    """One side's answers: certainty, 1 right / 0 wrong / -1 neither, and item, shape (answers,)."""

    certainty: Floats
    correct: Ints
    item: Ints


def on_every_side(study: ReportedStudy, compute: Callable[[Stated], Json]) -> Json:
    """Apply `compute` to the majority, to single answers and to every run, in report order."""
    items = np.arange(len(study.data.items))
    votes = study.votes

    def of(verdicts: Verdicts) -> Json:
        return compute(Stated(verdicts.certainty, verdicts.correct, items))

    single = Stated(votes.certainty, study.correct_alone, votes.item)
    return {
        "human": {"majority": of(study.people), "individual": compute(single)},
        "judges": [of(verdicts) for verdicts in study.judges],
    }
