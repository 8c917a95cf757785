"""What `make test` runs: which files, and which cases of a large matrix."""

from pathlib import Path
from types import FunctionType, SimpleNamespace

import pytest

from tests.run import (
    Pass,
    end_to_end,
    files_in,
    in_parts,
    marked,
    passes,
)
from tests.sampling import pytest_collection_modifyitems, some


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


def test_a_whole_way_goes_on_one_database_and_with_all_on_both(monkeypatch):
    monkeypatch.setattr("sys.argv", ["tests.run"])
    one = {Path(file).name for file in end_to_end("test_demo.py")}
    monkeypatch.setattr("sys.argv", ["tests.run", "--all"])
    both = {Path(file).name for file in end_to_end("test_demo.py")}

    assert "test_whole_job.py" in one
    assert both - one == {"test_demo.py"}


@pytest.mark.parametrize("arguments", [[], ["--all"]])
def test_every_file_runs_on_sqlite_and_on_postgresql(arguments, monkeypatch):
    monkeypatch.setattr("sys.argv", ["tests.run", *arguments])
    servers = {"DATABASE_URL": "postgres://one/x", "CELERY_BROKER_URL": "redis://one/1"}

    every = passes({}, servers)

    files = {file for file in files_in("tests") if "/browser/" not in file}
    for is_on in ({"DATABASE_URL": ""}, servers):
        chosen = [
            one for one in every if one.servers.get("DATABASE_URL", "") == is_on["DATABASE_URL"]
        ]
        rest = [one for one in chosen if "not e2e and not browser" in one.select]
        assert files == {name for one in rest for name in one.arguments if name in files}
    assert any("--one-in=10" in one.arguments for one in every) == (not arguments)


def test_one_in_five_is_always_the_same_and_has_what_only_postgresql_can(left_of_a_hundred):
    chosen = left_of_a_hundred(part=5)

    assert chosen == left_of_a_hundred(part=5)
    assert "for postgres" in chosen
    assert not any(name.endswith("7") for name in chosen)  # These use no database.
    assert 10 < len(chosen) < 35


@pytest.fixture
def left_of_a_hundred():
    """The names of those tests of a hundred that `--one-in` leaves, one of them for PostgreSQL."""

    class Item:
        def __init__(self, name):
            self.nodeid, self.fixturenames = name, [] if name.endswith("7") else ["db"]

        def get_closest_marker(self, name):
            return True if self.nodeid == f"for {name}" else None

    def choose(part):
        options = {"--one-in": part, "--all": True}
        items = [Item(name) for name in (*map(str, range(99)), "for postgres")]
        config = SimpleNamespace(
            getoption=options.get, hook=SimpleNamespace(pytest_deselected=lambda items: None)
        )
        pytest_collection_modifyitems(config, items)
        return [item.nodeid for item in items]

    return choose


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
