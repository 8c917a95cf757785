"""Accuracy and coverage at every threshold of certainty."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from analysis.data.arrays import Floats
from analysis.data.verdicts import Ints
from analysis.report.figures import Figure, Key, panel, plain, scatter_trace, share_axis
from analysis.report.quantities import Text, clause, joined, say
from analysis.report.rater_tests import held, of_names
from analysis.report.report_json import Json, cell, put_interval
from analysis.report.rules import TOO_SMALL
from analysis.report.section import Analysis, ReportJson, Section
from analysis.report.sections.certainty.distribution import (
    SideOfCertainty,
    certain_sides,
    drawn_sides,
    on_every_side,
)
from analysis.report.sentences import RANKING
from analysis.report.study import ReportedStudy
from analysis.report.tables import Table, TableColumn, in_general, without_interval
from analysis.report.words import percent
from extras.certainty.stats import threshold_sweep, unreachable_thresholds


def sweep(certainty: Floats, correct: Ints, *, seed: int, draws: int) -> list[Json]:
    """Coverage and accuracy at every stated certainty, with a simultaneous band."""
    rng = np.random.default_rng(seed)
    points = []
    for point in threshold_sweep(certainty, correct, n_draws=draws, rng=rng):
        entry: Json = {
            "threshold": point.threshold,
            "at": point.n_at,
            "coverage": point.coverage,
            **cell(point.accuracy),
        }
        put_interval(entry, "band", point.band, "too_few_items")
        points.append(entry)
    return points


def sweep_table(report: ReportJson) -> Table:
    rows: list[list[Any]] = []
    for who, side in certain_sides(report):
        below = 0.0
        for point in side["certainty"]["sweep"]:
            tau = point["threshold"]
            gap = [t for t in side["certainty"]["unreachable"] if below < t < tau]
            rows.append([who, tau, _span(gap), point["at"], point["coverage"]])
            rows[-1].append(without_interval(point))
            rows[-1].append(point["band"])
            below = tau
    columns = (
        TableColumn("Who"),
        TableColumn("Certainty from", "number"),
        TableColumn("Unreachable below"),
        TableColumn("Exactly there", "count"),
        TableColumn("Coverage", "percent"),
        TableColumn("Accuracy", "share"),
        TableColumn("Simultaneous band", "range"),
    )
    return Table(
        "thresholds",
        "All possible thresholds",
        columns,
        rows,
        "A threshold chosen from this table is chosen after the data, so its pointwise interval "
        "is too narrow; the simultaneous band is valid. Unreachable: no answer has this "
        "certainty, so as a threshold it accepts the same answers as the row, read as ≥ or as >; "
        "above the last row nothing is accepted.",
    )


def coverage(report: ReportJson) -> Table:
    rows = []
    for who, side in certain_sides(report):
        # From the strictest threshold to the most lenient.
        points = side["certainty"]["sweep"][::-1]
        if points:
            accepted = (_first_to_accept(points, tenth / 10) for tenth in range(1, 11))
            rows.append([who, *map(without_interval, accepted)])
    columns = (
        TableColumn("Who"),
        *(TableColumn(f"{tenth}0 %", "share", "Most certain answers") for tenth in range(1, 11)),
    )
    return Table(
        "coverage",
        "Accuracy of the most certain answers",
        columns,
        rows,
        "Italics: fewer than 30 answers. “too few”: fewer than 10. Each cell uses the first "
        "threshold that accepts at least this many answers: equal certainties enter together, so "
        "neighbouring cells may be equal.",
    )


def _first_to_accept(points: Sequence[ReportJson], share: float) -> ReportJson:
    return next((point for point in points if point["coverage"] >= share), points[-1])


def _span(neighbours: Sequence[int]) -> str | None:
    """Consecutive whole numbers as a range."""
    if len(neighbours) < 2:
        return str(neighbours[0]) if neighbours else None
    return f"{neighbours[0]}–{neighbours[-1]}"


def paper_compat(report: ReportJson) -> Table:
    rows = [
        [who, side["no_certainty"], in_general(side["low"]), side["paper_compat"]["low"]]
        for who, side in certain_sides(report)
        if side["no_certainty"]
    ]
    columns = (
        TableColumn("Who"),
        TableColumn("Without certainty", "count"),
        TableColumn("Low", "share"),
        TableColumn("Low, including those", "share"),
    )
    return Table(
        "paper_compat",
        "Low certainty, with and without missing certainties",
        columns,
        rows,
        "Elsewhere, an answer without certainty is neither high nor low. The code released with "
        "the source article reads it as 0, so as low (“paper_compat”).",
    )


def risk_coverage_figure(report: ReportJson) -> Figure | None:
    """Accuracy of accepted answers as the threshold falls."""
    tau = report["parameters"]["threshold"]
    traces, words, accuracies = [], [], []
    for side in drawn_sides(report):
        points = [p for p in side.entry["certainty"]["sweep"] if p["n"] >= TOO_SMALL]
        if side.unit != "item" or not points:
            continue
        name, colour = side.name, side.colour
        accuracies += [p["accuracy"] for p in points]
        traces.append(
            scatter_trace(
                x=[p["coverage"] for p in points],
                y=[p["accuracy"] for p in points],
                name=plain(name),
                meta="line",
                mode="lines" if len(points) > 1 else "markers",
                marker={"color": colour},
                line={"color": colour, "dash": side.dash, "width": 2, "shape": "linear"},
                customdata=[[p["threshold"], p["n"]] for p in points],
                hovertemplate=plain(name)
                + "<br>≥ %{customdata[0]:.0f}: %{y:.1%} of %{customdata[1]}<extra></extra>",
            )
        )
        marked = [p for p in points if p["threshold"] >= tau][:1]
        words += [f"{name} {percent(at['accuracy'])} at {percent(at['coverage'])}" for at in marked]
        traces.append(
            scatter_trace(
                x=[at["coverage"] for at in marked],
                y=[at["accuracy"] for at in marked],
                name=plain(name),
                meta="mark",
                mode="markers",
                marker={
                    "color": colour,
                    "symbol": side.symbol,
                    "size": 12,
                    "line": {"color": "#0b0c0c", "width": 1.5},
                },
                showlegend=False,
                hovertemplate=f"{plain(name)} at the threshold: %{{y:.1%}}<extra></extra>",
            )
        )
    if not traces:
        return None
    alt = "Accuracy by share of accepted answers."
    drawing = panel(
        "",
        f"{alt} At certainty {tau}: {'; '.join(words) or 'too few answers to mark'}",
        traces,
        height=380,
        marks={"kind": "coverage", "alt": alt},
        xaxis=share_axis("share of answers accepted", range=[0, 1.02]),
        yaxis=share_axis(
            # Room for a whole mark at 100 %.
            "right among them",
            range=[min(accuracies) - 0.05, min(1.0, max(accuracies) + 0.05) + 0.02],
        ),
    )
    return Figure(
        "risk_coverage",
        _coverage_title(report),
        say(
            "Accuracy of the most certain answers as more are accepted; the marks are at the "
            "threshold of high certainty. Thresholds that accept fewer than 10 answers are not "
            "drawn. AURC: the mean share of wrong answers over all coverages, lower is better."
        ),
        "thresholds",
        [drawing],
        key=[
            Key(f"{side.name}{_area(side)}", side.colour, side.dash)
            for side in drawn_sides(report)
            if side.unit == "item"
        ],
        neutral="Accuracy when only certain answers are accepted",
    )


def _area(side: SideOfCertainty) -> str:
    area = side.entry["calibration"]["aurc"]
    return "" if area is None else f" (AURC {area:.3f})"


def _coverage_title(report: ReportJson) -> Text:
    parts = [
        clause(f"{which} accuracy for {{names}}", names=of_names(names))
        for which, names in zip(("raises", "lowers"), held(report, RANKING), strict=True)
        if names
    ]
    if not parts:
        return say("Accuracy when only certain answers are accepted")
    return say("Accepting only certain answers {parts}", parts=joined(parts, last=", "))


class Thresholds(Section):
    """Coverage and accuracy of every threshold."""

    name = "thresholds"
    shows = ("risk_coverage", "coverage", "paper_compat")
    analyses = (Analysis("calibration", tables=("thresholds", "coverage")),)
    keys = """
unreachable | list | Whole certainties that no answer has.
sweep | list | Accuracy and coverage at every threshold that the answers allow.
sweep.at | count | Answers whose certainty is exactly this threshold.
band | interval | Simultaneous band over all thresholds.
"""

    def compute(self, study: ReportedStudy, earlier: ReportJson) -> Json:
        return on_every_side(
            study,
            lambda side: {
                "certainty": {
                    "sweep": sweep(
                        side.certainty, side.correct, seed=study.seed, draws=study.draws
                    ),
                    "unreachable": list(unreachable_thresholds(side.certainty, side.correct)),
                }
            },
        )

    def tables(self, report: ReportJson) -> Iterator[Table]:
        yield sweep_table(report)
        yield coverage(report)
        yield paper_compat(report)

    def figures(self, report: ReportJson) -> Iterator[Figure | None]:
        yield risk_coverage_figure(report)


THRESHOLDS = Thresholds()
