"""`make test` gives a few failed tests a second chance, and says so."""

from pathlib import Path

import pytest

from tests.run import FEW, Pass, warning

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
