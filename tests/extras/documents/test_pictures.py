"""Figures as pictures: every plot of a report is drawn without a browser."""

import xml.etree.ElementTree as ElementTree

import pytest
from django.core.management import call_command
from PIL import Image

from analysis.report.drawing import BOXES
from analysis.report.figures import (
    PEOPLE,
    Figure,
    Key,
    axis,
    corner_note,
    panel,
    row_label,
    scatter_trace,
)
from analysis.report.quantities import fixed
from analysis.report.stills import CannotDraw
from extras.documents.pictures import WIDTH, drawn
from tests.analysis.builders import random_study


@pytest.mark.nightly
@pytest.mark.django_db
def test_every_plot_of_a_report_is_drawn_as_svg_and_png(tmp_path):
    call_command(
        "report",
        random_study(5, n_items=40, runs=[{"judge": "steady", "setting": "certainty"}]).slug,
        out=str(tmp_path / "r"),
        bootstrap=100,
        pictures=True,
        verbosity=0,
    )

    folder = tmp_path / "r/figures"
    plots = {path.stem for path in folder.glob("*.json")}
    assert {"accuracy-1", "histograms-1", "position-1", "sheets-1"} <= plots
    for kind in ("svg", "png"):
        assert {path.stem for path in folder.glob(f"*.{kind}")} == plots
    for path in folder.glob("*.png"):
        with Image.open(path) as picture:
            assert picture.width == WIDTH * 3
            # More than one colour: something is drawn.
            assert len(picture.convert("RGB").getcolors(10**6)) > 10


def plot(*traces, key=(), **layout):
    axes = {"xaxis": axis(), "yaxis": axis()}
    return Figure(
        "f", fixed(""), fixed(""), "", [panel("", "", traces, height=200, **axes | layout)], key
    )


def test_text_is_text_and_neither_markup_nor_mathematics(tmp_path):
    note = row_label(0, "<i>$x^2$</i> & “é”", "5 %")
    found = plot(
        scatter_trace(x=[0], y=[0], mode="markers", marker={"color": PEOPLE}),
        annotations=[note, corner_note("All 50.0 %<br>High 60.0 %")],
        key=[Key("<b>", PEOPLE)],
    )

    with drawn(found, title="R & D $1 of $2") as drawing:
        drawing.savefig(tmp_path / "a.svg")
        texts = [text.get_text() for text in drawing.axes[0].texts]

    assert texts == ["<i>$x^2$</i> & “é”  5 %", "All 50.0 %\nHigh 60.0 %"]
    assert drawing.texts[0].get_text() == "R & D $1 of $2"
    ElementTree.parse(tmp_path / "a.svg")


def test_a_picture_says_when_its_fonts_lack_letters():
    found = plot(scatter_trace(x=[0], y=[0], mode="markers", marker={"color": PEOPLE}))

    def words(title: str) -> list[str]:
        with drawn(found, title=title) as drawing:
            return [text.get_text() for text in drawing.texts]

    assert words("\N{DEVANAGARI LETTER KA}") == ["\N{DEVANAGARI LETTER KA}", BOXES]
    assert words("Ordinary letters") == ["Ordinary letters"]


@pytest.mark.parametrize(
    "found",
    [
        plot({"type": "pie", "values": [1]}),
        plot(scatter_trace(x=[0], y=[0], mode="markers", marker={"symbol": "hourglass"})),
        plot(shapes=[{"type": "circle", "x0": 0, "x1": 1, "y0": 0, "y1": 1}]),
    ],
    ids=["trace", "symbol", "shape"],
)
def test_what_no_picture_can_show_is_refused_rather_than_left_out(found):
    with pytest.raises(CannotDraw, match="Pictures do not support"), drawn(found):
        pass
