"""docs/tutorial.md is run from top to bottom in an empty folder, and prints what it says."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests.migrated import copy_migrated

pytestmark = [pytest.mark.e2e, pytest.mark.sqlite]  # on which `setup` puts its database

ROOT = Path(__file__).resolve().parents[2]
BLOCK = re.compile(r"^```(sh|python|output)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.fixture
def tutorial(tmp_path) -> tuple[Path, dict[str, str]]:
    """An empty folder, and an environment in which `thirdperson` is this checkout."""
    folder, programs = tmp_path / "tutorial", tmp_path / "bin"
    folder.mkdir()
    programs.mkdir()
    command = programs / "thirdperson"
    command.write_text(
        f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m thirdperson "$@"\n', "utf-8"
    )
    command.chmod(0o755)
    data = folder / "thirdperson-data"
    data.mkdir()
    # `setup` then finds every migration applied, which spares ten seconds.
    copy_migrated(data)
    environment = {
        "PATH": os.pathsep.join([str(programs), os.environ["PATH"]]),
        "HOME": str(tmp_path),
        "PYTHONPATH": str(ROOT),
        "VAR_DIR": str(data),
        "DOTENV_FILE": str(data / ".env"),
        "DJANGO_SUPERUSER_PASSWORD": "a-long-password-of-yours",
        "LANG": "C.UTF-8",
    }
    return folder, environment


def looks_like(expected: str, printed: str) -> bool:
    """Whether the lines are those of the page, in which … is any text."""
    pattern = re.escape(expected.strip()).replace(re.escape("…"), ".*?")
    return re.search(rf"^{pattern}", printed.strip(), re.MULTILINE | re.DOTALL) is not None


@pytest.mark.nightly  # With --all: a dozen programs, each of which is tested by itself.
def test_every_block_runs_and_prints_what_the_page_says(tutorial):
    folder, environment = tutorial
    blocks = BLOCK.findall((ROOT / "docs/tutorial.md").read_text("utf-8"))
    printed = ""

    for language, text in blocks:
        if language == "output":
            assert looks_like(text, printed), f"{text}\nis not what was printed:\n{printed}"
            continue
        command = ["sh", "-e"] if language == "sh" else [sys.executable, "-"]
        done = subprocess.run(
            command, input=text, cwd=folder, env=environment, capture_output=True, text=True
        )
        assert done.returncode == 0, f"{text}\n{done.stdout}\n{done.stderr}"
        printed = done.stdout

    assert sum(language != "output" for language, _ in blocks) >= 9
    assert (folder / "my-report/tables/all.xlsx").exists()
    assert (folder / "data/CHECKSUMS.sha256").exists()
