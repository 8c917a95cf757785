"""The product's processes, started the way an installation starts them, on free ports."""

import os
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import psycopg2
from django.conf import settings

from config.processes import Processes, web_command, worker_command
from demo.steps import llm_command
from tests.management import in_one_process
from tests.migrated import copy_migrated
from tests.servers import free_port

ROOT = Path(__file__).resolve().parents[2]


class Stack:
    """Web server, worker, broker and simulated LLM server over a database of their own."""

    def __init__(self, folder: Path, database_url: str) -> None:
        self.folder = folder
        self.port = free_port(count=3)
        self.llm_port = self.port + 1
        self.base_url = f"http://127.0.0.1:{self.port}"
        self.llm_url = f"http://127.0.0.1:{self.llm_port}/v1"
        self._database_url = database_url
        self.environment = {
            **os.environ,
            "DJANGO_SETTINGS_MODULE": "config.settings.dev",
            "VAR_DIR": str(folder),
            "SECRET_KEY": settings.SECRET_KEY,  # simulated people date pages back with it
            "PUBLIC_BASE_URL": f"http://localhost:{self.port}",
            "DATABASE_URL": database_url,
            "DEMO_EXIT": "1",
            "PORT": str(self.port),
        }
        self.log_path = folder / "processes.log"
        self._log = self.log_path.open("ab")
        self.processes = Processes(log=self._log, environment=self.environment)
        self._web: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        self.migrate()
        self.processes.start("LLM server", llm_command(self.llm_port))
        self.processes.start("worker", worker_command())
        self.start_web()

    def migrate(self) -> None:
        """Bring the database up to date; on SQLite by a copy."""
        if self._database_url:
            self.run("-m", "config.migrate")
        else:
            copy_migrated(self.folder)

    def start_web(self) -> None:
        self._web = self.processes.start("web", web_command(port=self.port))
        self.processes.wait_healthy(self.base_url)

    def kill_web(self) -> None:
        """End the web server with all its workers at once, as a power cut would."""
        assert self._web is not None
        os.killpg(self._web.pid, signal.SIGKILL)
        self._web.wait()

    def stop(self) -> None:
        self.processes.stop()
        self._log.close()

    def manage(self, *commands: list[str]) -> None:
        """Run management commands; all of them must succeed."""
        self.run(*in_one_process(*commands))

    def run(self, *arguments: str, ok: bool = True) -> subprocess.CompletedProcess[str]:
        """Run Python with the stack's settings."""
        result = subprocess.run(
            [sys.executable, *arguments],
            cwd=ROOT,
            env=self.environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=550,
        )
        assert not ok or result.returncode == 0, f"{arguments}\n{result.stdout}\n{result.stderr}"
        return result

    def query(self, sql: str) -> list[tuple]:
        """Rows straight from the database, without the product's code."""
        if self._database_url:
            with closing(psycopg2.connect(self._database_url)) as database:
                with database.cursor() as cursor:
                    cursor.execute(sql)
                    return cursor.fetchall()
        with closing(sqlite3.connect(self.folder / "thirdperson.sqlite3")) as database:
            return database.execute(sql).fetchall()
