"""Web server and worker as one command: `python -m config.processes`."""

import os
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Sequence
from types import FrameType
from typing import IO

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

from config.env import env, read_dotenv, whole_number

# More threads only wait for each other: Python runs one of a process at a time.
WEB_THREADS = 4
_PORT = 8000
# In the environment of a child: the process that started it, and without which it ends.
_STARTED_BY = "PROCESS_STARTED_BY"


def is_orphaned() -> bool:
    """Whether `Processes` has started this process, and was killed since."""
    started_by = os.environ.get(_STARTED_BY, "")
    if not started_by.isdecimal():
        return False
    try:
        os.kill(int(started_by), 0)
    except ProcessLookupError:
        return True
    except OSError:  # it lives, and belongs to somebody else
        pass
    return False


def web_command(*, port: int, host: str = "127.0.0.1", workers: int = 2) -> list[str]:
    """The gunicorn command: workers forked from a process that has loaded the site."""
    command = [sys.executable, "-m", "gunicorn", "config.wsgi:application", "--preload"]
    command += ["--no-control-socket", "--worker-class", "config.web_worker.WaitressWorker"]
    return [
        *command,
        "--bind",
        f"{host}:{port}",
        "--workers",
        str(workers),
        "--threads",
        str(WEB_THREADS),
    ]


def worker_command(*, threads: int = 16, beat: bool = True, queue: str = "") -> list[str]:
    """The command of a Celery worker with a thread pool, for one queue or all but the GPUs'.

    `beat` runs the schedule inside it.
    """
    command = [sys.executable, "-m", "celery", "-A", "config", "worker"]
    command += ["--pool", "threads", "--concurrency", str(threads), "--loglevel", "INFO"]
    command += ["--without-mingle", "--without-gossip"]
    if queue:
        command += ["--queues", queue, "--hostname", f"{queue}@%h"]
    return [*command, "--beat"] if beat else command


class ProcessDied(RuntimeError):
    """A process ended before it was asked to end."""


class Processes:
    """Child processes that start and end together, even if this one is killed."""

    def __init__(
        self, *, log: IO[bytes] | None = None, environment: dict[str, str] | None = None
    ) -> None:
        self._log = log
        own = {_STARTED_BY: str(os.getpid())}
        self._env = {**os.environ, **(environment or {}), **own}
        self._running: dict[str, subprocess.Popen[bytes]] = {}

    def start(self, name: str, command: Sequence[str]) -> subprocess.Popen[bytes]:
        process = subprocess.Popen(  # noqa: S603
            command, env=self._env, stdout=self._log, stderr=self._log, start_new_session=True
        )
        self._running[name] = process
        return process

    def check(self) -> None:
        """Raise `ProcessDied` when one of them has ended."""
        for name, process in self._running.items():
            if process.poll() is not None:
                raise ProcessDied(f"{name} ended with exit code {process.returncode}")

    def wait_healthy(self, base_url: str, *, seconds: float = 60) -> None:
        """Return once /healthz answers 200; raise if a process dies or time runs out."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            self.check()
            try:
                with urllib.request.urlopen(f"{base_url}/healthz", timeout=2):  # noqa: S310
                    return
            except (urllib.error.URLError, OSError):
                time.sleep(0.2)
        raise ProcessDied(f"{base_url}/healthz did not answer 200 within {seconds:.0f} seconds")

    def stop(self) -> None:
        """Ask every process to end, and kill those that have not after 20 seconds."""
        for process in self._running.values():
            if process.poll() is None:
                process.terminate()
        for process in self._running.values():
            try:
                process.wait(timeout=20)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        self._running.clear()


def all_commands() -> dict[str, dict[str, list[str]]]:
    """The processes of an installation, by starting argument and name."""
    port = env("PORT", cast=whole_number(1, 65535), default=_PORT)
    host = env.str("HOST", default="127.0.0.1")
    return {
        "web": {"web": web_command(port=port, host=host)},
        "worker": {
            "worker": worker_command(threads=4, queue="celery"),
            "judging worker": worker_command(beat=False, queue="judging"),
        },
    }


def main() -> int:
    """Start the processes named by the arguments, `web` or `worker`; both without arguments."""
    wanted = sys.argv[1:] or ["web", "worker"]
    try:
        read_dotenv()
        os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings.dev")
        commands = all_commands()
        settings.SECRET_KEY  # noqa: B018 - reports missing settings once, before anything starts
    except ImproperlyConfigured as error:
        sys.stderr.write(f"{error}\n")
        return 2
    if unknown := set(wanted) - set(commands):
        sys.stderr.write(f"There is no process “{unknown.pop()}”. Use web, worker or both.\n")
        return 2
    here = f"http://localhost:{env.str('PORT', default=_PORT)}"
    environment = {"PUBLIC_BASE_URL": env.str("PUBLIC_BASE_URL", default=here)}
    processes = Processes(environment=environment)
    signal.signal(signal.SIGTERM, _leave)
    try:
        for kind in wanted:
            for name, command in commands[kind].items():
                processes.start(name, command)
        if "web" in wanted:
            notice = [sys.executable, "-m", "manage", "account"]
            subprocess.call(notice, env={**os.environ, **environment})  # noqa: S603
        while True:
            processes.check()
            time.sleep(1)
    except KeyboardInterrupt:
        return 0
    except ProcessDied as error:
        sys.stderr.write(f"{error}. Its last lines are above.\n")
        return 1
    finally:
        processes.stop()


def _leave(number: int, frame: FrameType | None) -> None:
    raise SystemExit(0)


if __name__ == "__main__":
    raise SystemExit(main())
