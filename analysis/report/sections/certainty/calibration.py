"""Calibration, discrimination and reliability of certainty, stated or from other sources."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from analysis.data.arrays import Floats
from analysis.data.verdicts import Ints
from analysis.report.figures import (
    REFERENCE,
    Figure,
    Panel,
    panel,
    scatter_trace,
    share_axis,
    whiskers,
)
from analysis.report.report_json import Json, cell, number, pick, put
from analysis.report.rules import TOO_SMALL
from analysis.report.section import Analysis, ReportJson, Section
from analysis.report.sections.certainty.distribution import (
    certain_sides,
    drawn_sides,
    on_every_side,
)
from analysis.report.sentences import CALIBRATION, held, of_names
from analysis.report.study import ReportedStudy
from analysis.report.tables import Table, TableColumn, table_of_entries
from analysis.report.words import percent
from analysis.stats.certainty.calibration import (
    Binning,
    brier_score,
    calibration_error,
    discrimination,
)
from analysis.stats.certainty.risk_coverage import risk_coverage
from analysis.stats.core.proportions import wilson_proportion

# Equal numbers of answers per bin, and one bin per value, because few values are common.
OTHER_BINNINGS: tuple[Binning, ...] = ("mass", "distinct")


def calibration(certainty: Floats, correct: Ints) -> Json:
    """The summary numbers of every report, with details."""
    plain = calibration_error(certainty, correct)
    half = calibration_error(certainty, correct, scale="half")
    others = {
        f"ece_{binning}": calibration_error(certainty, correct, binning=binning)
        for binning in OTHER_BINNINGS
    }
    brier = brier_score(certainty, correct)
    area = discrimination(certainty, correct)
    out = pick(plain, {"ece": "ece", "mce": "mce"})
    out |= pick(brier, {"brier": "value"})
    out |= pick(area, {"auroc": "auroc"})
    out |= pick(risk_coverage(certainty, correct), {"aurc": "aurc", "e_aurc": "e_aurc"})
    out["n"] = plain.n
    put(out, "ece_half_scale", number(half.ece), half.reason)
    for key, found in others.items():
        put(out, key, number(found.ece), found.reason)
    half_brier = brier_score(certainty, correct, scale="half")
    put(out, "brier_half_scale", number(half_brier.value), half_brier.reason)
    precision = ("auprc_correct", "auprc_error")
    out |= pick(area, {key: key for key in precision})
    put(out, "base_rate", number(area.base_rate), area.reason)
    out |= {"right": area.n_right, "wrong": area.n_wrong}
    parts = ("reliability", "resolution", "uncertainty")
    out["brier_parts"] = pick(brier, {part: part for part in parts})
    return out


def reliability(certainty: Floats, correct: Ints) -> list[Json]:
    """Points of the reliability diagram: equal width, non-empty bins, with Wilson intervals."""
    points = []
    for bar in calibration_error(certainty, correct).bins:
        share = wilson_proportion(np.arange(bar.n) < bar.correct)
        points.append({"from": bar.low, "to": bar.high, "confidence": bar.confidence} | cell(share))
    return points


def certainty_table(report: ReportJson) -> Table:
    return table_of_entries(
        "certainty",
        "Use and value of certainty",
        certain_sides(report),
        [
            ("n", "count", "certainty.summary.n"),
            ("Mean", "number", "certainty.summary.mean"),
            ("SD", "number", "certainty.summary.sd"),
            ("Distinct values", "count", "certainty.summary.distinct"),
            ("Exactly at the threshold", "count", "certainty.rules.at"),
            ("Multiples of 5", "percent", "certainty.summary.multiples_of_5"),
            ("ECE", "decimal", "calibration.ece"),
            ("Brier", "decimal", "calibration.brier"),
            ("AUROC", "decimal", "calibration.auroc"),
            ("AURC", "decimal", "calibration.aurc"),
        ],
        "Certainty is read as a probability of certainty / 100. ECE: ten bins of equal width. "
        "Lower is better for ECE, Brier and AURC; AUROC .5 means that certainty says nothing.",
        first="Who",
    )


def reliability_table(report: ReportJson) -> Table:
    rows = [
        [who, f"{point['from']:g}–{point['to']:g}", point["confidence"], point]
        for who, side in certain_sides(report)
        for point in side["certainty"]["reliability"]
    ]
    columns = (
        TableColumn("Who"),
        TableColumn("Certainty"),
        TableColumn("Mean certainty", "percent"),
        TableColumn("Right", "share"),
    )
    return Table("reliability", "Accuracy against stated certainty", columns, rows)


def measures(report: ReportJson) -> Table:
    return table_of_entries(
        "certainty_measures",
        "More measures of certainty",
        [(who, side["calibration"]) for who, side in certain_sides(report)],
        [
            ("right", "count", "right", "Answers"),
            ("wrong", "count", "wrong", "Answers"),
            ("ten bins", "decimal", "ece", "ECE"),
            ("equal numbers", "decimal", "ece_mass", "ECE"),
            ("by value", "decimal", "ece_distinct", "ECE"),
            ("0 as a coin flip", "decimal", "ece_half_scale", "ECE"),
            ("largest gap", "decimal", "mce", "ECE"),
            ("reliability", "decimal", "brier_parts.reliability", "Brier score ="),
            ("− resolution", "decimal", "brier_parts.resolution", "Brier score ="),
            ("+ uncertainty", "decimal", "brier_parts.uncertainty", "Brier score ="),
            ("right", "decimal", "auprc_correct", "AUPRC"),
            ("wrong", "decimal", "auprc_error", "AUPRC"),
            ("Share right", "decimal", "base_rate"),
            ("E-AURC", "decimal", "e_aurc"),
        ],
        "Few values of certainty occur, so ECE by value has one bin for each. Read as a coin "
        "flip, certainty 0 means one half. Compare AUPRC with the share right (for right "
        "answers) or one minus that (for wrong ones). E-AURC is the excess over the best order "
        "of the same answers.",
        first="Who",
    )


def reliability_figure(report: ReportJson) -> Figure | None:
    """Accuracy by stated certainty, with the line of a perfect match."""
    found = [(side, side.entry["certainty"]["reliability"]) for side in drawn_sides(report)]
    found = [(side, points) for side, points in found if points]
    if not found:
        return None
    return Figure(
        "reliability",
        _reliability_title(report),
        "Share of right answers by mean stated certainty in ten bins of equal width, with 95 % "
        "intervals; dot areas show numbers of answers, the dashed line a perfect match. "
        "Certainty 80 is read as a probability of .80.",
        "reliability",
        [_reliability(side.name, points, side.colour) for side, points in found],
    )


def _reliability(name: str, points: Sequence[ReportJson], colour: str) -> Panel:
    largest = max(point["n"] for point in points)
    diagonal = scatter_trace(
        x=[0, 1],
        y=[0, 1],
        mode="lines",
        hoverinfo="skip",
        line={"color": REFERENCE, "dash": "dash", "width": 1},
    )
    dots = scatter_trace(
        x=[point["confidence"] for point in points],
        y=[point["accuracy"] for point in points],
        mode="markers",
        marker={
            "color": colour,
            "size": [6 + 16 * (point["n"] / largest) ** 0.5 for point in points],
            "opacity": 0.85,
            "line": {"color": "#ffffff", "width": 1},
        },
        error_y=whiskers(points),
        customdata=[point["n"] for point in points],
        hovertemplate="certainty %{x:.0%}<br>%{y:.1%} of %{customdata}<extra></extra>",
    )
    words = (
        f"{point['confidence'] * 100:.0f}: {_right(point)} of {point['n']} right"
        for point in points
    )
    return panel(
        name,
        f"{name}, by certainty: " + ", ".join(words),
        [diagonal, dots],
        height=250,
        xaxis=share_axis("stated certainty", range=[0, 1.03]),
        yaxis=share_axis("right", range=[0, 1.03]),
    )


def _reliability_title(report: ReportJson) -> str:
    parts = [
        f"{which} than accuracy for {of_names(names)}"
        for which, names in zip(("higher", "lower"), held(report, CALIBRATION), strict=True)
        if names
    ]
    return f"Certainty is {', '.join(parts)}" if parts else "Accuracy by certainty"


def _right(point: Mapping[str, Any]) -> str:
    """A point's share of right answers, in percent if there are enough."""
    return percent(point["accuracy"]) if point["n"] >= TOO_SMALL else str(point["correct"])


class CalibrationSection(Section):
    """Calibration of every side."""

    name = "calibration"
    analyses = (
        Analysis(
            "calibration",
            tables=(
                "certainty",
                "certainty_histogram",
                "reliability",
                "thresholds",
                "coverage",
                "bands",
                "certainty_measures",
            ),
            paths=(
                "human.majority.calibration",
                "human.majority.certainty",
                "human.individual.calibration",
                "human.individual.certainty",
                "judges.*.calibration",
                "judges.*.certainty",
            ),
            main=("human.majority.calibration.ece", "judges.*.calibration.ece"),
            uses=("threshold", "resamples"),
        ),
    )

    def compute(self, study: ReportedStudy, earlier: ReportJson) -> Json:
        return on_every_side(
            study,
            lambda side: {
                "calibration": calibration(side.certainty, side.correct),
                "certainty": {"reliability": reliability(side.certainty, side.correct)},
            },
        )

    def tables(self, report: ReportJson) -> Iterator[Table]:
        yield certainty_table(report)
        yield measures(report)
        yield reliability_table(report)

    def figures(self, report: ReportJson) -> Iterator[Figure | None]:
        yield reliability_figure(report)
