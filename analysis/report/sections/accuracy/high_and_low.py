"""Tables of accuracy at high and low certainty; at equal certainty, and for single answers.

The cells of majorities and judges are computed in `sections/glance/accuracies.py`.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from analysis.data.arrays import Floats
from analysis.data.verdicts import Ints, Verdicts, run_options
from analysis.report.report_json import Json, ends, put, put_ci, put_interval, why
from analysis.report.section import RUN, Analysis, NumberSource, ReportJson, Section
from analysis.report.study import ReportedStudy, by_certainty, members_of, put_holm
from analysis.report.tables import CONDITIONAL, HIGH, Table, TableColumn, in_general
from analysis.report.words import (
    named_comparisons,
    run_names,
    threshold_words,
    whole_runs,
)
from analysis.stats.accuracy.bands import answer_bands, individual_bands, majority_bands
from analysis.stats.comparison.differences import paired_difference
from analysis.stats.comparison.paired import count_pairs, mcnemar
from analysis.stats.core.bootstrap import pigeonhole_bootstrap
from analysis.stats.core.results import BoolArray, Proportion, n_distinct


def table_a(report: ReportJson) -> Table:
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
        # Runs without certainty have no such cells.
        if cells is not people and cells[0]["high"]["n"] + cells[0]["low"]["n"] == 0:
            continue
        columns += [TableColumn("High", "share", name), TableColumn("Low", "share", name)]
        for row, side, change in zip(rows, cells, changes, strict=True):
            row += high_and_low(side, change, report["parameters"]["threshold"])
    return Table(
        "table_a",
        "Table A. Accuracy at high and low certainty",
        tuple(columns),
        rows,
        f"{HIGH} {CONDITIONAL}",
        threshold=threshold_words(report),
    )


def table_b(report: ReportJson) -> Table:
    return _judges_and_majority(
        report, "table_b", "Table B. Judges and the majority of people", "majority"
    )


def table_b_single(report: ReportJson) -> Table:
    return _judges_and_majority(
        report, "table_b_single", "Table B, with people's single answers", "individual"
    )


def _judges_and_majority(report: ReportJson, name: str, title: str, unit: str) -> Table:
    steps = report["by_threshold"]
    sides = [("People", report["human"][unit], steps[unit])]
    sides += zip(run_names(report), report["judges"], steps["judges"], strict=True)
    threshold = report["parameters"]["threshold"]
    rows = [
        [who, *high_and_low(side, change, threshold), in_general(side)]
        for who, side, change in sides
    ]
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


def high_and_low(
    side: ReportJson, steps: Sequence[ReportJson], threshold: float
) -> list[Mapping[str, Any]]:
    """A side's two cells, each with its values at other thresholds.

    Where the interval allows for what answers share, there is one only at the report's threshold.
    """
    cells: list[Mapping[str, Any]] = []
    here = max((step["from"] for step in steps if step["from"] <= threshold), default=None)
    for part in ("high", "low"):
        is_general = "clusters" in side[part]
        cell = in_general(side[part]) if is_general else side[part]
        tried = [{"from": step["from"], **step[part]} for step in steps]
        if is_general:
            tried = [
                {**step, "ends": cell["ci"] if step["from"] == here else None} for step in tried
            ]
        cells.append({**cell, "tried": tried})
    return cells


LOWEST, HIGHEST = 50, 95


Split = Callable[[float], tuple[Proportion, Proportion]]


@dataclass(frozen=True)
class BandGrid:
    """Thresholds from `low` to `high`, in whole points."""

    low: int
    high: int

    @classmethod
    def around(cls, *thresholds: int) -> "BandGrid":
        """A grid from 50 to 95, extended to include the report's thresholds."""
        return cls(min(LOWEST, *thresholds), max(HIGHEST, *thresholds))

    def steps(self, certainty: Floats, correct: Ints, split: Split) -> list[Json]:
        """High and low cells at each threshold at which an answer changes bands."""
        scored = certainty[correct >= 0]
        steps: list[Json] = []
        last = -1
        for threshold in range(self.low, self.high + 1):
            n_high = int((scored >= threshold).sum())
            # The sets are nested, so equal numbers of high answers mean equal sets.
            if n_high != last:
                high, low = split(float(threshold))
                steps.append({"from": threshold, "high": _cell(high), "low": _cell(low)})
            last = n_high
        return steps


def by_threshold(study: ReportedStudy, grid: BandGrid) -> Json:
    """Steps for the majority, single answers and every run, in total and by topic."""
    data, people, votes, judges = study.data, study.people, study.votes, study.judges

    majority = majority_bands(people.majority, study.truth)
    individual = individual_bands(votes, study.truth)
    out: Json = {
        "from": grid.low,
        "to": grid.high,
        "ends": "of the 95 % interval, made as in the same cell at the report's threshold",
        "majority": grid.steps(people.certainty, people.correct, majority.split),
        "individual": grid.steps(votes.certainty, study.correct_alone, individual.split),
        "judges": [],
        "topics": [],
    }
    for run, verdicts in zip(data.runs, judges, strict=True):
        truth, options = study.truth_for(run), run_options(run)
        bands = answer_bands(verdicts.answer, truth, verdicts.certainty, n_options=options)
        out["judges"].append(grid.steps(verdicts.certainty, verdicts.correct, bands.split))
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
    put(out, "ends", ends(share.interval), why(share))
    return out


