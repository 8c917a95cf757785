"""Cases that others wrote, with runners of their own: files, replies and servers of models.

They are not part of this project, whose own tests hold the same rules. These tests exist where
THIRDPERSON_CASES names their folder.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.servers import free_port

ROOT = Path(__file__).resolve().parent.parent
CASES = os.environ.get("THIRDPERSON_CASES")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(1200),
    pytest.mark.skipif(not CASES, reason="THIRDPERSON_CASES names no folder"),
]


def run(script: str, *arguments: str) -> str:
    command = [sys.executable, str(Path(str(CASES), script)), str(ROOT), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout


def test_tables_of_labels_and_files_of_items():
    lines = run("check/run.py").splitlines()

    assert lines
    assert [line for line in lines if not line.startswith("PASS")] == []


@pytest.mark.parametrize(
    ("script", "arguments"),
    [("judges/check_replies.py", ()), ("judges/check.py", (str(free_port()),))],
    ids=["replies", "servers"],
)
def test_replies_and_servers_of_models(script, arguments):
    lines = run(script, *arguments).splitlines()

    assert lines
    assert [line for line in lines if line.startswith("FAIL")] == []
