"""The command that checks what the statistics promise."""

import json
from functools import partial
from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from benchmarks.simulations import method_checks
from benchmarks.simulations.command import Command
from benchmarks.simulations.promises import Family, MethodCheck
from tests.benchmarks.simulations.test_promises import PROMISES, near


def run_command(*arguments: str) -> str:
    out = StringIO()
    call_command(Command(), *arguments, stdout=out)
    return out.getvalue()


@pytest.fixture(autouse=True)
def _families(monkeypatch):
    """Two small families instead of all."""
    good, bad = (
        MethodCheck("normal", "One <value>.", partial(near, shift=shift), PROMISES, 200, 400)
        for shift in (0.0, 1.0)
    )
    found = {"good-ones": Family("good-ones", [good]), "bad-ones": Family("bad-ones", [bad])}
    monkeypatch.setattr(method_checks, "families", lambda: found)


def test_the_command_shows_and_writes_what_was_found(tmp_path):
    out = run_command("--quick", "--only", "good-ones", "--out", str(tmp_path))

    assert "All 3 promises were kept." in out
    assert "for comparison" in out
    result = json.loads((tmp_path / "methods.json").read_text())
    assert (result["kept"], result["broken"], result["quick"]) == (3, 0, True)
    assert {entry["n"] for entry in result["findings"]} == {200, 0}
    csv = (tmp_path / "tables" / "methods_good_ones.csv").read_text().splitlines()
    assert len(csv) == 1 + len(PROMISES)
    assert (tmp_path / "tables" / "methods_good_ones.md").exists()


def test_a_broken_promise_ends_with_an_error():
    with pytest.raises(CommandError, match="3 of 6 promises were broken: normal: interval"):
        run_command("--json")


def test_an_unknown_family_and_a_foreign_folder_are_refused(tmp_path):
    with pytest.raises(
        CommandError, match=r"no family of checks “other”\. Choose from good-ones, bad-ones"
    ):
        run_command("--only", "other")
    (tmp_path / "methods.json").write_text("{}")
    with pytest.raises(CommandError, match="this command did not create"):
        run_command("--out", str(tmp_path))
    with pytest.raises(CommandError, match="--seed"):
        run_command("--seed=-1")
