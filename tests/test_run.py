"""What `make test` runs: which files, and which cases of a large matrix."""

from pathlib import Path
from types import FunctionType

import pytest

from tests.run import Pass, end_to_end, marked, on_postgres, on_sqlite
from tests.sampling import some


@pytest.mark.parametrize(("code", "passes"), [("assert 1", True), ("assert not 1", False)])
def test_a_pass_says_whether_all_its_tests_passed(code, passes, tmp_path: Path, monkeypatch):
    monkeypatch.setattr("sys.argv", ["tests.run"])
    monkeypatch.delenv("PYTEST_ADDOPTS", raising=False)
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")  # They take most of the time.
    (tmp_path / "test_it.py").write_text(f"def test_it(): {code}")
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    chosen = (str(tmp_path), f"--rootdir={tmp_path}", "-c", str(tmp_path / "pytest.ini"))

    with (tmp_path / "output").open("w+b") as output:
        result = Pass("These", "not slow", chosen).run(output)
        output.seek(0)
        printed = output.read().decode()

    assert result == passes
    assert printed.count("1 passed" if passes else "1 failed") == 1


def test_the_files_of_the_end_to_end_lane_are_those_with_the_marker():
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
def test_tests_that_need_sqlite_are_in_its_lane(arguments, monkeypatch):
    monkeypatch.setattr("sys.argv", ["tests.run", *arguments])

    assert {Path(file).resolve() for file in marked("sqlite")} <= {
        Path(file).resolve() for file in on_sqlite()
    }


def test_what_only_computes_runs_on_sqlite_and_with_all_on_postgresql(monkeypatch):
    monkeypatch.setattr("sys.argv", ["tests.run"])
    assert on_postgres().endswith("and not computed")
    assert any(name.endswith("test_headline.py") for name in on_sqlite())

    monkeypatch.setattr("sys.argv", ["tests.run", "--all"])
    assert "computed" not in on_postgres()
    assert not any(name.endswith("test_headline.py") for name in on_sqlite())


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
