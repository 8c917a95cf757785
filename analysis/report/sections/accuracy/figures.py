"""Figures of accuracy, agreement and position."""

from collections.abc import Mapping, Sequence
from typing import Any

import plotly.graph_objects as go

from analysis.report.figures import (
    PEOPLE,
    REFERENCE,
    Figure,
    Variant,
    axis,
    label,
    panel,
    plain,
    row_axis,
    row_label,
    share_axis,
    styles,
    vertical,
    whiskers,
)
from analysis.report.sections.accuracy.tables import in_general
from analysis.report.text.numbers import decimal, percent, run_names

Report = Mapping[str, Any]

# Agreement on sheets of 30 in the source article: mean and standard deviation.
PUBLISHED = (0.597, 0.087)

# Rows name themselves inside the plot, so the left margin stays small.
MARGIN = {"l": 12, "r": 16, "t": 24, "b": 44}


def forest(report: Report) -> Figure | None:
    """Accuracy of everybody, with intervals."""
    human = report["human"]
    rows = [("People, majority", in_general(human["majority"]), PEOPLE, "circle")]
    rows.append(("People, single answers", in_general(human["individual"]), PEOPLE, "circle-open"))
    for name, judge, (colour, _, symbol) in _runs(report):
        rows.append((name, in_general(judge), colour, symbol))
    rows = [row for row in rows if row[1]["accuracy"] is not None]
    if not rows:
        return None
    traces = [
        go.Scatter(
            x=[side["accuracy"]],
            y=[row],
            mode="markers",
            marker={"color": colour, "symbol": symbol, "size": 11},
            error_x=whiskers([side]),
            hovertemplate=f"{plain(name)}<br>%{{x:.1%}} of {side['n']}<extra></extra>",
        )
        for row, (name, side, colour, symbol) in enumerate(rows)
    ]
    reference = human["majority"]["accuracy"]
    lines = [] if reference is None else [vertical(reference, PEOPLE)]
    drawing = panel(
        "",
        "Accuracy with 95 % intervals: "
        + "; ".join(f"{name} {percent(side['accuracy'])}" for name, side, *_ in rows),
        traces,
        height=70 + 46 * len(rows),
        xaxis=share_axis("accuracy"),
        yaxis=row_axis(len(rows)),
        shapes=lines,
        annotations=[
            row_label(row, name, percent(side["accuracy"]))
            for row, (name, side, *_) in enumerate(rows)
        ],
        margin=MARGIN,
    )
    return Figure(
        "accuracy",
        _forest_title(report),
        "Share of right answers with 95 % intervals for items, people, personas and questions "
        "like these. The line marks the majority of people.",
        "at_a_glance",
        [drawing],
    )


def _runs(report: Report) -> list[tuple[str, Report, tuple[str, str, str]]]:
    """Name, entry and style of every run."""
    return list(zip(run_names(report), report["judges"], styles(report), strict=True))


def _forest_title(report: Report) -> str:
    margin = f"{report['parameters']['margin'] * 100:g} points"
    return {
        "better": "The best judge is right more often than people",
        "worse": "People are right more often than the best judge",
        "equivalent": f"The best judge and people are right equally often within {margin}",
        "cannot_tell": "The best judge and people cannot be told apart",
    }.get(report["headline"]["state"], "How often everybody is right")


def sheets(report: Report) -> Figure | None:
    """The source article's bootstrap: agreement on sheets of 30."""
    found = report["human"]["agreement"]
    draws = found["bootstrap"]
    if draws["mean"] is None:
        return None
    size = draws["size"]
    expected = found["from_accuracy"]["agreement"]
    lines = [vertical(draws["mean"], PEOPLE, "solid")]
    labels = [label(draws["mean"], f"mean {percent(draws['mean'])}", 1.0)]
    if expected is not None:
        lines.append(vertical(expected, REFERENCE))
        labels.append(label(expected, f"from accuracy alone {percent(expected)}", 1.09))
    counts = draws["histogram"]
    drawing = panel(
        "",
        f"Agreement of two people on {draws['draws']} sheets of {size} items: mean "
        f"{percent(draws['mean'])}, standard deviation {percent(draws['sd'])}.",
        [
            go.Bar(
                x=[hits / size for hits in range(size + 1)],
                y=counts,
                width=0.9 / size,
                marker_color=PEOPLE,
                opacity=0.75,
                hovertemplate="%{x:.1%} agree: %{y} sheets<extra></extra>",
            )
        ],
        height=300,
        margin={"l": 52, "r": 16, "t": 48, "b": 44},
        xaxis=share_axis("agreement on one sheet", range=[0.0, 1.02]),
        yaxis=axis("sheets"),
        shapes=lines,
        annotations=labels,
    )
    dashed = " Dashed: agreement of people of this accuracy whose errors have nothing in common."
    if found["from_accuracy"]["agreement"] is None:
        dashed = ""
    alpha = found["krippendorff_alpha"]["value"]
    tail = "" if alpha is None else f", alpha is {decimal(alpha, 2)}"
    return Figure(
        "sheets",
        f"Two people agree in {percent(found['percent'])} of pairs{tail}",
        f"{draws['draws']:,} draws of {size} items, one pair of people on each, without "
        f"replacement (unit {draws['unit']}).{dashed}",
        "agreement",
        [drawing],
        variant=_beside_the_article(lines, labels),
    )


