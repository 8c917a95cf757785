"""The web server: workers are forked from a process that has loaded the site, and replaced."""

import os
import re
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from django.conf import settings

from config.processes import Processes, web_command
from tests.migrated import copy_migrated
from tests.servers import free_port

LOADED = """
import threading

import config.wsgi
from django.db import connections

print([one.connection for one in connections.all(initialized_only=True) if one.connection])
print(threading.enumerate() == [threading.main_thread()])
"""


def test_loading_the_site_opens_no_connection_and_starts_no_thread(tmp_path):
    """Forked processes would share the one, and lack the other."""
    copy_migrated(tmp_path)

    done = subprocess.run(
        [sys.executable, "-c", LOADED],
        cwd=settings.BASE_DIR,
        env=os.environ | {"VAR_DIR": str(tmp_path)},
        check=True,
        capture_output=True,
        text=True,
    )

    assert done.stdout.split() == ["[]", "True"]


class Server:
    """The web server with one worker over a database of its own."""

    def __init__(self, folder: Path, processes: Processes) -> None:
        self.port, self._log = free_port(), folder / "log"
        self.master = processes.start("web", web_command(port=self.port, workers=1))

    def workers(self) -> list[int]:
        """The workers' process ids, in the order in which they were started."""
        found = re.findall(r"Booting worker with pid: (\d+)", self._log.read_text())
        return [int(pid) for pid in found]

    def reads_database(self) -> bool:
        """Whether a page answers that says what the database holds."""
        try:
            urllib.request.urlopen(f"http://127.0.0.1:{self.port}/healthz", timeout=30)
        except urllib.error.HTTPError as error:  # 503, because no worker takes tasks here
            return b'"database": "ok"' in error.read()
        except OSError:
            return False
        return True


def wait_for(what: str, is_so: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not is_so():
        assert time.monotonic() < deadline, f"{what} did not come"
        time.sleep(0.05)


@pytest.fixture
def server(tmp_path) -> Iterator[Server]:
    copy_migrated(tmp_path)
    with (tmp_path / "log").open("wb") as log:
        processes = Processes(
            log=log,
            environment={
                "DJANGO_SETTINGS_MODULE": "config.settings.dev",
                "VAR_DIR": str(tmp_path),
                "DATABASE_URL": "",
                "CELERY_BROKER_URL": "",
            },
        )
        try:
            server = Server(tmp_path, processes)
            wait_for("the first page", server.reads_database)
            yield server
        finally:
            processes.stop()


def test_a_killed_worker_is_replaced_by_one_that_answers(server):
    (killed,) = server.workers()

    os.kill(killed, signal.SIGKILL)

    wait_for("another worker", lambda: len(server.workers()) == 2)
    wait_for("its page", server.reads_database)


def test_a_hangup_replaces_the_workers_without_a_gap(server):
    server.master.send_signal(signal.SIGHUP)

    while len(server.workers()) < 2:
        assert server.reads_database()
    assert server.reads_database()
