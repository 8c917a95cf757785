"""The programs that are compared: how each one is installed, started, and counted."""

import json
import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import psycopg2

from benchmarks import _workload as workload
from benchmarks._environments import environment
from benchmarks._installation import SLUG, Installation, database_url, execute, postmaster
from benchmarks.load.client import ServerProcess
from config.processes import WEB_THREADS

_OURS = "benchmarks.load.participants:SimulatedAnnotator"
_PROJECTS = Path(__file__).resolve().parent
_ROOT = _PROJECTS.parent.parent
_SESSION = 120  # oTree creates its participants in advance


@dataclass(frozen=True)
class Running:
    """A started server, the processes of its database if they are separate, and its people."""

    server: ServerProcess
    url: str
    site: str
    options: dict[str, Any]
    database: Sequence[int] = ()


class System(Protocol):
    name: str

    def start(self) -> Running:
        """Start it with the workload and without answers."""

    def stored(self) -> int:
        """The number of answers in its storage after it was stopped."""


class Thirdperson:
    """This program, on PostgreSQL if a server is given; `script` as browsers with JavaScript."""

    def __init__(
        self, name: str, installation: Installation, *, server: str = "", script: bool = False
    ) -> None:
        self.name, self._installation = name, installation
        self._server, self._script = server, script

    def start(self) -> Running:
        return Running(
            self._installation.start(),
            self._installation.url,
            _OURS,
            {"slug": SLUG, "script": self._script},
            [postmaster(self._server)] if self._server else [],
        )

    def stored(self) -> int:
        return self._installation.counts()[0]


class Bare:
    """A Django project with one view that inserts one row, by gunicorn as usual for Django."""

    name = "bare Django view, PostgreSQL"
    _database = "thirdperson_benchmark_bare"

    def __init__(self, *, port: int, server: str) -> None:
        self._port, self._server = port, server
        self._url = database_url(server, self._database)

    def start(self) -> Running:
        execute(
            self._server,
            f"DROP DATABASE IF EXISTS {self._database}",
            f"CREATE DATABASE {self._database}",
        )
        env = os.environ | {"DATABASE_URL": self._url}
        make = [sys.executable, "-m", "benchmarks.peers.bare"]
        subprocess.run(make, cwd=_ROOT, env=env, check=True)  # noqa: S603
        command = [sys.executable, "-m", "gunicorn", "benchmarks.peers.bare:application"]
        command += ["--preload", "--no-control-socket", "--bind", f"127.0.0.1:{self._port}"]
        command += ["--workers", "2", "--threads", str(WEB_THREADS)]
        server = ServerProcess(command, cwd=_ROOT, env=env)
        url = f"http://127.0.0.1:{self._port}"
        server.wait_until_ready(url, requests=40)
        site = "benchmarks.peers.people:BarePerson"
        return Running(server, url, site, {}, [postmaster(self._server)])

    def stored(self) -> int:
        with closing(psycopg2.connect(self._url)) as connection, connection.cursor() as cursor:
            cursor.execute("SELECT count(*) FROM bare_bareanswer")
            return int((cursor.fetchone() or [0])[0])


class OTree:
    """oTree's production server; its session is created once and copied for every start."""

    name = "oTree 6.0.15, SQLite"

    def __init__(self, folder: Path, *, port: int, participants: int = _SESSION) -> None:
        self._folder, self._url = folder / "otree", f"http://127.0.0.1:{port}"
        self._bin = environment("otree")
        shutil.copytree(_PROJECTS / "otree_project", self._folder)
        (self._folder / "_static").mkdir()
        (self._folder / "items.json").write_text(json.dumps(workload.items()))
        self._environment = {
            name: value for name, value in os.environ.items() if name != "DATABASE_URL"
        } | {
            "PATH": f"{self._bin}:{os.environ['PATH']}",
            "OTREE_PRODUCTION": "1",
            "OTREE_AUTH_LEVEL": "STUDY",
            "OTREE_ADMIN_PASSWORD": "benchmark",
        }
        subprocess.run(  # noqa: S603
            [self._bin / "otree", "create_session", "bench", str(participants)],
            cwd=self._folder,
            env=self._environment,
            check=True,
            capture_output=True,
        )
        shutil.copy(self._file, f"{self._file}.full")

    def start(self) -> Running:
        shutil.copy(f"{self._file}.full", self._file)
        command = [str(self._bin / "otree"), "prodserver1of2", self._url.removeprefix("http://")]
        server = ServerProcess(command, cwd=self._folder, env=self._environment)
        server.wait_until_ready(f"{self._url}/login", requests=5)
        session = self._select("SELECT _anonymous_code FROM otree_session")
        options = {"session": session}
        return Running(server, self._url, "benchmarks.peers.people:OTreeParticipant", options)

    def stored(self) -> int:
        return int(self._select("SELECT count(*) FROM annotate_player WHERE certainty IS NOT NULL"))

    @property
    def _file(self) -> Path:
        return self._folder / "db.sqlite3"

    def _select(self, query: str) -> Any:
        with closing(sqlite3.connect(self._file)) as connection:
            return connection.execute(query).fetchone()[0]


class Potato:
    """Potato as its documentation starts it, one process; its files are written afresh."""

    name = "Potato 2.12.1, files"

    def __init__(self, folder: Path, *, port: int) -> None:
        self._folder, self._url = folder / "potato", f"http://127.0.0.1:{port}"
        self._port, self._bin = port, environment("potato")

    def start(self) -> Running:
        shutil.rmtree(self._folder, ignore_errors=True)
        shutil.copytree(_PROJECTS / "potato_project", self._folder)
        lines = (
            json.dumps(
                {**row, "persona": "\n".join(f"{f['label']}: {f['value']}" for f in row["persona"])}
            )
            for row in workload.items()
        )
        (self._folder / "items.jsonl").write_text("\n".join(lines) + "\n")
        command = [str(self._bin / "potato"), "start", "config.yaml"]
        command += ["-p", str(self._port), "--host", "127.0.0.1"]
        server = ServerProcess(command, cwd=self._folder, env=os.environ)
        server.wait_until_ready(f"{self._url}/", requests=5)
        return Running(server, self._url, "benchmarks.peers.people:PotatoAnnotator", {})

    def stored(self) -> int:
        states = self._folder.glob("annotation_output/*/user_state.json")
        return sum(
            len(json.loads(path.read_text())["instance_id_to_label_to_value"]) for path in states
        )
