"""Python with the program's settings, and management commands one after another in one process."""

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

SCRIPT = """
import json, sys
from django.core.management import execute_from_command_line
for arguments in json.loads(sys.argv[1]):
    execute_from_command_line(["manage.py", *arguments])
"""


def in_one_process(*commands: Sequence[str]) -> list[str]:
    """What Python is started with, because each process takes a second; a failure ends it."""
    return ["-c", SCRIPT, json.dumps(commands)]


def python(
    folder: Path, *arguments: str, umask: int = -1, **variables: str
) -> subprocess.CompletedProcess[str]:
    """What Python does with the settings of `make run` and the data in `folder`."""
    plain = {"DATABASE_URL": "", "CELERY_BROKER_URL": "", "VAR_DIR": str(folder)}
    environment = {**os.environ, **plain, **variables}
    environment["DJANGO_SETTINGS_MODULE"] = "config.settings.dev"
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=ROOT,
        env=environment,
        umask=umask,
        check=False,
        capture_output=True,
        text=True,
    )
