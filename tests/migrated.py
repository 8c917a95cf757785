"""Databases whose tables were created once, and then copied: it takes a second or two each time."""

import fcntl
import hashlib
import os
import secrets
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import django
import psycopg2

ROOT = Path(__file__).resolve().parent.parent
NAME = "thirdperson.sqlite3"
DAY = 24 * 60 * 60
# The name of a migrated database on the PostgreSQL of DATABASE_URL, which `tests.run` makes.
TEMPLATE = "MIGRATED_DATABASE"
# The name of the copy of one process of tests, as others make theirs at the same time.
DATABASE_OF_TESTS = "DATABASE_OF_TESTS"


def copy_migrated(folder: Path, name: str = NAME) -> None:
    """Put an empty, migrated SQLite database into `folder`, made once for each set of migrations.

    Processes with `VAR_DIR=folder` look for it under its default name.
    """
    content = hashlib.sha256(f"{django.VERSION}".encode())
    folders = ("config/migrate.py", "*/migrations/*.py", "extras/*/migrations/*.py")
    for path in sorted(path for folder in folders for path in ROOT.glob(folder)):
        content.update(path.read_bytes())
    stored = Path(tempfile.gettempdir()) / f"thirdperson-{content.hexdigest()[:20]}.sqlite3"
    if not stored.exists():
        # Several processes of tests start at the same time: one migrates, the others wait.
        with stored.with_suffix(".lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not stored.exists():
                with tempfile.TemporaryDirectory(dir=stored.parent) as made:
                    _migrate(DATABASE_URL="", VAR_DIR=made)
                    Path(made, NAME).replace(stored)
            # Whoever still waits for it finds the database next.
            Path(lock.name).unlink(missing_ok=True)
            _forget_databases_of_before(stored)
    os.utime(stored)  # It is in use.
    shutil.copy(stored, folder / name)


def _forget_databases_of_before(stored: Path) -> None:
    """Delete those of other migrations, unless somebody used them within a day."""
    for other in stored.parent.glob("thirdperson-*.sqlite3"):
        if other != stored and other.stat().st_mtime < time.time() - DAY:
            other.unlink(missing_ok=True)


@contextmanager
def migrated_postgres(url: str) -> Iterator[str]:
    """The name of a new, migrated database on the server of `url`, to be copied; then dropped."""
    with own_database(url) as made, tempfile.TemporaryDirectory() as folder:
        _migrate(DATABASE_URL=made, VAR_DIR=folder, SECRET_KEY=secrets.token_hex(32))
        yield urlsplit(made).path.removeprefix("/")


@contextmanager
def own_database(url: str, template: str = "template1") -> Iterator[str]:
    """The URL of a new database on the server of `url`; then dropped."""
    name = f"own_{secrets.token_hex(4)}"
    with closing(psycopg2.connect(_with_name(url, "postgres"))) as database:
        database.autocommit = True
        with database.cursor() as cursor:
            cursor.execute(f"CREATE DATABASE {name} TEMPLATE {template}")
            try:
                yield _with_name(url, name)
            finally:
                cursor.execute(f"DROP DATABASE {name} WITH (FORCE)")


def _with_name(url: str, name: str) -> str:
    return urlunsplit(urlsplit(url)._replace(path=f"/{name}"))


def _migrate(**environment: str) -> None:
    environment = os.environ | {"DJANGO_SETTINGS_MODULE": "config.settings.dev"} | environment
    command = [sys.executable, "-m", "config.migrate"]
    subprocess.run(command, cwd=ROOT, env=environment, check=True)
