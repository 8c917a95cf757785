"""Still pictures of figures: every plot of a report has one, with what plotly would draw."""

import re
import xml.etree.ElementTree as ElementTree

import pytest

from analysis.report.build import all_figures
from analysis.report.figures import (
    CORRECT,
    PEOPLE,
    WRONG,
    axis,
    bar_trace,
    corner_note,
    label,
    panel,
    row_label,
    scatter_trace,
    share_axis,
    vertical,
)
from analysis.report.stills import WIDTH, CannotDraw, still
from analysis.templatetags.report_words import still_picture
from tests.analysis.builders import random_study
from tests.analysis.partial import report_of

MARKER = {"color": PEOPLE, "size": 10}


def drawn(*traces, **layout):
    axes = {"xaxis": axis(), "yaxis": axis()}
    plot = panel("", "", traces, height=200, **axes | layout)
    return ElementTree.fromstring(still(plot.plot))


def texts(picture):
    return ["".join(text.itertext()) for text in picture.iter("text")]


@pytest.mark.nightly
@pytest.mark.django_db
def test_every_plot_of_a_report_has_a_still_picture_whose_texts_fit():
    figures = all_figures(report_of(random_study(3, n_items=60)))

    plots = [drawn for figure in figures.values() for _, drawn in figure.plots]

    assert len(plots) > 10
    for plot in plots:
        picture = ElementTree.fromstring(still_picture(plot))
        traces = plot.plot["data"]
        marks = [len(list(picture.iter(tag))) for tag in ("rect", "path", "circle")]
        assert sum(marks) >= sum(bool(trace["x"]) for trace in traces), plot.alt
        for text in picture.iter("text"):
            words, size = "".join(text.itertext()), float(text.get("font-size"))
            anchor = {"start": 0, "middle": 0.5, "end": 1}[text.get("text-anchor")]
            if "transform" not in text.attrib:
                left = float(text.get("x")) - anchor * len(words) * size * 0.5
                assert -3 <= left <= WIDTH - len(words) * size * 0.5 + 3, words
                assert 0 < float(text.get("y")) <= plot.height, words


def test_marks_stand_where_the_axes_say():
    picture = drawn(
        scatter_trace(
            x=[0.25, 0.75],
            y=[0, 1],
            mode="markers",
            marker=MARKER,
            error_x={
                "type": "data",
                "array": [0.25, 0],
                "arrayminus": [0, 0],
                "width": 4,
                "thickness": 1,
            },
        ),
        margin={"l": 60, "r": 60, "t": 20, "b": 40},
        xaxis=share_axis("share", range=[0, 1], dtick=0.5),
        yaxis=axis(range=[0, 1], showticklabels=False),
    )

    first, second = picture.iter("circle")
    assert (first.get("cx"), first.get("cy"), first.get("r")) == ("120", "160", "5")
    assert (second.get("cx"), second.get("cy")) == ("240", "20")
    bar = next(line for line in picture.iter("line") if line.get("stroke") == PEOPLE)
    assert [bar.get(end) for end in ("x1", "x2", "y1", "y2")] == ["120", "180", "160", "160"]
    assert texts(picture) == ["0 %", "50 %", "100 %", "share"]


def test_bars_stand_on_those_below_them_and_carry_their_text():
    style = {"width": 0.8, "marker": {"color": PEOPLE}}
    picture = drawn(
        bar_trace(x=[0, 1], y=[30, 10], **style),
        bar_trace(x=[0, 1], y=[10, 0], text=["75", ""], textfont={"size": 10}, **style),
        barmode="stack",
        margin={"l": 60, "r": 60, "t": 0, "b": 40},
        xaxis=axis(range=[-0.5, 1.5]),
        yaxis=axis(range=[0, 40], showticklabels=False),
    )

    places = [[bar.get(name) for name in ("y", "height")] for bar in picture.iter("rect")]
    assert places == [["40", "120"], ["120", "40"], ["0", "40"]]
    assert "75" in texts(picture)


