"""Figures 2 and 3: how right the answers are at each certainty, one panel per file.

Bars as in the paper: tens, cut to 40 to 90, right answers below and wrong ones on top, accuracy
above. Certainty on another scale keeps that scale.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import plotly.graph_objects as go

from analysis.replication.counting import has_hundred_scale, is_certain, share
from analysis.replication.names import ResultName
from analysis.replication.reading import Row

RIGHT, WRONG = "#4C72B0", "#DD8452"  # the paper's colours


@dataclass(frozen=True)
class Panel:
    """One drawing and the numbers behind it."""

    id: str
    title: str
    summary: str
    bars: tuple[tuple[str, int, int], ...]
    drawing: Mapping[str, Any]


def figures(files: Mapping[str, Sequence[Row]]) -> dict[str, list[Panel]]:
    """Panels of Figure 2 (whole personas) and Figure 3 (fewer features, or none)."""
    panels: dict[str, list[Panel]] = {"figure2": [], "figure3": []}
    for file, rows in files.items():
        name = ResultName.parse(file)
        if name is None or name.with_tie or not any(is_certain(row) for row in rows):
            continue
        whole = name.with_persona and name.features == "All features"
        figure = panels["figure2" if whole else "figure3"]
        figure.append(_panel(f"plot-{len(panels['figure2']) + len(panels['figure3'])}", name, rows))
    return panels


def certainty_bars(rows: Sequence[Row]) -> tuple[tuple[str, int, int], ...]:
    """Label, right and wrong answers of each bar; only A and B count, as in the paper.

    >>> from dataclasses import replace
    >>> row = Row("A", "A", "A", 85, "85", 100, False, True, "")
    >>> certainty_bars([row, replace(row, certainty=12), replace(row, certainty=100, truth="B")])
    (('40', 1, 0), ('80', 1, 0), ('90', 0, 1))
    """
    bars: dict[int, list[bool]] = {}
    for row in rows:
        if row.answer not in ("A", "B") or row.certainty is None or not is_certain(row):
            continue
        at = row.certainty
        if has_hundred_scale(row):
            at = min(max(at // 10, 4), 9) * 10
        bars.setdefault(at, []).append(row.correct)
    return tuple(
        (str(at), sum(right), len(right) - sum(right)) for at, right in sorted(bars.items())
    )


def _panel(id: str, name: ResultName, rows: Sequence[Row]) -> Panel:
    bars = certainty_bars(rows)
    counted = [row for row in rows if row.answer in ("A", "B")]
    labels = [label for label, _, _ in bars]
    right, wrong = [bar[1] for bar in bars], [bar[2] for bar in bars]
    figure = go.Figure(
        [
            go.Bar(x=labels, y=right, name="right", marker_color=RIGHT),
            go.Bar(
                x=labels,
                y=wrong,
                name="wrong",
                marker={"color": WRONG, "pattern": {"shape": "/", "size": 5}},
                text=[f"{r / (r + w):.2f}" for r, w in zip(right, wrong, strict=True)],
                textposition="outside",
                cliponaxis=False,
            ),
        ],
        {
            "barmode": "stack",
            "template": "none",
            "height": 260,
            "margin": {"l": 48, "r": 12, "t": 12, "b": 44},
            "showlegend": False,
            "font": {"family": "system-ui, sans-serif", "size": 13},
            "xaxis": {"title": {"text": "certainty"}, "type": "category", "fixedrange": True},
            "yaxis": {
                "title": {"text": "answers"},
                "fixedrange": True,
                "gridcolor": "#e3e6e8",
                "range": [0, 1.15 * max(r + w for _, r, w in bars)],
            },
        },
    )
    return Panel(
        id, name.title, _summary(counted), bars, _without_template(figure.to_plotly_json())
    )


def _summary(rows: Sequence[Row]) -> str:
    overall = share(rows)
    if not all(has_hundred_scale(row) for row in rows):
        scale = max(row.scale or 100 for row in rows)
        return f"accuracy {overall['accuracy']:.3f} · certainty from 1 to {scale}, no band at 80"
    parts = [f"accuracy {overall['accuracy']:.3f}"]
    for band, high in (("high", True), ("low", False)):
        part = share(row for row in rows if ((row.certainty or 0) >= 80) == high)
        value = "–" if part["accuracy"] is None else f"{part['accuracy']:.3f}"
        parts.append(f"{band} {value} ({part['correct']}/{part['n']})")
    return " · ".join(parts)


def _without_template(drawing: dict[str, Any]) -> dict[str, Any]:
    """The drawing as plain JSON, lean: plotly's own defaults are left to the browser."""
    drawing["layout"].pop("template", None)
    return drawing
