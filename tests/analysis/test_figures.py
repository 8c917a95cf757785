"""Figures: plotly checks each when it is drawn, and writes what the page and the files hold."""

import json
import re
from pathlib import Path

import plotly.graph_objects as go
import plotly.io
import pytest
from plotly.offline import get_plotlyjs_version

from analysis.report.build import all_figures
from analysis.report.figures import (
    Figure,
    axis,
    bar_trace,
    panel,
    plots_json,
    scatter_trace,
    write_figures,
)
from analysis.report.quantities import fixed
from analysis.report.rules import PLOTLY
from tests.analysis.builders import random_study
from tests.analysis.partial import report_of

STATIC = Path(__file__).resolve().parents[2] / "static"


def test_the_script_of_the_page_is_the_one_that_the_package_writes_for():
    version = get_plotlyjs_version()

    assert f"-{version}.min.js" in PLOTLY
    head = (STATIC / PLOTLY).read_text("utf-8")[:200]
    assert re.findall(r"plotly\.js \(basic - minified\) v([\d.]+)", head) == [version]


@pytest.mark.parametrize(
    "draw",
    [
        lambda: scatter_trace(x=[0], y=[0], colour="red"),
        lambda: scatter_trace(x=[0], y=[0], line={"dash": 7}),
        lambda: bar_trace(x=[0], y=[0], marker={"color": "reddish"}),
        lambda: panel("", "", [], height=200, xaxis=axis(titel="x")),
        lambda: panel("", "", [], height=200, shapes=[{"type": "lines"}]),
        lambda: panel("", "", [], height=5),
    ],
)
def test_what_plotly_does_not_know_is_refused_when_it_is_drawn(draw):
    with pytest.raises(ValueError, match=r"[Ii]nvalid"):
        draw()


@pytest.mark.django_db
def test_page_and_files_hold_every_plot_as_plotly_writes_it(tmp_path):
    figures = all_figures(report_of(random_study(3, n_items=60)))

    write_figures(list(figures.values()), tmp_path / "figures")

    plots = {name: drawn for figure in figures.values() for name, drawn in figure.plots}
    on_page = json.loads(plots_json(figures.values()))
    files = {path.stem: path for path in (tmp_path / "figures").iterdir()}
    assert set(plots) == set(on_page) == set(files)
    assert len(plots) > 6
    for name, drawn in plots.items():
        assert plotly.io.read_json(files[name]) == drawn.drawing
        assert on_page[name].pop("marks") == json.loads(json.dumps(drawn.marks))
        assert go.Figure(on_page[name]) == drawn.drawing


@pytest.mark.nightly
@pytest.mark.django_db
def test_plotly_knows_what_the_options_of_a_figure_change():
    figures = all_figures(report_of(random_study(3, n_items=60)))

    changes = [
        (drawn.drawing, change)
        for figure in figures.values()
        if figure.variant
        for drawn in figure.panels
        for change in (figure.variant.on, figure.variant.off)
    ]

    assert changes
    for drawing, change in changes:
        changed = go.Figure(drawing).update_layout(dict(change)).layout
        assert all(changed[name] for name in change)


def test_letters_of_all_languages_come_back_and_no_element_is_ended(tmp_path):
    name = "日本 é </script>"
    figure = Figure(
        "f", fixed(""), fixed(""), "", [panel("", "", [scatter_trace(name=name)], height=200)]
    )

    write_figures([figure], tmp_path / "figures")

    written = (tmp_path / "figures/f-1.json").read_text("utf-8")
    assert json.loads(written)["data"][0]["name"] == name
    assert "</" not in plots_json([figure])
