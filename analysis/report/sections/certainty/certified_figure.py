"""Certified thresholds in the drawing of accuracy against coverage."""

from collections.abc import Mapping
from typing import Any

import plotly.graph_objects as go

from analysis.report.figures import plain, styles
from analysis.report.text.numbers import percent, run_names, whole_runs

Report = Mapping[str, Any]


def certified_marks(report: Report) -> list[go.Scatter]:
    """A star where the certified threshold of a run lies; it stays when a reader tries another."""
    names, drawn = run_names(report), styles(report)
    return [
        go.Scatter(
            x=[found["coverage"]],
            y=[found["accuracy"]],
            name=plain(names[index]),
            meta="certified",
            mode="markers",
            marker={
                "color": drawn[index][0],
                "symbol": "star",
                "size": 16,
                "line": {"color": "#0b0c0c", "width": 1.5},
            },
            showlegend=False,
            hovertemplate=f"{plain(names[index])}, certified from {found['threshold']:.0f}: "
            "%{y:.1%} of %{x:.1%}<extra></extra>",
        )
        for index, found in _certified(report)
    ]


def certified_words(report: Report) -> str:
    """The same for whoever does not see the stars."""
    names = run_names(report)
    told = [
        f"{names[index]} from {found['threshold']:.0f}, {percent(found['accuracy'])} at "
        f"{percent(found['coverage'])}"
        for index, found in _certified(report)
    ]
    return f"Certified: {'; '.join(told)}." if told else "No threshold is certified."


def _certified(report: Report) -> list[tuple[int, Report]]:
    found = [(index, report["selective"][index]) for index in whole_runs(report)]
    return [(index, entry) for index, entry in found if entry["threshold"] is not None]
