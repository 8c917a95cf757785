"""The product's processes on the embedded default: SQLite, and a broker in a folder."""

import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from celery import Celery

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

    def prepare(self, slug: str, items: int, url: str, *judge: str) -> None:
        """A study with so many items, and the judge “j” at a server."""
        file = self.folder / "items.jsonl"
        write_items(file, items)
        self.migrate()
        self.manage(
            ["import_items", slug, str(file), "--create"],
            ["add_judge", "j", "--model", "m", "--base-url", url, *judge],
        )

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

    def release(self) -> None:
        """Instead of waiting until a dead worker's leases run out and the schedule looks."""
        past = "leased_until = '2020-01-01 00:00:00'"
        self.sql(f"UPDATE judging_judgment SET {past} WHERE state = 'leased'")
        queue = self.folder / "queue"
        folders = {f"data_folder_{way}": str(queue / "messages") for way in ("in", "out")}
        folders["control_folder"] = str(queue / "control")
        broker = Celery(broker="filesystem://", set_as_current=False)
        broker.conf.broker_transport_options = folders
        broker.send_task("judging.tasks.recover_runs")

    def sql(self, statement: str) -> list[tuple]:
        path = self.folder / "thirdperson.sqlite3"
        with closing(sqlite3.connect(path, timeout=30)) as connection, connection:
            return connection.execute(statement).fetchall()


@contextmanager
def serving(log: Path, *, delay: float = 0.0, gate: Path | None = None) -> Iterator[str]:
    """The address of a server that outlives the workers; it notes each prompt in `log`.

    It answers as many requests as the number in `gate` says, in the order in which they came.
    """
    log.touch()
    command = [sys.executable, "-m", "tests.judging.llm_server"]
    command += ["--log", str(log), "--delay", str(delay)]
    if gate is not None:
        gate.touch()
        command += ["--gate", str(gate)]
    server = subprocess.Popen(
        command,
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        yield server.stdout.readline().strip()
    finally:
        server.kill()
        server.wait()
        server.stdout.close()


@contextmanager
def workers_that_end() -> Iterator[list[subprocess.Popen[bytes]]]:
    """A list for workers; those that are alive at the end are asked to end."""
    workers: list[subprocess.Popen[bytes]] = []
    try:
        yield workers
    finally:
        for worker in workers:
            if worker.poll() is None:
                worker.terminate()
                worker.wait(timeout=60)


def kill(worker: subprocess.Popen[bytes]) -> None:
    os.killpg(worker.pid, signal.SIGKILL)
    worker.wait()


def wait_for(what: str, condition: Callable[[], bool], seconds: float = 90) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"{what} within {seconds} seconds"
        time.sleep(0.05)


def write_items(path: Path, count: int, *, words: tuple[str, ...] = ("yes", "no")) -> None:
    """`count` items with a response for each of the words; three words make sets of options."""
    features = [{"key": "age", "label": "Age", "value": "40", "text": "The person is 40."}]
    rows = [
        {
            "id": f"i{n:04}",
            "task": "preference",
            "persona": {"id": "p", "features": features},
            "question": f"Question number {n}?",
            "responses": [
                {"key": f"r{k}", "text": f"{word} {n}"} for k, word in enumerate(words, start=1)
            ],
            "first_person": {"label": "r1"},
        }
        for n in range(count)
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
