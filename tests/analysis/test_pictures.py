"""Figures as pictures: an optional package draws them, and is missed in words."""

import json
from pathlib import Path
from typing import Any

import plotly.io
import pytest
from django.core.management import CommandError, call_command

from tests.analysis.builders import random_study

pytestmark = pytest.mark.django_db


def report_with_pictures(out):
    call_command(
        "report",
        random_study(5, n_items=6).slug,
        out=str(out),
        bootstrap=100,
        pictures=True,
        verbosity=0,
    )


@pytest.fixture
def kaleido(monkeypatch):
    monkeypatch.setattr("analysis.report.files.pictures.find_spec", lambda name: True)


def test_every_plot_is_drawn_as_svg_and_png(tmp_path, monkeypatch, kaleido):
    drawn: list[Path] = []
    sizes: list[tuple[Any, int]] = []

    def write(figures, paths, *, scale, width, height):
        drawn.extend(paths)
        sizes.extend(zip(figures, height, strict=True))

    monkeypatch.setattr(plotly.io, "write_images", write)

    report_with_pictures(tmp_path / "r")

    assert all(figure.layout.height == height for figure, height in sizes)
    assert len({height for _, height in sizes}) > 1

    plots = {path.stem for path in (tmp_path / "r/figures").glob("*.json")}
    assert {path.name for path in drawn} == {
        f"{p}.{kind}" for p in plots for kind in ("svg", "png")
    }
    text = (tmp_path / "r/figures/accuracy-1.json").read_text("utf-8")
    assert plotly.io.from_json(text).data[0].type == json.loads(text)["data"][0]["type"]


def test_without_the_package_nothing_is_built_and_it_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr("analysis.report.files.pictures.find_spec", lambda name: None)

    with pytest.raises(CommandError, match="pip install kaleido"):
        report_with_pictures(tmp_path / "r")

    assert not (tmp_path / "r").exists()


def test_without_a_browser_the_report_stays_and_the_page_is_pointed_to(
    tmp_path, monkeypatch, kaleido
):
    def no_browser(*args, **kwargs):
        raise RuntimeError("\n\nKaleido requires Google Chrome to be installed.\nDo this.")

    monkeypatch.setattr(plotly.io, "write_images", no_browser)

    with pytest.raises(CommandError, match=r"requires Google Chrome .* Or open report.html"):
        report_with_pictures(tmp_path / "r")

    assert (tmp_path / "r/report.html").exists()
