"""docs/extending/export-reader.md, followed word for word: its program's file is checked."""

import json
import shlex
import sys

import pytest

from tests.extending.page import blocks
from tests.extending.registering import register
from thirdperson.check.exports import registry
from thirdperson.cli import main

PAGE = "export-reader.md"
MODULE = "thirdperson/check/exports/scorecard.py"


@pytest.fixture
def registered(tmp_path, monkeypatch):
    before = list(registry.READERS)
    readers = register(
        PAGE, module=MODULE, registry=registry, name="READERS", folder=tmp_path, patch=monkeypatch
    )
    assert list(readers) == [*before, "scorecard"]
    yield
    sys.modules.pop("thirdperson.check.exports.scorecard")


@pytest.mark.usefixtures("registered")
def test_the_command_of_the_page_checks_a_file_of_the_program(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", "")
    words = ("good", "bad")
    cases = [
        {
            "case": f"q{n}",
            "raters": {"ann": words[n % 2], "ben": words[n % 3 == 0]},
            "models": {"m": "good"},
        }
        for n in range(40)
    ]
    (tmp_path / "marks.json").write_text(json.dumps({"scorecard": cases}))
    (command,) = blocks(PAGE, "")

    code = main(shlex.split(command)[1:])

    told = capsys.readouterr().out
    assert code in (1, 3)
    assert "marks.json: 40 items, 80 labels by 2 people, judge m" in told
    assert "format: scorecard" in told
    assert (tmp_path / "marks.html").exists()
