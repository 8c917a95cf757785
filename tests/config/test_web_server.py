"""The web server: workers are forked from a process that has loaded the site, and replaced."""

import os
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from waitress import create_server, wasyncore

from config.processes import Processes, web_command
from config.web_worker import OPTIONS
from tests.management import ROOT, python
from tests.migrated import copy_migrated
from tests.servers import free_port

LOADED = """
import threading

import config.wsgi
from django.db import connections

print([one.connection for one in connections.all(initialized_only=True) if one.connection])
print(threading.enumerate() == [threading.main_thread()])
"""


@pytest.mark.nightly
def test_loading_the_site_opens_no_connection_and_starts_no_thread(tmp_path):
    """Forked processes would share the one, and lack the other."""
    copy_migrated(tmp_path)

    done = python(tmp_path, "-c", LOADED)

    assert done.stdout.split() == ["[]", "True"], done.stderr


class Server:
    """The web server with one worker over a database of its own."""

    def __init__(self, folder: Path, processes: Processes) -> None:
        self.port, self._log = free_port(), folder / "log"
        self.master = processes.start("web", web_command(port=self.port, workers=1))

    def workers(self) -> list[int]:
        """The workers' process ids, in the order in which they were started."""
        found = re.findall(r"Booting worker with pid: (\d+)", self._log.read_text())
        return [int(pid) for pid in found]

    def lines(self, word: str) -> list[str]:
        """The lines of the log with a word."""
        return [line for line in self._log.read_text().split("\n") if word in line]

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


@pytest.mark.nightly
def test_a_killed_worker_is_replaced_by_one_that_answers(server):
    (killed,) = server.workers()

    os.kill(killed, signal.SIGKILL)

    wait_for("another worker", lambda: len(server.workers()) == 2)
    wait_for("its page", server.reads_database)


def is_free(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) != 0


@pytest.mark.nightly
def test_the_workers_of_a_killed_master_end(server):
    os.kill(server.master.pid, signal.SIGKILL)

    wait_for("the end of its workers", lambda: is_free(server.port))


@pytest.mark.nightly
def test_the_processes_of_a_killed_starter_end(tmp_path):
    copy_migrated(tmp_path)
    port = free_port()
    own = {"VAR_DIR": str(tmp_path), "PORT": str(port), "DATABASE_URL": "", "CELERY_BROKER_URL": ""}
    own["DJANGO_SETTINGS_MODULE"] = "config.settings.dev"
    with (tmp_path / "log").open("wb") as log:
        starter = subprocess.Popen(
            [sys.executable, "-m", "config.processes", "web", "worker"],
            cwd=ROOT,
            env={**os.environ, **own},
            stdout=log,
            stderr=log,
        )
    try:
        wait_for("the web server", lambda: not is_free(port))
        wait_for("two workers", lambda: (tmp_path / "log").read_text().count(" ready.") == 2)
        others = children_of(starter.pid)
    finally:
        starter.kill()
        starter.wait()

    assert len(others) == 3
    wait_for("the end of all processes", lambda: not any(map(is_there, others)))
    assert is_free(port)


def children_of(parent: int) -> list[int]:
    told = subprocess.run(["ps", "-o", "pid=", "--ppid", str(parent)], capture_output=True)
    return [int(pid) for pid in told.stdout.split()]


def is_there(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return b"\0" in Path(f"/proc/{pid}/cmdline").read_bytes()  # a zombie has none


@pytest.mark.nightly
def test_a_hangup_replaces_the_workers_without_a_gap(server):
    server.master.send_signal(signal.SIGHUP)

    while len(server.workers()) < 2:
        assert server.reads_database()
    assert server.reads_database()


@pytest.mark.nightly
def test_a_request_is_one_line_of_the_log_with_its_path_and_without_its_query(server):
    with socket.create_connection(("127.0.0.1", server.port)) as client:
        client.sendall(
            b"GET /a%0AFORGED%0D%1b[31m%C2%85%C2%9Bb?PROLIFIC_PID=secret HTTP/1.1\r\n"
            b"Host: localhost\r\nConnection: close\r\n\r\n"
        )
        while client.recv(65536):
            pass

    wait_for("its line", lambda: server.lines("FORGED"))
    (line,) = (line for line in server.lines("FORGED") if "config.access" in line)
    assert line.isprintable()
    assert re.search(r'127\.0\.0\.1 "GET /a\S+b" 404 \d+$', line)
    assert server.lines("secret") == []


@pytest.fixture
def environ_of() -> Callable[[bytes], dict[str, str]]:
    """What the site is told of a request whose head is given."""

    def ask(head: bytes) -> dict[str, str]:
        seen: dict[str, str] = {}

        def site(environ, start_response):
            seen.update(environ)
            start_response("204 No Content", [])
            return []

        clients: dict[int, object] = {}
        with socket.create_server(("127.0.0.1", 0)) as listener:
            create_server(site, map=clients, sockets=[listener], threads=1, **OPTIONS)
            with socket.create_connection(listener.getsockname()) as client:
                client.sendall(head)
                wait_for("it", lambda: bool(wasyncore.loop(0.1, True, clients, 1) or seen))
        wasyncore.close_all(clients)
        return seen

    return ask


@pytest.mark.parametrize(
    "header",
    [
        "Script-Name: /x",
        "SCRIPT_NAME: /x",
        "Path-Info: /x",
        "X-Forwarded-Protocol: ssl",
        "X-Forwarded-Ssl: on",
        "X-Forwarded-Proto: https",
        "X-Forwarded-For: 203.0.113.9",
        "Forwarded: for=203.0.113.9;proto=https",
    ],
)
def test_a_client_names_no_script_no_path_no_address_and_no_scheme_by_a_header(header, environ_of):
    environ = environ_of(f"GET /here HTTP/1.1\r\nHost: x\r\n{header}\r\n\r\n".encode())

    assert environ["wsgi.url_scheme"] == "http"
    assert (environ["SCRIPT_NAME"], environ["PATH_INFO"]) == ("", "/here")
    assert environ["REMOTE_ADDR"] == "127.0.0.1"


def test_a_header_with_an_underscore_is_not_taken_for_that_of_the_proxy(environ_of):
    environ = environ_of(
        b"GET / HTTP/1.1\r\nHost: x\r\nX-Forwarded-For: 1.1.1.1\r\nX_Forwarded_For: 9.9.9.9\r\n\r\n"
    )

    assert environ["HTTP_X_FORWARDED_FOR"] == "1.1.1.1"


@pytest.mark.nightly
def test_a_stopping_server_answers_those_who_are_connected(server):
    with socket.create_connection(("127.0.0.1", server.port)) as client:
        client.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n")
        server.master.send_signal(signal.SIGTERM)
        time.sleep(0.5)
        client.sendall(b"\r\n")
        client.settimeout(30)

        assert client.recv(100).startswith(b"HTTP/1.1 503")  # no worker takes tasks here
