"""What the program writes is its own user's alone, and nothing of it stays where it was deleted."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from django.db import connection

from config import private_files
from tests.management import python
from tests.migrated import copy_migrated

ROOT = Path(__file__).resolve().parents[2]
MAKE_A_TABLE = """
import django
django.setup()
from django.db import connection
with connection.cursor() as cursor:
    cursor.execute("CREATE TABLE a (b)")
"""


MINE: dict[str, Any] = {"umask": 0o022, "SECRET_KEY": ""}


def open_to_others(folder: Path) -> list[Path]:
    return [path for path in (folder, *folder.rglob("*")) if path.stat().st_mode & 0o077]


def test_other_users_can_read_neither_new_nor_existing_files(tmp_path):
    folder = tmp_path / "var"
    (folder / "exports").mkdir(parents=True)
    (folder / "exports" / "old.csv").write_text("rater,choice\n")
    copy_migrated(folder)
    for path in (folder, *folder.rglob("*")):
        path.chmod(0o755)

    assert not python(folder, "-m", "config.migrate", **MINE).returncode

    assert (folder / "secret_key").exists()
    assert open_to_others(folder) == []


@pytest.mark.nightly
def test_every_start_closes_the_folder_itself_and_what_it_writes(tmp_path):
    folder = tmp_path / "var"
    folder.mkdir(mode=0o755)
    folder.chmod(0o755)

    assert not python(folder, "-c", MAKE_A_TABLE, **MINE).returncode

    assert (folder / "thirdperson.sqlite3").exists()
    assert open_to_others(folder) == []


def test_the_settings_of_tests_leave_no_folder_behind(tmp_path):
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    environment.pop("VAR_DIR")
    made = subprocess.check_output(
        [sys.executable, "-c", "import config.settings.test as of; print(of.VAR_DIR)"],
        cwd=ROOT,
        env=environment,
        text=True,
    )

    assert Path(made).parent == tmp_path
    assert list(tmp_path.iterdir()) == []


def test_a_link_out_of_the_folder_changes_nothing_there(tmp_path):
    outside = tmp_path / "outside.txt"
    outside.write_text("mine")
    outside.chmod(0o644)
    folder = tmp_path / "var"
    folder.mkdir()
    (folder / "link").symlink_to(outside)

    private_files.close_below(folder)

    assert outside.stat().st_mode & 0o777 == 0o644


@pytest.mark.django_db
def test_sqlite_overwrites_what_is_deleted():
    if connection.vendor != "sqlite":
        return
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA secure_delete")
        assert cursor.fetchone() == (1,)
