"""The product's processes on the embedded default: SQLite, and a broker in a folder."""

import json
import os
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from config.processes import worker_command
from tests.management import in_one_process
from tests.migrated import copy_migrated

ROOT = Path(__file__).resolve().parent.parent.parent


class Site:
    """A folder and processes that know it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.env = {k: v for k, v in os.environ.items() if k != "CELERY_BROKER_URL"}
        self.env |= {
            "VAR_DIR": str(folder),
            "DATABASE_URL": "",
            "SECRET_KEY": "crash-test-" + "0" * 50,
            "DJANGO_SETTINGS_MODULE": "config.settings.dev",
        }

    def migrate(self) -> None:
        copy_migrated(self.folder)

    def manage(self, *commands: list[str]) -> None:
        """Run management commands; all of them must succeed."""
        command = [sys.executable, *in_one_process(*commands)]
        subprocess.run(command, cwd=ROOT, env=self.env, check=True, capture_output=True)

    def worker(
        self, *, threads: int = 16, log: str = "worker.log", queue: str = ""
    ) -> subprocess.Popen[bytes]:
        with (self.folder / log).open("ab") as output:
            return subprocess.Popen(
                worker_command(threads=threads, beat=False, queue=queue),
                cwd=ROOT,
                env=self.env,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )

    def sweep(self) -> None:
        """What every worker does each 30 seconds."""
        code = "from judging.tasks import *; recover_runs.delay()"
        self.manage(["shell", "-v", "0", "-c", code])

    def sql(self, statement: str) -> list[tuple]:
        path = self.folder / "thirdperson.sqlite3"
        with closing(sqlite3.connect(path, timeout=30)) as connection, connection:
            return connection.execute(statement).fetchall()


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
