"""A report in two processes: the same bytes, and one process is enough whatever happens to one."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from analysis.data.dataset import load_dataset
from analysis.report import two_processes
from analysis.report.build import build_report
from analysis.report.files.json_file import to_json
from analysis.report.section import Section, Turn
from analysis.report.two_processes import computed, is_large, meanwhile
from tests.analysis.builders import random_study

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="it copies the process")


class Numbered(Section):
    def __init__(self, number: int) -> None:
        self.name = f"section {number}"
        turns: dict[int, Turn] = {1: "last", 2: "first"}
        self.turn = turns.get(number, "any")


SECTIONS = [Numbered(number) for number in range(6)]
HERE = os.getpid()


def result(section):
    # More than the buffer of a pipe holds.
    return {"name": section.name, "rows": list(range(50_000))}


EXPECTED = [result(section) for section in SECTIONS]


class Computing:
    """Computes sections, and keeps the names of those that it was asked for in this process."""

    def __init__(self, there=result):
        self.there, self.here = there, []

    def __call__(self, section):
        self.here.append(section.name)
        return result(section)

    def all(self):
        return computed(SECTIONS, here=self, there=self.there)


@pytest.fixture(autouse=True)
def _no_process_is_left():
    yield
    with pytest.raises(ChildProcessError):
        os.waitpid(-1, os.WNOHANG)


@pytest.fixture
def idle_here(monkeypatch):
    """This process takes no turns, so that the other one takes all of them."""
    take = two_processes._Turns.__iter__
    monkeypatch.setattr(
        two_processes._Turns,
        "__iter__",
        lambda turns: iter(()) if os.getpid() == HERE else take(turns),
    )


@pytest.mark.django_db
def test_a_report_of_two_processes_is_that_of_one_to_the_byte(monkeypatch, idle_here):
    study = random_study(3)
    one = build_report(load_dataset(study.slug), seed=1, bootstrap=20)
    delivered = two_processes._delivered
    names: list[str] = []

    def read(results):
        found = delivered(results)
        names.extend(found)
        return found

    monkeypatch.setattr(two_processes, "_delivered", read)
    monkeypatch.setattr("analysis.report.build.is_large", lambda n_answers: True)
    two = build_report(load_dataset(study.slug), seed=1, bootstrap=20)

    assert len(names) > 40
    assert "items_one_by_one" not in names
    assert to_json(two) == to_json(one)


def test_both_processes_share_the_work():
    computing = Computing()

    assert computing.all() == EXPECTED
    assert (computing.here[0], computing.here[-1]) == ("section 2", "section 1")
    assert len(set(computing.here)) == len(computing.here)


def test_the_second_process_computes_what_may_move(idle_here):
    computing = Computing()

    assert computing.all() == EXPECTED
    assert computing.here == ["section 2", "section 1"]


def test_what_a_killed_process_did_not_finish_is_computed_here(idle_here, caplog):
    def there(section):
        if section.name == "section 3":
            os.kill(os.getpid(), signal.SIGKILL)
        return result(section)

    computing = Computing(there)

    assert computing.all() == EXPECTED
    assert computing.here == ["section 2", "section 1", "section 3", "section 4", "section 5"]
    assert "did not compute 3 sections" in caplog.text


def test_an_error_in_the_second_process_is_raised_by_the_first(idle_here):
    def fails(section):
        if section.name == "section 4":
            raise ValueError("a statistic returned inf")
        return result(section)

    with pytest.raises(ValueError, match="a statistic returned inf"):
        computed(SECTIONS, here=fails, there=fails)


def test_a_process_that_does_not_answer_is_not_waited_for_without_end(idle_here, monkeypatch):
    monkeypatch.setattr(two_processes, "PATIENCE_SECONDS", 0.2)

    def there(section):
        if section.name == "section 4":
            time.sleep(600)
        return result(section)

    computing = Computing(there)

    assert computing.all() == EXPECTED
    assert computing.here == ["section 2", "section 1", "section 4", "section 5"]


def test_an_error_here_ends_the_second_process():
    def here(section):
        raise KeyError("stopped")

    def there(section):
        time.sleep(600)

    with pytest.raises(KeyError, match="stopped"):
        computed(SECTIONS, here=here, there=there)


@pytest.mark.parametrize("fails", [False, True])
def test_files_are_written_meanwhile_or_afterwards(tmp_path, fails):
    def write():
        if fails and os.getpid() != HERE:
            os.kill(os.getpid(), signal.SIGKILL)
        (tmp_path / "file").write_text(str(os.getpid()))

    with meanwhile(write):
        (tmp_path / "other").touch()

    assert ((tmp_path / "file").read_text() == str(HERE)) == fails


def test_an_error_while_files_are_written_meanwhile_ends_that(tmp_path):
    with pytest.raises(KeyError, match="stopped"), meanwhile(lambda: time.sleep(600)):
        raise KeyError("stopped")


KILLED = """
import os, sys, time
from analysis.report.section import Section, Turn
from analysis.report.two_processes import computed

class Slow(Section):
    def __init__(self, number):
        self.name = str(number)

def there(section):
    print(os.getpid(), flush=True)
    time.sleep(0.2)
    return {}

computed([Slow(n) for n in range(200)], here=lambda section: time.sleep(600), there=there)
"""


def test_the_second_process_ends_soon_after_the_first_is_killed():
    first = subprocess.Popen(
        [sys.executable, "-c", KILLED],
        stdout=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parents[2],
    )
    second = int(first.stdout.readline())
    first.kill()
    first.wait()

    # The pipe ends when the last process that can write to it has ended.
    lines = first.stdout.readlines()
    first.stdout.close()

    assert {int(line) for line in lines} <= {second}
    assert len(lines) < 100


def test_small_reports_and_single_cores_have_one_process(monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: {0, 1})
    assert is_large(two_processes.LARGE)
    assert not is_large(two_processes.LARGE - 1)
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: {0})
    assert not is_large(two_processes.LARGE)
