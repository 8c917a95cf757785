"""An embedded database is migrated whole or not at all."""

import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

# Ends the process, as a kill would, when the fifth migration is about to be recorded.
KILLED = """
import os, django
os.environ["DJANGO_SETTINGS_MODULE"] = "config.settings.dev"
django.setup()
from django.db.migrations.recorder import MigrationRecorder
from config.migrate import migrate
record, calls = MigrationRecorder.record_applied, []
def die(self, app, name):
    calls.append(name)
    if len(calls) == 5:
        os._exit(9)
    return record(self, app, name)
MigrationRecorder.record_applied = die
migrate()
"""


def run(folder: Path, *arguments: str) -> int:
    environment = {**os.environ, "VAR_DIR": str(folder), "DATABASE_URL": ""}
    environment["DJANGO_SETTINGS_MODULE"] = "config.settings.dev"
    return subprocess.run([sys.executable, *arguments], env=environment, check=False).returncode


def tables(folder: Path) -> set[str]:
    with closing(sqlite3.connect(folder / "thirdperson.sqlite3")) as database:
        rows = database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
        return {name for (name,) in rows}


@pytest.mark.sqlite
def test_a_kill_in_mid_migration_leaves_nothing_and_the_next_attempt_completes(tmp_path):
    killed = run(tmp_path, "-c", KILLED)
    left_behind = tables(tmp_path)

    again = run(tmp_path, "-m", "config.migrate")

    assert killed == 9
    assert left_behind == set()
    assert again == 0
    assert run(tmp_path, "manage.py", "migrate", "--check") == 0
    assert {"studies_item", "annotation_annotation", "judging_judgment"} <= tables(tmp_path)
