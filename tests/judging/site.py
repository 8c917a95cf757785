"""The product's processes, on a database and a broker of their own."""

import json
import os
import secrets
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import psycopg2

from config.processes import worker_command

ROOT = Path(__file__).resolve().parent.parent.parent


class Site:
    """A folder, a database and processes that know them."""

    def __init__(self, folder: Path, database_url: str) -> None:
        self.folder = folder
        self.database_url = database_url
        self.env = {k: v for k, v in os.environ.items() if k != "CELERY_BROKER_URL"}
        self.env |= {
            "VAR_DIR": str(folder),
            "DATABASE_URL": database_url,
            "SECRET_KEY": "crash-test-" + "0" * 50,
            "DJANGO_SETTINGS_MODULE": "config.settings.dev",
        }

    def manage(self, *arguments: str) -> None:
        command = [sys.executable, "manage.py", *arguments]
        subprocess.run(command, cwd=ROOT, env=self.env, check=True, capture_output=True)

    def worker(self, *, threads: int = 16, log: str = "worker.log") -> subprocess.Popen[bytes]:
        with (self.folder / log).open("ab") as output:
            return subprocess.Popen(
                worker_command(threads=threads, beat=False), cwd=ROOT, env=self.env,
                stdout=output, stderr=output, start_new_session=True,
            )  # fmt: skip

    def sweep(self) -> None:
        """What the schedule does every 30 seconds."""
        self.manage("shell", "-v", "0", "-c", "from judging.tasks import *; recover_runs.delay()")

    def sql(self, statement: str) -> list[tuple]:
        connection: Any
        if self.database_url:
            connection = psycopg2.connect(self.database_url)
        else:
            connection = sqlite3.connect(self.folder / "thirdperson.sqlite3", timeout=30)
        try:
            cursor = connection.cursor()
            cursor.execute(statement)
            rows = cursor.fetchall() if cursor.description else []
            connection.commit()
            return rows
        finally:
            connection.close()


@contextmanager
def make_site(folder: Path, *, postgres: bool) -> Iterator[Site]:
    """A site on SQLite, or on a new database of the PostgreSQL that DATABASE_URL names."""
    if not postgres:
        yield Site(folder, "")
        return
    parts = urlsplit(os.environ["DATABASE_URL"])
    name = f"site_{secrets.token_hex(4)}"
    server = psycopg2.connect(urlunsplit(parts._replace(path="/postgres")))
    server.autocommit = True
    server.cursor().execute(f"CREATE DATABASE {name}")
    try:
        yield Site(folder, urlunsplit(parts._replace(path=f"/{name}")))
    finally:
        server.cursor().execute(f"DROP DATABASE {name} WITH (FORCE)")
        server.close()


def wait_for(what: str, condition: Callable[[], bool], seconds: float = 90) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"{what} within {seconds} seconds"
        time.sleep(0.05)


def write_items(path: Path, count: int) -> None:
    features = [{"key": "age", "label": "Age", "value": "40", "text": "The person is 40."}]
    rows = [
        {
            "id": f"i{n:04}",
            "task": "preference",
            "persona": {"id": "p", "features": features},
            "question": f"Question number {n}?",
            "responses": [{"key": "r1", "text": f"yes {n}"}, {"key": "r2", "text": f"no {n}"}],
            "first_person": {"label": "r1"},
        }
        for n in range(count)
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
