"""Figures of certainty: how it is used, whether it keeps its promise, what it buys."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import plotly.graph_objects as go

from analysis.report.figures import (
    PEOPLE,
    REFERENCE,
    RIGHT_AND_WRONG,
    Figure,
    Key,
    Panel,
    Variant,
    axis,
    panel,
    plain,
    right_and_wrong,
    share_axis,
    styles,
    vertical,
    whiskers,
)
from analysis.report.sections.certainty.certified_figure import certified_marks, certified_words
from analysis.report.text.numbers import SMALL, TOO_SMALL, percent, run_names, whole_runs

Report = Mapping[str, Any]

# Differences that a title may speak of.
NOTICEABLE = 0.05
POINTS = 5


@dataclass(frozen=True)
class Side:
    """Somebody who states certainty, and how they are drawn."""

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


def _sides(report: Report) -> list[Side]:
    human = report["human"]
    sides = [
        Side(name, human[unit], PEOPLE, dash, symbol, counted, report["by_threshold"][unit])
        for name, unit, dash, symbol, counted in (
            ("People, majority", "majority", "solid", "circle", "item"),
            ("People, single", "individual", "dot", "circle-open", "answer"),
        )
    ]
    # Runs that saw less of the persona have a section of their own.
    names, drawn = run_names(report), styles(report)
    for index in whole_runs(report):
        steps = report["by_threshold"]["judges"][index]
        sides.append(Side(names[index], report["judges"][index], *drawn[index], "item", steps))
    return [side for side in sides if side.entry["certainty"]["summary"]["n"]]


def histograms(report: Report) -> Figure | None:
    """As Figure 2 of the source article: right below, wrong above, accuracy on each bar."""
    sides = _sides(report)
    if not any(bar["n"] for side in sides for bar in side.bars):
        return None
    # Sides that count items share one scale; single answers are several per item.
    tallest = {
        unit: max((bar["n"] for side in sides if side.unit == unit for bar in side.bars), default=0)
        for unit in ("item", "answer")
    }
    return Figure(
        "histograms",
        _histograms_title(sides),
        "Answers by stated certainty in bins of ten; the accuracy in % stands on each bar of ten "
        "answers or more. Answers without a truth to score them by are not shown.",
        "certainty_histogram",
        [_histogram(side, max(1, tallest[side.unit])) for side in sides],
        key=RIGHT_AND_WRONG,
        neutral="Right and wrong answers by certainty",
        variant=Variant(
            "From 40 on only, as the source article draws it",
            {"xaxis.range": [3.5, 9.6]},
            {"xaxis.range": [-0.6, 9.6]},
        ),
    )


def _histograms_title(sides: Sequence[Side]) -> str:
    apart = [
        side.entry["high"]["ci"][0] > side.entry["low"]["ci"][1]
        for side in sides
        if side.entry["high"]["ci"] and side.entry["low"]["ci"]
    ]
    if not apart:
        return "How certainty is spread"
    if all(apart) and len(apart) == len(sides):
        return "Everybody is more often right when certain"
    # That intervals overlap shows no difference, and not that there is none.
    return "Some are more often right when certain" if any(apart) else "How certainty is spread"


def _histogram(side: Side, top: int) -> Panel:
    bars = [
        (
            f"{bar['from']}–{bar['to']}",
            bar["correct"],
            bar["n"] - bar["correct"],
            f"{bar['accuracy'] * 100:.0f}" if bar["n"] >= TOO_SMALL else "",
        )
        for bar in side.bars
    ]
    parts = (("All", side.entry), ("High", side.entry["high"]), ("Low", side.entry["low"]))
    corner = "<br>".join(
        f"{label} {percent(part['accuracy'] if part['n'] >= TOO_SMALL else None)} "
        f"({part['correct']}/{part['n']})"
        for label, part in parts
    )
    told = (f"{bin_}: {hits} right, {misses} wrong" for bin_, hits, misses, _ in bars)
    return right_and_wrong(
        side.name,
        f"{side.name}, by certainty: " + ", ".join(told),
        bars,
        top=top,
        unit=f"{side.unit}s",
        note=corner,
        marks={
            "kind": "corner",
            "all": [side.entry["correct"], side.entry["n"]],
            "steps": [
                [step["from"]]
                + [step[part][key] for part in ("high", "low") for key in ("correct", "n")]
                for step in side.steps
            ],
        },
    )


def reliability(report: Report) -> Figure | None:
    """Accuracy against stated certainty, with the line of a perfect match."""
    found = [(side, side.entry["certainty"]["reliability"]) for side in _sides(report)]
    found = [(side, points) for side, points in found if points]
    if not found:
        return None
    return Figure(
        "reliability",
        _reliability_title([_gap(points) for _, points in found]),
        "Share of right answers against mean stated certainty in ten bins of equal width, with "
        "95 % intervals; the area of a dot is its number of answers, the dashed line a perfect "
        "match. Certainty 80 is read as a probability of .80.",
        "reliability",
        [_reliability(side.name, points, side.colour) for side, points in found],
    )


def _reliability(name: str, points: Sequence[Report], colour: str) -> Panel:
    largest = max(point["n"] for point in points)
    diagonal = go.Scatter(
        x=[0, 1],
        y=[0, 1],
        mode="lines",
        hoverinfo="skip",
        line={"color": REFERENCE, "dash": "dash", "width": 1},
    )
    dots = go.Scatter(
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
    told = (
        f"{point['confidence'] * 100:.0f}: {_right(point)} of {point['n']} right"
        for point in points
    )
    return panel(
        name,
        f"{name}, by certainty: " + ", ".join(told),
        [diagonal, dots],
        height=250,
        xaxis=share_axis("stated certainty", range=[0, 1.03]),
        yaxis=share_axis("right", range=[0, 1.03]),
    )


def _gap(points: Sequence[Report]) -> float:
    """Mean certainty less accuracy: how much more is promised than kept."""
    n = sum(point["n"] for point in points)
    return sum(point["n"] * (point["confidence"] - point["accuracy"]) for point in points) / n


def _reliability_title(gaps: Sequence[float]) -> str:
    over, under = max(gaps) > NOTICEABLE, min(gaps) < -NOTICEABLE
    return {
        (True, False): "Certainty promises more than it keeps",
        (False, True): "Answers are better than their certainty",
        (True, True): "Some promise too much, some too little",
        (False, False): "On average, certainty keeps its promise",
    }[over, under]


def risk_coverage(report: Report) -> Figure | None:
    """Accuracy of the accepted answers as the threshold falls."""
    tau = report["parameters"]["threshold"]
    traces, words, shown = [], [], []
    for side in _sides(report):
        points = [p for p in side.entry["certainty"]["sweep"] if p["n"] >= TOO_SMALL]
        if side.unit != "item" or not points:
            continue
        name, colour = side.name, side.colour
        shown += [p["accuracy"] for p in points]
        traces.append(
            go.Scatter(
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
            go.Scatter(
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
    stars = certified_marks(report)
    traces += stars
    alt = f"Accuracy against the share of answers accepted. {certified_words(report)}"
    drawing = panel(
        "",
        f"{alt} At certainty {tau}: {'; '.join(words) or 'too few answers to mark'}",
        traces,
        height=380,
        marks={"kind": "coverage", "alt": alt},
        xaxis=share_axis("share of answers accepted", range=[0, 1.02]),
        yaxis=share_axis(
            "right among them", range=[min(shown) - 0.05, min(1.0, max(shown) + 0.05) + 0.005]
        ),
    )
    return Figure(
        "risk_coverage",
        _coverage_title(report),
        "Accuracy of the most certain answers as more are accepted; the marks are at the "
        "threshold of high certainty"
        + (", stars at a certified one. " if stars else "; no threshold is certified. ")
        + "Thresholds that accept fewer than 10 answers are not drawn. "
        "AURC: the mean share of wrong answers over all coverages, lower is better.",
        "thresholds",
        [drawing],
        key=[
            Key(f"{side.name}{_area(side)}", side.colour, side.dash)
            for side in _sides(report)
            if side.unit == "item"
        ],
        neutral="Accuracy when only certain answers are accepted",
    )


def _area(side: Side) -> str:
    area = side.entry["calibration"]["aurc"]
    return "" if area is None else f" (AURC {area:.3f})"


def _coverage_title(report: Report) -> str:
    gains = [
        side.entry["high"]["accuracy"] - side.entry["accuracy"]
        for side in _sides(report)
        if side.unit == "item" and side.entry["high"]["n"] >= SMALL
    ]
    if not gains:
        return "Accuracy when only certain answers are accepted"
    if min(gains) > NOTICEABLE:
        return "Accepting only certain answers raises accuracy"
    if max(gains) > NOTICEABLE:
        return "Certainty raises accuracy for some, not for all"
    return "Accepting only certain answers gains little"


def certainty_curves(report: Report) -> Figure | None:
    """Distribution functions of certainty: single answers of people and replies of each run."""
    # Single answers against single replies: the mean of three people varies less than one reply.
    sides = [side for side in _sides(report) if side.name != "People, majority"]
    traces = []
    for side in sides:
        points = side.entry["certainty"]["distribution"]
        traces.append(
            go.Scatter(
                x=[point[0] for point in points],
                y=[point[1] for point in points],
                name=plain(side.name),
                mode="lines",
                line={"color": side.colour, "dash": side.dash, "width": 2, "shape": "hv"},
                hovertemplate=plain(side.name) + "<br>%{y:.0%} are at most %{x:.0f}<extra></extra>",
            )
        )
    if len(traces) < 2:
        return None
    tau = report["parameters"]["threshold"]
    drawing = panel(
        "",
        "Share of answers with at most a given certainty: "
        + "; ".join(
            f"{side.name} mean {side.entry['certainty']['summary']['mean']:.0f}" for side in sides
        ),
        traces,
        height=340,
        marks={"kind": "line"},
        xaxis=axis("certainty", range=[0, 101], dtick=20),
        yaxis=share_axis("answers at most as certain", range=[0, 1.02]),
        shapes=[vertical(tau, REFERENCE)],
    )
    return Figure(
        "certainty_curves",
        _curves_title(report),
        "Cumulative share of single answers by stated certainty; the dashed line marks the "
        "threshold of high certainty. A line further right is a more certain rater.",
        "certainty",
        [drawing],
        key=[side.key for side in sides],
    )


def _curves_title(report: Report) -> str:
    gaps = [
        versus["certainty"]["model_mean"] - versus["certainty"]["human_mean"]
        for versus in report["comparison"]
        if versus["certainty"]["model_mean"] is not None
    ]
    if gaps and min(gaps) > POINTS:
        return "Judges state more certainty than people on average"
    if gaps and max(gaps) < -POINTS:
        return "Judges state less certainty than people on average"
    return "How certain people and judges are"


def _right(point: Mapping[str, Any]) -> str:
    """How many of a point's answers are right: in percent where there are enough of them."""
    return percent(point["accuracy"]) if point["n"] >= TOO_SMALL else str(point["correct"])
