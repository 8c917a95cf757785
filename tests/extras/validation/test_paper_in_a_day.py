"""The page “A paper in a day” is run from top to bottom, with simulated people and model."""

import subprocess
import sys

import pytest
from django.core.management import get_commands

from tests.e2e.test_tutorial import BLOCK, ROOT, looks_like, tutorial

pytestmark = [pytest.mark.e2e, pytest.mark.sqlite]

__all__ = ["tutorial"]


@pytest.mark.sampled(keep=0)  # With --all: each command is tested by itself.
@pytest.mark.skipif(
    not {"persona_signal", "tables"} <= {*get_commands()},
    reason="the page uses what is not here",
)
def test_every_block_runs_and_prints_what_the_page_says(tutorial):
    folder, environment = tutorial
    (folder / "thirdperson").symlink_to(ROOT)
    page = (ROOT / "extras/validation/docs/paper-in-a-day.md").read_text("utf-8")
    printed = ""
    try:
        for language, text in BLOCK.findall(page):
            if language == "output":
                assert looks_like(text, printed), f"{text}\nis not what was printed:\n{printed}"
                continue
            command = ["sh", "-e"] if language == "sh" else [sys.executable, "-"]
            done = subprocess.run(
                command, input=text, cwd=folder, env=environment, capture_output=True, text=True
            )
            assert done.returncode == 0, f"{text}\n{done.stdout}\n{done.stderr}"
            printed = done.stdout
    finally:
        if (folder / "model.pid").exists():
            pid = (folder / "model.pid").read_text().strip()
            subprocess.run(["kill", pid], check=False, capture_output=True)
    sheet = (folder / "report/validation.html").read_text("utf-8")
    assert "Simulated data." in sheet
    assert "obeyed in" in sheet
    assert (folder / "report/article").is_dir()
