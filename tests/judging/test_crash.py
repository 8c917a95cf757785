"""A worker that is killed in mid-run: nothing stored is asked again, nothing is lost."""

import json
import os
import secrets
import signal
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import psycopg2
import pytest

from config.processes import worker_command

ROOT = Path(__file__).resolve().parent.parent.parent
ITEMS, SLOTS = 200, 8


class Site:
    """The product's processes on a database and a broker of their own."""

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

    def worker(self) -> subprocess.Popen[bytes]:
        with (self.folder / "worker.log").open("ab") as log:
            return subprocess.Popen(
                worker_command(beat=False), cwd=ROOT, env=self.env, stdout=log, stderr=log,
                start_new_session=True,
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


@pytest.fixture
def site(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Site]:
    if request.param == "sqlite":
        yield Site(tmp_path, "")
        return
    parts = urlsplit(os.environ["DATABASE_URL"])
    name = f"crash_{secrets.token_hex(4)}"
    server = psycopg2.connect(urlunsplit(parts._replace(path="/postgres")))
    server.autocommit = True
    server.cursor().execute(f"CREATE DATABASE {name}")
    try:
        yield Site(tmp_path, urlunsplit(parts._replace(path=f"/{name}")))
    finally:
        server.cursor().execute(f"DROP DATABASE {name} WITH (FORCE)")
        server.close()


def wait_for(what: str, condition: Callable[[], bool], seconds: float = 90) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"{what} within {seconds} seconds"
        time.sleep(0.05)


def write_items(path: Path) -> None:
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
        for n in range(ITEMS)
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


@pytest.mark.e2e
@pytest.mark.parametrize(
    "site", ["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)], indirect=True
)
def test_a_killed_worker_loses_nothing_and_nothing_stored_is_asked_again(site, tmp_path):
    log = tmp_path / "requests.log"
    log.touch()
    server = subprocess.Popen(
        [sys.executable, "-m", "tests.judging.llm_server", "--log", str(log), "--delay", "0.15"],
        cwd=ROOT, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    workers = []
    try:
        url = server.stdout.readline().strip()
        write_items(tmp_path / "items.jsonl")
        site.manage("migrate", "-v", "0")
        site.manage("import_items", "crash", str(tmp_path / "items.jsonl"), "--create")
        site.manage("add_judge", "j", "--model", "m", "--base-url", url, "--concurrency", "8")
        workers.append(site.worker())
        site.manage("judge", "crash", "--judge", "j", "--setting", "certainty")

        answered = "SELECT count(*) FROM judging_judgment WHERE state = 'done'"
        wait_for("60 answers", lambda: site.sql(answered)[0][0] >= 60)
        os.killpg(workers[0].pid, signal.SIGKILL)
        workers[0].wait()

        stored = "SELECT id, choice, certainty, answered_at FROM judging_judgment"
        before = set(site.sql(f"{stored} WHERE state = 'done'"))
        in_flight = site.sql("SELECT count(*) FROM judging_attempt WHERE outcome = 'sent'")[0][0]
        assert 60 <= len(before) < ITEMS
        assert 0 < in_flight <= SLOTS
        # Instead of waiting until the dead worker's leases run out.
        site.sql(
            "UPDATE judging_judgment SET leased_until = '2020-01-01 00:00:00'"
            " WHERE state = 'leased'"
        )
        workers.append(site.worker())
        site.sweep()
        ended = "SELECT count(*) FROM judging_judgerun WHERE state = 'done'"
        wait_for("the end of the run", lambda: site.sql(ended)[0][0] == 1)

        after = set(site.sql(f"{stored} WHERE state = 'done'"))
        assert len(after) == ITEMS
        assert before <= after
        outcomes = dict(site.sql("SELECT outcome, count(*) FROM judging_attempt GROUP BY outcome"))
        assert outcomes == {"replied": ITEMS, "lost": in_flight}
        asked = Counter(log.read_text().splitlines())
        assert len(asked) == ITEMS
        again = sum(asked.values()) - ITEMS
        # An attempt is written before it is sent: killed in between, it never reached the server.
        assert 0 < again <= in_flight
    finally:
        for worker in workers:
            if worker.poll() is None:
                worker.terminate()
                worker.wait(timeout=60)
        server.kill()
        server.wait()
        server.stdout.close()
