"""Accuracy at high and low certainty, as the source article prints it."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from analysis.data.verdicts import Floats, Ints, Verdicts, run_options
from analysis.report.encode import Json, ends, put
from analysis.report.section import RUN, Analysis, NumberSource, Report, Section
from analysis.report.study import ReportedStudy, by_certainty, members_of
from analysis.report.tables import CONDITIONAL, HIGH, Table, TableColumn
from analysis.report.text.names import run_names, whole_runs
from analysis.report.text.thresholds import threshold_words
from analysis.stats.accuracy.bands import answer_bands, individual_bands, majority_bands
from analysis.stats.core.results import Proportion


def table_a(report: Report) -> Table:
    """Table 2 of the source article, with a row for each topic: raters × high and low."""
    steps = report["by_threshold"]
    topics = [row for group in report["groups"] if group["by"] == "topic" for row in group["rows"]]
    values = [topic["value"] or "(no topic)" for topic in topics]
    rows: list[list[Any]] = [[name] for name in (report["study"]["title"], *values)]
    columns = [TableColumn("Data")]
    names = run_names(report)
    people = [report["human"]["majority"], *(topic["people"] for topic in topics)]
    steps_of_people = [steps["majority"], *(topic["people"] for topic in steps["topics"])]
    sides = [("People", people, steps_of_people)]
    for index in whole_runs(report):
        cells = [report["judges"][index], *(topic["judges"][index] for topic in topics)]
        of_topics = (topic["judges"][index] for topic in steps["topics"])
        sides.append((names[index], cells, [steps["judges"][index], *of_topics]))
    for name, cells, changes in sides:
        # A run that states no certainty has no such cells.
        if cells is not people and cells[0]["high"]["n"] + cells[0]["low"]["n"] == 0:
            continue
        columns += [TableColumn("High", "share", name), TableColumn("Low", "share", name)]
        for row, side, change in zip(rows, cells, changes, strict=True):
            row += high_and_low(side, change)
    return Table(
        "table_a",
        "Table A. Accuracy at high and low certainty",
        tuple(columns),
        rows,
        f"{HIGH} {CONDITIONAL}",
        threshold=threshold_words(report),
    )


def table_b(report: Report) -> Table:
    return _judges_and_majority(
        report, "table_b", "Table B. Judges and the majority of people", "majority"
    )


def table_b_single(report: Report) -> Table:
    return _judges_and_majority(
        report, "table_b_single", "Table B, with people's single answers", "individual"
    )


def _judges_and_majority(report: Report, name: str, title: str, unit: str) -> Table:
    steps = report["by_threshold"]
    sides = [("People", report["human"][unit], steps[unit])]
    sides += zip(run_names(report), report["judges"], steps["judges"], strict=True)
    rows = [[who, *high_and_low(side, change), side] for who, side, change in sides]
    columns = (
        TableColumn("Who"),
        TableColumn("High", "share"),
        TableColumn("Low", "share"),
        TableColumn("Overall", "share"),
    )
    return Table(
        name,
        title,
        columns,
        rows,
        f"{HIGH} A certainty of 80 is high but in the band “Confident”. {CONDITIONAL}",
        threshold=threshold_words(report),
    )


def high_and_low(side: Report, steps: Sequence[Report]) -> list[Report]:
    """A side's two cells, each with its values at other thresholds."""
    return [
        {**side[part], "tried": [{"from": step["from"], **step[part]} for step in steps]}
        for part in ("high", "low")
    ]


LOWEST, HIGHEST = 50, 95


Split = Callable[[float], tuple[Proportion, Proportion]]


@dataclass(frozen=True)
class BandGrid:
    """Thresholds from `low` to `high`, in whole points."""

    low: int
    high: int

    @classmethod
    def around(cls, *thresholds: int) -> "BandGrid":
        """A grid from 50 to 95, or further if the report's own thresholds lie outside."""
        return cls(min(LOWEST, *thresholds), max(HIGHEST, *thresholds))

    def steps(self, certainty: Floats, correct: Ints, split: Split) -> list[Json]:
        """High and low cells at each threshold at which an answer changes bands."""
        scored = certainty[correct >= 0]
        steps: list[Json] = []
        last = -1
        for threshold in range(self.low, self.high + 1):
            n_high = int((scored >= threshold).sum())
            # The sets are nested: equally many high answers are the same answers.
            if n_high != last:
                high, low = split(float(threshold))
                steps.append({"from": threshold, "high": _cell(high), "low": _cell(low)})
            last = n_high
        return steps


def by_threshold(study: ReportedStudy, grid: BandGrid) -> Json:
    """Steps of the majority, of single answers, of every run, and of each by topic."""
    data, people, votes, judges = study.data, study.people, study.votes, study.judges

    majority = majority_bands(people.majority, study.truth)
    individual = individual_bands(votes, study.truth)
    out: Json = {
        "from": grid.low,
        "to": grid.high,
        "ends": "of the 95 % interval, made as that of the same cell at the report's threshold",
        "majority": grid.steps(people.certainty, people.correct, majority.split),
        "individual": grid.steps(votes.certainty, study.correct_alone, individual.split),
        "judges": [],
        "topics": [],
    }
    for run, verdicts in zip(data.runs, judges, strict=True):
        truth, options = study.truth_for(run), run_options(run)
        found = answer_bands(verdicts.answer, truth, verdicts.certainty, n_options=options)
        out["judges"].append(grid.steps(verdicts.certainty, verdicts.correct, found.split))
    topics = [item.topic for item in data.items]
    if any(topics):
        for topic, items in sorted(members_of(topics).items()):
            sides = [_of_items(side, items, study, grid) for side in (people, *judges)]
            out["topics"].append({"value": topic, "people": sides[0], "judges": sides[1:]})
    return out


def _of_items(side: Verdicts, items: Ints, study: ReportedStudy, grid: BandGrid) -> list[Json]:
    def split(threshold: float) -> tuple[Proportion, Proportion]:
        return by_certainty(study, side, items, threshold)

    return grid.steps(side.certainty[items], side.correct[items], split)


def _cell(share: Proportion) -> Json:
    out: Json = {"n": share.n, "correct": share.correct}
    put(out, "ends", ends(share.interval), share.interval_reason or share.reason)
    return out


class HighAndLow(Section):
    """Tables A and B, and the values of their cells at other thresholds."""

    name = "high_and_low"
    analyses = (
        Analysis(
            "certain",
            tables=("table_a", "table_b", "table_b_single", "single_intervals", "paper_compat"),
            paths=(
                "human.majority.high",
                "human.majority.low",
                "human.majority.at_threshold",
                "human.individual.high",
                "human.individual.low",
                "human.individual.at_threshold",
                "judges.*.high",
                "judges.*.low",
                "judges.*.at_threshold",
                "human.majority.paper_compat",
                "human.individual.paper_compat",
                "judges.*.paper_compat",
            ),
            uses=("threshold",),
        ),
    )
    sources = (
        NumberSource("human.majority.high", "table_b", "People"),
        NumberSource("judges.*.high", "table_b", RUN),
    )

    def compute(self, study: ReportedStudy, earlier: Report) -> Json:
        grid = BandGrid.around(study.threshold, study.data.study.certainty_threshold)
        return {"by_threshold": by_threshold(study, grid)}

    def tables(self, report: Report) -> Iterator[Table]:
        yield table_a(report)
        yield table_b(report)
        yield table_b_single(report)
