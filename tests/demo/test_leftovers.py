"""What a killed demo leaves behind is ended by the next one, and nothing else is."""

import subprocess
import sys
from pathlib import Path

import pytest

from demo.leftovers import end_leftovers, note

COMMAND = [sys.executable, "-c", "import time; print(flush=True); time.sleep(60)"]


@pytest.fixture
def process():
    process = subprocess.Popen(COMMAND, start_new_session=True, stdout=subprocess.PIPE)
    assert process.stdout is not None
    process.stdout.readline()  # before that, its command line may still be empty
    yield process
    process.kill()
    process.communicate()


def test_a_process_that_was_noted_is_ended(tmp_path: Path, process):
    note(tmp_path / "pids", {process.pid: " ".join(COMMAND)})

    end_leftovers(tmp_path / "pids")

    assert process.wait(timeout=60) != 0
    assert not (tmp_path / "pids").exists()


def test_another_process_with_the_same_number_is_left_alone(tmp_path: Path, process):
    note(tmp_path / "pids", {process.pid: "python -m gunicorn config.wsgi"})

    end_leftovers(tmp_path / "pids")

    assert process.poll() is None


@pytest.mark.parametrize("content", [None, "", "{"])
def test_no_note_or_half_a_note_ends_nothing(tmp_path: Path, process, content):
    path = tmp_path / "pids"
    if content is not None:
        path.write_text(content, "utf-8")

    end_leftovers(path)

    assert process.poll() is None
