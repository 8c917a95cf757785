"""`make test` gives a few failed tests a second chance, and says so."""

from pathlib import Path
from types import FunctionType

import pytest

from tests.run import FEW, Pass, marked_end_to_end, warning
from tests.sampling import some

# Fails the first time only, as on a machine that was busy.
ONCE = """
from pathlib import Path

def test_sometimes():
    marker = Path(__file__).with_name("marker")
    seen = marker.exists()
    marker.touch()
    assert seen, "the page was not there yet"

def test_fine(): pass
"""


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("sys.argv", ["tests.run"])
    monkeypatch.delenv("PYTEST_ADDOPTS", raising=False)
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")  # They take most of the time.

    def run(code: str, *arguments: str):
        path = tmp_path / "test_it.py"
        path.write_text(code)
        (tmp_path / "pytest.ini").write_text("[pytest]\n")
        chosen = (str(path), f"--rootdir={tmp_path}", "-c", str(tmp_path / "pytest.ini"))
        with (tmp_path / "output").open("w+b") as output:
            result = Pass("These", "not slow", (*chosen, *arguments)).run(output)
            output.seek(0)
            return result, output.read().decode()

    return run


def test_a_test_that_passes_when_it_is_tried_again_counts_and_is_named(run):
    result, output = run(ONCE)

    assert result.ok
    assert "These: 1 failed; once more, alone" in output
    assert "1 passed" in output  # and not the other test again
    [text] = result.tried_again.values()
    assert "the page was not there yet" in text
    assert "PASSED ONLY WHEN TRIED AGAIN: 1" in warning(result.tried_again)
    assert "test_it::test_sometimes" in warning(result.tried_again)


def test_a_test_that_fails_twice_is_a_failure(run):
    result, output = run("def test_never(): assert not 1")

    assert not result.ok
    assert output.count("1 failed in") == 2
    assert result.tried_again == {}


def test_many_failures_are_no_accident_and_are_not_run_again(run):
    tests = "\n".join(f"def test_{n}(): assert not 1" for n in range(FEW + 1))

    result, output = run(tests)

    assert not result.ok
    assert "once more" not in output


def test_what_cannot_be_collected_is_a_failure_at_once(run):
    result, output = run("import nothing_of_this_name")

    assert not result.ok
    assert "once more" not in output


def test_the_files_of_the_end_to_end_lane_are_those_with_the_marker():
    names = {Path(file).name for file in marked_end_to_end()}

    assert {"test_demo.py", "test_whole_job.py", "test_kills.py"} <= names
    assert "test_parsing.py" not in names


def test_of_two_whole_ways_each_database_has_one_and_with_all_both(monkeypatch):
    monkeypatch.setattr("sys.argv", ["tests.run"])
    one = {Path(file).name for file in marked_end_to_end(without="test_demo.py")}
    monkeypatch.setattr("sys.argv", ["tests.run", "--all"])
    both = {Path(file).name for file in marked_end_to_end(without="test_demo.py")}

    assert "test_whole_job.py" in one
    assert both - one == {"test_demo.py"}


def test_some_cases_of_a_list_keep_their_order_and_every_commit_has_others(monkeypatch):
    chosen = set()
    for seed in map(str, range(40)):
        monkeypatch.setattr("tests.sampling._seed", seed)
        monkeypatch.setattr("tests.sampling._runs_every_case", False)
        found = some(range(10), keep=3)
        assert len(found) == 3
        assert found == sorted(found)
        chosen.update(found)
    monkeypatch.setattr("tests.sampling._runs_every_case", True)

    assert chosen == set(range(10))
    assert some(range(10), keep=3) == list(range(10))


def test_functions_are_chosen_by_their_names_which_every_process_knows(monkeypatch):
    def names():
        cases = [FunctionType((lambda: None).__code__, {}, letter) for letter in "abcdefgh"]
        for case in cases:
            case.__qualname__ = case.__name__
        return [case.__name__ for case in some(cases, keep=4)]

    monkeypatch.setattr("tests.sampling._seed", "1")
    monkeypatch.setattr("tests.sampling._runs_every_case", False)
    assert names() == some("abcdefgh", keep=4)
