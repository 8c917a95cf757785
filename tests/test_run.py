"""What `make test` runs: which files, and which cases of a large matrix."""

from pathlib import Path
from types import FunctionType

import pytest

from tests.run import (
    Pass,
    end_to_end,
    files_in,
    in_parts,
    marked,
    on_postgres,
    on_sqlite,
    only_on_sqlite,
)
from tests.sampling import some


@pytest.mark.parametrize(("code", "failed"), [("assert 1", 0), ("assert not 1", 1)])
def test_a_pass_says_whether_all_its_tests_passed(
    code, failed, tmp_path: Path, monkeypatch, capfdbinary
):
    monkeypatch.setattr("sys.argv", ["tests.run"])
    monkeypatch.delenv("PYTEST_ADDOPTS", raising=False)
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")  # They take most of the time.
    (tmp_path / "test_it.py").write_text(f"def test_it(): {code}")
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    chosen = (str(tmp_path), f"--rootdir={tmp_path}", "-c", str(tmp_path / "pytest.ini"))

    exit_code = Pass("These", "not slow", chosen).run()

    printed = capfdbinary.readouterr().out
    assert exit_code == failed
    assert printed.count(b"1 failed" if failed else b"1 passed") == 1
    assert b"=== These: " in printed


def test_every_file_is_in_one_of_the_parts():
    files = files_in("tests/judging", "tests/test_run.py")

    parts = list(in_parts("These", "not slow", files, 3, {}))

    assert [file for part in parts for file in part.arguments] == files
    assert len(parts) == 3
    assert all(part.arguments for part in parts)


def test_the_files_of_the_end_to_end_passes_are_those_with_the_marker():
    names = {Path(file).name for file in marked("e2e")}

    assert {"test_demo.py", "test_whole_job.py", "test_kills.py"} <= names
    assert "test_parsing.py" not in names


def test_of_two_whole_ways_each_database_has_one_and_with_all_both(monkeypatch):
    monkeypatch.setattr("sys.argv", ["tests.run"])
    one = {Path(file).name for file in end_to_end(without="test_demo.py")}
    monkeypatch.setattr("sys.argv", ["tests.run", "--all"])
    both = {Path(file).name for file in end_to_end(without="test_demo.py")}

    assert "test_whole_job.py" in one
    assert both - one == {"test_demo.py"}


@pytest.mark.parametrize("arguments", [[], ["--all"]])
def test_what_does_not_run_on_postgresql_runs_on_sqlite(arguments, monkeypatch):
    monkeypatch.setattr("sys.argv", ["tests.run", *arguments])

    marks, files = only_on_sqlite()

    left_out = {
        mark for mark in ("sqlite", "browser", "computed") if f"not {mark}" in on_postgres()
    }
    assert left_out == set(marks.split(" or "))
    assert ("computed" in left_out) == (not arguments)
    assert {file for mark in left_out for file in marked(mark)} <= {*files, *on_sqlite()}


def test_some_cases_of_a_list_keep_their_order_and_are_always_the_same(monkeypatch):
    monkeypatch.setattr("tests.sampling._runs_every_case", False)
    found = some(range(10), keep=3)

    assert len(found) == 3
    assert found == sorted(found) == some(range(10), keep=3)
    monkeypatch.setattr("tests.sampling._runs_every_case", True)
    assert some(range(10), keep=3) == list(range(10))


def test_functions_are_chosen_by_their_names_which_every_process_knows(monkeypatch):
    cases = [FunctionType((lambda: None).__code__, {}, letter) for letter in "abcdefgh"]
    for case in cases:
        case.__qualname__ = case.__name__
    monkeypatch.setattr("tests.sampling._runs_every_case", False)

    assert [case.__name__ for case in some(cases, keep=4)] == some("abcdefgh", keep=4)