def _beside_the_article(lines: Sequence[Report], labels: Sequence[Report]) -> Variant:
    """The published mean, and one standard deviation to either side of it."""
    mean, sd = PUBLISHED
    band = {
        "type": "rect", "x0": mean - sd, "x1": mean + sd, "yref": "paper", "y0": 0, "y1": 1,
        "fillcolor": REFERENCE, "opacity": 0.12, "line": {"width": 0}, "layer": "below",
    }  # fmt: skip
    words = label(mean, f"source article {decimal(mean)} ± {decimal(sd)}", 1.18)
    return Variant(
        f"The source article's {decimal(mean)} ± {decimal(sd)} beside it",
        {
            "shapes": [*lines, band, vertical(mean, REFERENCE, "dot")],
            "annotations": [*labels, words],
            "margin.t": 68,
        },
        {"shapes": list(lines), "annotations": list(labels), "margin.t": 48},
    )


def position(report: Report) -> Figure | None:
    """Share of side A, beside the share of items where A is right."""
    rows = []
    if report["human"]["position"]["n"]:
        rows.append(("People", report["human"]["position"], PEOPLE, "circle"))
    for name, judge, (colour, _, symbol) in _runs(report):
        if judge["position"]["n"]:
            rows.append((name, judge["position"], colour, symbol))
    rows = [row for row in rows if row[1]["share_a"] is not None]
    if not rows:
        return None
    traces = [
        go.Scatter(
            x=[found["share_a"]],
            y=[row],
            mode="markers",
            marker={"color": colour, "symbol": symbol, "size": 11},
            hovertemplate=f"{plain(name)}<br>side A in %{{x:.1%}} of {found['n']}<extra></extra>",
        )
        for row, (name, found, colour, symbol) in enumerate(rows)
    ]
    traces.append(
        go.Scatter(
            x=[found["truth_share_a"] for _, found, *_ in rows],
            y=list(range(len(rows))),
            mode="markers",
            marker={"symbol": "line-ns-open", "size": 16, "color": REFERENCE, "line": {"width": 2}},
            hovertemplate="side A is right in %{x:.1%}<extra></extra>",
        )
    )
    leaning = [
        (abs(found["share_a"] - found["truth_share_a"]), name, found)
        for name, found, *_ in rows
        if found["truth_share_a"] is not None and found["p"] is not None and found["p"] <= 0.05
    ]
    if leaning:
        _, name, found = max(leaning)
        side = "A" if found["share_a"] > found["truth_share_a"] else "B"
        title = f"{name} leans to side {side}"
    else:
        title = "Nobody clearly leans to a side"
    return Figure(
        "position",
        title,
        "Share of answers for the response on side A; the bar across is the share of items where "
        "side A is right.",
        "position",
        [
            panel(
                "",
                "Share of side A: "
                + "; ".join(f"{name} {percent(found['share_a'])}" for name, found, *_ in rows),
                traces,
                height=70 + 44 * len(rows),
                xaxis=share_axis("answers for side A", range=[0, 1]),
                yaxis=row_axis(len(rows)),
                shapes=[vertical(0.5, "#9aa7b2")],
                annotations=[
                    row_label(row, name, percent(found["share_a"]))
                    for row, (name, found, *_) in enumerate(rows)
                ],
                margin=MARGIN,
            )
        ],
    )
