"""A server in processes of its own, and what they cost: from /proc, so on Linux only."""

import os
import signal
import subprocess
import time
import urllib.error
import urllib.request
from collections import defaultdict
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryFile

_TICKS = os.sysconf("SC_CLK_TCK")


class ServerFailed(RuntimeError):
    """A server ended or did not answer; the message has its last line."""


class ServerProcess:
    """A command that serves HTTP, with all processes that it starts."""

    def __init__(
        self, command: Sequence[str], *, cwd: Path | None = None, env: Mapping[str, str]
    ) -> None:
        self._log = TemporaryFile()
        self._process = subprocess.Popen(  # noqa: S603
            command,
            cwd=cwd,
            env=env,
            start_new_session=True,
            stdin=subprocess.DEVNULL,
            stdout=self._log,
            stderr=self._log,
        )

    @property
    def pid(self) -> int:
        return self._process.pid

    def wait_until_ready(self, url: str, *, requests: int = 1, seconds: float = 60) -> None:
        """Return after `requests` answers below 500, so that several workers are warm."""
        deadline = time.monotonic() + seconds
        while requests:
            if self._process.poll() is not None:
                raise ServerFailed(f"The server did not start: {self.last_line()}")
            if time.monotonic() > deadline:
                raise ServerFailed(f"The server did not answer within {seconds:.0f} seconds.")
            if _answers(url):
                requests -= 1
            else:
                time.sleep(0.1)

    def last_line(self) -> str:
        self._log.seek(0)
        lines = self._log.read().decode("utf-8", "replace").strip().splitlines()
        return lines[-1] if lines else "it printed nothing"

    def stop(self) -> None:
        """Ask it to end; kill what is left after ten seconds."""
        pids = tree(self.pid)
        self._process.terminate()
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(timeout=10)
        self._kill(pids)

    def kill(self) -> None:
        """SIGKILL for every process, as when the machine takes them away."""
        self._kill(tree(self.pid))

    def _kill(self, pids: Sequence[int]) -> None:
        for pid in pids:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self._process.wait()
        self._log.close()


def tree(root: int) -> list[int]:
    """The process `root` and everything that descends from it."""
    children = defaultdict(list)
    for pid in _all_pids():
        if fields := _stat(pid):
            children[int(fields[1])].append(pid)
    found = [root]
    for pid in found:
        found += children[pid]
    return found


def cpu_seconds(root: int) -> float:
    """User and system time so far of a process tree, with its ended and awaited children."""
    return (
        sum(sum(map(int, fields[11:15])) for pid in tree(root) if (fields := _stat(pid))) / _TICKS
    )


def memory_mb(root: int) -> float:
    """Memory of a process tree; a page that several processes share counts once (PSS)."""
    total = 0
    for pid in tree(root):
        with suppress(OSError):
            for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
                if line.startswith("Pss:"):
                    total += int(line.split()[1])
    return total / 1024


def _all_pids() -> list[int]:
    return [int(path.name) for path in Path("/proc").glob("[0-9]*")]


def _stat(pid: int) -> list[str]:
    """The fields of /proc/PID/stat after the name: state, parent, and so on; empty if it ended."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return []


def _answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=30):  # noqa: S310
            return True
    except urllib.error.HTTPError as error:
        return error.code < 500
    except (urllib.error.URLError, OSError):
        return False
