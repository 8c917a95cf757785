"""The reliability diagram: accuracy against stated certainty."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from analysis.data.arrays import Floats
from analysis.data.verdicts import Ints
from analysis.report.figures import (
    REFERENCE,
    Figure,
    FigurePanel,
    panel,
    scatter_trace,
    share_axis,
    whiskers,
)
from analysis.report.quantities import Quantity, QuantityInterval, Text, clause, joined, say
from analysis.report.rater_tests import held, of_names
from analysis.report.report_json import Json, cell
from analysis.report.rules import TOO_SMALL
from analysis.report.section import Analysis, ReportJson, Section
from analysis.report.sections.certainty.distribution import (
    certain_sides,
    drawn_sides,
    on_every_side,
)
from analysis.report.sentences import CALIBRATION
from analysis.report.study import ReportedStudy
from analysis.report.tables import Table, TableColumn
from analysis.report.words import percent
from analysis.stats.certainty.calibration import calibration_error
from analysis.stats.core.proportions import wilson_proportion


def reliability(certainty: Floats, correct: Ints) -> list[Json]:
    """Points of the reliability diagram: equal width, non-empty bins, with Wilson intervals."""
    points = []
    for bar in calibration_error(certainty, correct).bins:
        share = wilson_proportion(np.arange(bar.n) < bar.correct)
        points.append({"from": bar.low, "to": bar.high, "confidence": bar.confidence} | cell(share))
    return points


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


def reliability_figure(report: ReportJson) -> Figure | None:
    """Accuracy by stated certainty, with the line of a perfect match."""
    curves = [(side, side.entry["certainty"]["reliability"]) for side in drawn_sides(report)]
    curves = [(side, points) for side, points in curves if points]
    if not curves:
        return None
    return Figure(
        "reliability",
        _reliability_title(report),
        say(
            "Share of right answers by mean stated certainty in ten bins of equal width, with "
            "95 % intervals; dot areas show numbers of answers, the dashed line a perfect match. "
            "Certainty 80 is read as a probability of .80."
        ),
        "reliability",
        [_reliability(side.name, points, side.colour) for side, points in curves],
    )


def _reliability(name: str, points: Sequence[ReportJson], colour: str) -> FigurePanel:
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
        error_y=whiskers(
            [
                Quantity("share", None, point["accuracy"], interval=QuantityInterval(point["ci"]))
                for point in points
            ]
        ),
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


def _reliability_title(report: ReportJson) -> Text:
    parts = [
        clause(f"{which} than accuracy for {{names}}", names=of_names(names))
        for which, names in zip(("higher", "lower"), held(report, CALIBRATION), strict=True)
        if names
    ]
    if not parts:
        return say("Accuracy by certainty")
    return say("Certainty is {parts}", parts=joined(parts, last=", "))


def _right(point: Mapping[str, Any]) -> str:
    """A point's share of right answers, in percent if there are enough."""
    return percent(point["accuracy"]) if point["n"] >= TOO_SMALL else str(point["correct"])


class Reliability(Section):
    """Accuracy against stated certainty, in ten bins."""

    name = "reliability"
    shows = ("reliability", "bands", "certainty_measures")
    analyses = (Analysis("calibration", tables=("reliability",)),)
    keys = """
certainty.reliability | list | Points of the reliability diagram: ten bins of equal width.
reliability.from | share | Lower end of the bin.
reliability.to | share | Upper end of the bin.
reliability.confidence | share | Mean certainty in the bin.
"""

    def compute(self, study: ReportedStudy, earlier: ReportJson) -> Json:
        return on_every_side(
            study,
            lambda side: {"certainty": {"reliability": reliability(side.certainty, side.correct)}},
        )

    def tables(self, report: ReportJson) -> Iterator[Table]:
        yield reliability_table(report)

    def figures(self, report: ReportJson) -> Iterator[Figure | None]:
        yield reliability_figure(report)


RELIABILITY = Reliability()