class HighAndLow(Section):
    """Tables A and B, and the values of their cells at other thresholds."""

    name = "high_and_low"
    analyses = (
        Analysis(
            "certain",
            tables=("table_a", "table_b", "table_b_single", "paper_compat"),
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
            main=tuple(
                f"{side}.{part}.accuracy"
                for side in ("human.majority", "judges.*")
                for part in ("high", "low")
            ),
        ),
    )
    sources = (
        NumberSource("human.majority.high", "table_b", "People"),
        NumberSource("judges.*.high", "table_b", RUN),
    )

    def compute(self, study: ReportedStudy, earlier: ReportJson) -> Json:
        grid = BandGrid.around(study.threshold, study.data.study.certainty_threshold)
        return {"by_threshold": by_threshold(study, grid)}

    def tables(self, report: ReportJson) -> Iterator[Table]:
        yield table_a(report)
        yield table_b(report)
        yield table_b_single(report)


BANDS = ("high", "low")


def by_band(judge: Verdicts, people: Verdicts, threshold: float) -> Json:
    """Paired comparisons on common items, because each side has different high items."""
    stated = ~np.isnan(judge.certainty) & ~np.isnan(people.certainty)
    judge_high, people_high = judge.certainty >= threshold, people.certainty >= threshold
    return {
        "high": _pair(judge, people, stated & judge_high & people_high),
        "low": _pair(judge, people, stated & ~judge_high & ~people_high),
    }


def _pair(judge: Verdicts, people: Verdicts, rows: npt.NDArray[np.bool_]) -> Json:
    pairs = count_pairs(judge.correct[rows], people.correct[rows])
    difference, test = paired_difference(pairs), mcnemar(pairs)
    out: Json = {"n": pairs.n, "b": pairs.b, "c": pairs.c}
    put(out, "difference", difference.value, difference.reason)
    put_interval(out, "ci", difference.interval, difference.reason)
    put(out, "p", test.p, test.reason)
    return out


def adjust_bands(comparisons: Sequence[Json]) -> None:
    """Holm's p over judges and bands, for runs that saw the same features."""
    for features in {entry["features"] for entry in comparisons}:
        tests = [
            entry["by_band"][band]
            for entry in comparisons
            for band in BANDS
            if entry["features"] == features
        ]
        put_holm(tests)
        for test in tests:
            test["family"] = len(tests)


BAND_NAMES = {"high": "both certain", "low": "neither certain"}
BAND_FIELDS = ("n", "difference", "ci", "b", "c", "p")
BAND_COLUMNS = (
    TableColumn("Items where"),
    TableColumn("Items", "count"),
    TableColumn("Difference", "points"),
    TableColumn("95 % interval", "points_range"),
    TableColumn("Only judge right", "count"),
    TableColumn("Only people right", "count"),
    TableColumn("McNemar p", "p"),
)
BAND_NOTE = (
    "Paired, on items where both sides are at or above the threshold, or both below it. Tango's "
    "intervals and McNemar's tests hold for these annotators only. Holm: adjusted over every "
    "judge and both bands"
)


class EqualCertainty(Section):
    """Paired comparisons on common items within either band of certainty."""

    name = "equal_certainty"

    def compute(self, study: ReportedStudy, earlier: ReportJson) -> Json:
        entries = [
            {"features": run.features, "by_band": by_band(judge, study.people, study.threshold)}
            for run, judge in zip(study.data.runs, study.judges, strict=True)
        ]
        adjust_bands(entries)
        return {"comparison": [{"by_band": entry["by_band"]} for entry in entries]}

    def tables(self, report: ReportJson) -> Iterator[Table]:
        rows = [
            [name, label, *(versus["by_band"][band][key] for key in (*BAND_FIELDS, "p_holm"))]
            for name, versus in named_comparisons(report)
            for band, label in BAND_NAMES.items()
            if versus["by_band"][band]["n"]
        ]
        yield Table(
            "by_band",
            "Judge and majority at equal certainty, on common items",
            (TableColumn("Run"), *BAND_COLUMNS, TableColumn("Holm p", "p")),
            rows,
            f"{BAND_NOTE}.",
        )


# Every draw weights every answer, so more answers would take too long.
PIGEONHOLE_ANSWERS = 100_000


def _pigeonhole(study: ReportedStudy, rows: BoolArray) -> Json:
    """The pigeonhole interval of the share of right answers among some single answers."""
    votes, out = study.votes, dict[str, Any]()
    right = study.correct_alone[rows].astype(np.float64)
    reason = None
    if votes.n > PIGEONHOLE_ANSWERS:
        reason = "too_large"
    elif n_distinct(votes.annotator[rows]) == 1:
        reason = "too_few_annotators"
    elif right.size and right.min() == right.max():
        # Resamples of equal values are all equal, which does not mean certainty.
        reason = "no_variation"
    if reason is not None:
        put_interval(out, "pigeonhole_ci", None, reason)
        return out
    share = pigeonhole_bootstrap(
        partial(_share, right),
        votes.item[rows],
        votes.annotator[rows],
        n_draws=study.draws,
        rng=study.rng(),
    )
    put_ci(out, "pigeonhole_ci", share)
    return out


def _share(right: Floats, weights: Floats) -> Floats:
    """Share of right answers under each row of weights."""
    return np.asarray(weights @ right / weights.sum(axis=1), dtype=np.float64)


class SingleAnswers(Section):
    """Accuracy of single answers in either band, with items and annotators resampled."""

    name = "single_answers"

    def compute(self, study: ReportedStudy, earlier: ReportJson) -> Json:
        certainty, scored = study.votes.certainty, study.correct_alone >= 0
        return {
            "human": {
                "individual": {
                    "high": _pigeonhole(study, scored & (certainty >= study.threshold)),
                    "low": _pigeonhole(study, scored & (certainty < study.threshold)),
                }
            }
        }
