"""The verdict of `thirdperson check` in a terminal and as a comment."""

import os
import re
import sys

import pytest

from tests.thirdperson.test_check import labels_table
from tests.thirdperson.test_levels import a_step, table
from thirdperson.check.command import check

COLOUR = re.compile(r"\033\[[\d;]*m")


@pytest.fixture
def shown(tmp_path, capsys, monkeypatch):
    """What a terminal of so many columns shows."""

    def run(path, columns=80, *options, **environment):
        monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
        monkeypatch.setattr("shutil.get_terminal_size", lambda *_: os.terminal_size((columns, 24)))
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        check([str(path), "--out", str(tmp_path / "report.html"), *options])
        return capsys.readouterr().out

    return run


@pytest.mark.sampled(keep=1)
@pytest.mark.parametrize("gold", [True, False])
@pytest.mark.parametrize("columns", [50, 80, 300])
def test_the_strip_shows_each_interval_around_its_estimate(shown, tmp_path, columns, gold):
    text = COLOUR.sub("", shown(labels_table(tmp_path / "labels.csv", gold=gold), columns))

    strips = [line for line in text.splitlines() if "●" in line]
    assert len(strips) == (1 if gold else 2)
    for strip in strips:
        assert re.search("─[─┼]*●[─┼]*─", strip)
        assert "│" in strip or "┼" in strip
        assert len(strip) < min(columns, 101)


@pytest.mark.nightly
def test_judges_on_a_scale_have_a_strip_each_and_a_card(shown, tmp_path):
    path = table(tmp_path / "labels.csv", ["poor", "good"], a_step)
    card = tmp_path / "card.svg"
    options = ["--level", "ordinal", "--judge", "poor,good", "--card", str(card)]

    text = COLOUR.sub("", shown(path, 60, *options))

    assert max(map(len, text.replace(str(tmp_path), "").splitlines())) < 60
    assert "Agrees more or less than another person" in text
    assert text.count("●") == 2
    assert "</svg>" in card.read_text("utf-8")


@pytest.mark.nightly
def test_colours_are_left_out_on_request_and_in_a_pipe(shown, tmp_path, capsys):
    path = labels_table(tmp_path / "labels.csv")

    assert "\033[1;32mTRUSTED\033[0m: " in shown(path)
    assert "\033" not in shown(path, NO_COLOR="1")


@pytest.mark.nightly
def test_a_pipe_has_neither_colours_nor_a_strip(tmp_path, capsys):
    check([str(labels_table(tmp_path / "labels.csv")), "--out", str(tmp_path / "report.html")])

    text = capsys.readouterr().out
    assert "TRUSTED: judge could replace" in text
    assert "\033" not in text
    assert "●" not in text


@pytest.mark.nightly
def test_a_comment_has_the_verdict_and_no_markup_from_the_file(shown, tmp_path):
    path = labels_table(tmp_path / "labels.csv")
    name = "<img src=x> @all *j*"
    path.write_text(path.read_text().replace("certainty,judge,gold", f"certainty,{name},gold"))

    text = shown(path, 80, "--markdown", "--judge", name)

    assert text.startswith("### ✅ TRUSTED: ")
    assert "another person" in text
    assert name not in text
    assert r"\<img src=x\> \@all \*j\*" in text