def test_bars_have_the_names_and_colours_that_docs_extending_gives_them():
    bars = bar_trace(x=["right", "wrong"], y=[3, 5], marker={"color": [CORRECT, WRONG]})
    plot = panel("", "", [bars], height=240, yaxis=axis("median seconds"))

    picture = ElementTree.fromstring(still_picture(plot))

    assert [bar.get("fill") for bar in picture.iter("rect")] == [CORRECT, WRONG]
    assert {"right", "wrong", "median seconds", "0", "4"} <= set(texts(picture))


def test_a_line_has_a_gap_where_a_value_is_missing_and_steps_where_it_is_stepped():
    line = {"color": PEOPLE, "width": 2, "dash": "dash", "shape": "hv"}
    picture = drawn(
        scatter_trace(x=[0, 1, 2, 3], y=[0, 1, None, 1], mode="lines", line=line),
        margin={"l": 60, "r": 60, "t": 0, "b": 40},
        xaxis=axis(range=[0, 3]),
        yaxis=axis(range=[0, 1], showticklabels=False),
    )

    [path] = picture.iter("path")
    assert path.get("d") == "M60 160H140V0M300 0"
    assert path.get("stroke-dasharray") == "6 4"


def test_texts_are_text_and_neither_markup_nor_scripts():
    picture = drawn(
        scatter_trace(x=[0], y=[0], mode="markers", marker=MARKER),
        annotations=[
            row_label(0, "<i>R & D</i> </svg>", "5 %"),
            corner_note("All 50.0 %<br>High 60.0 %"),
            label(0, "threshold", 1),
        ],
        shapes=[vertical(0, PEOPLE)],
    )

    assert {"<i>R & D</i> </svg>  5 %", "All 50.0 %", "High 60.0 %", "threshold"} <= set(
        texts(picture)
    )
    bold = [part.text for part in picture.iter("tspan") if part.get("font-weight") == "bold"]
    assert bold == ["5 %"]


def test_marks_of_one_trace_may_differ():
    marker = {"color": [CORRECT, WRONG], "size": [6, 20], "symbol": ["circle", "circle-open"]}
    picture = drawn(scatter_trace(x=[0, 1], y=[0, 1], mode="markers", marker=marker))

    marks = [
        [mark.get(name) for name in ("r", "fill", "stroke")] for mark in picture.iter("circle")
    ]
    assert marks == [["3", CORRECT, None], ["10", "#ffffff", WRONG]]


@pytest.mark.parametrize("symbol", ["square", "diamond", "triangle-up", "cross", "x", "star-open"])
def test_each_symbol_is_as_large_as_its_size(symbol):
    picture = drawn(
        scatter_trace(x=[1], y=[1], mode="markers", marker=MARKER | {"symbol": symbol, "size": 10})
    )

    [path] = picture.iter("path")
    corners = [float(number) for number in re.findall(r"[\d.]+", path.get("d"))]
    for numbers in (corners[::2], corners[1::2]):
        assert 8 <= max(numbers) - min(numbers) <= 14


@pytest.mark.parametrize(
    ("trace", "layout"),
    [
        ({"type": "pie", "values": [1]}, {}),
        (scatter_trace(x=[0], y=[0], mode="markers", marker=MARKER | {"symbol": "hourglass"}), {}),
        (
            scatter_trace(x=[0], y=[0], mode="markers", marker=MARKER),
            {"shapes": [{"type": "circle", "x0": 0, "x1": 1, "y0": 0, "y1": 1}]},
        ),
        (scatter_trace(x=[0], y=[0], marker=MARKER), {}),
    ],
    ids=["trace", "symbol", "shape", "mode"],
)
def test_a_plot_with_other_marks_has_no_still_picture_rather_than_half_of_one(trace, layout):
    plot = panel("", "", [trace], height=200, xaxis=axis(), yaxis=axis(), **layout)

    with pytest.raises(CannotDraw, match="Still pictures have no"):
        still(plot.plot)
    assert still_picture(plot) == ""
