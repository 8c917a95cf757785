"""Simulated people in a separate process, and the resources that a server's processes use.

Reads a scenario (JSON) from stdin and writes the measurements (JSON) to stdout:

    python -m benchmarks.load.client

Everyone works in a closed loop: open an item, think, answer it, and so on; when someone has
finished, the next person replaces them. A class of the scenario knows the pages of a site. The
measurement starts once everyone has given an answer, so that arriving together does not count.
"""

import asyncio
import itertools
import json
import os
import random
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections import defaultdict
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any, Protocol

from benchmarks.load.participants import Browser, UnexpectedResponse

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
        """Return after `requests` responses below 500, so that several workers are warm."""
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
        """Ask it to end; kill the rest after ten seconds."""
        pids = tree(self.pid)
        self._process.terminate()
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(timeout=10)
        self._kill(pids)

    def kill(self) -> None:
        """SIGKILL for every process, as when the machine fails."""
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


_PAUSE_AFTER_ERROR = 0.5  # seconds, so that a server that is down is not flooded
_LONGEST_ENTRY = 60.0  # seconds until the measurement starts even if somebody has not answered
_LAST_RESPONSES = 10.0  # seconds for requests in progress at the end


@dataclass(frozen=True)
class Scenario:
    """Who does what, where, and for how long."""

    site: str  # "package.module:Class", a `Person`
    url: str
    people: int
    seconds: float  # measured, once everyone has given an answer
    think: float = 0.0  # mean seconds before an answer
    first: int = 1  # number of the first person; later people continue from `first + people`
    headers: dict[str, str] = field(default_factory=dict)
    processes: list[int] = field(
        default_factory=list
    )  # whose CPU time is measured, with their children
    options: dict[str, Any] = field(default_factory=dict)  # for the class


class LoadPerson(Protocol):
    """A simulated person on a site. Every method makes one or more requests."""

    def __init__(
        self, browser: Browser, number: int, rng: random.Random, options: dict[str, Any]
    ) -> None: ...

    async def enter(self) -> None:
        """Go from the study's link to the first item, but not to its page."""

    async def open_item(self) -> bool:
        """Open the current item; False if its page is here already."""

    @property
    def has_item(self) -> bool:
        """Whether an item is open for an answer."""

    async def answer(self) -> None:
        """Send the answer, which counts once the server has confirmed it."""

    async def leave(self) -> None:
        """Go through the pages after the last item."""


@dataclass
class Log:
    """Measurements of all people during the measured time. Times are seconds."""

    answers: int = 0
    entries: list[float] = field(default_factory=list)
    pages: list[float] = field(default_factory=list)
    submits: list[float] = field(default_factory=list)
    waits: list[float] = field(default_factory=list)  # from sending an answer to the next item
    errors: dict[str, int] = field(default_factory=dict)


def main() -> None:
    json.dump(asyncio.run(Crowd(Scenario(**json.load(sys.stdin))).work()), sys.stdout)


class Crowd:
    """The people of a scenario."""

    def __init__(self, scenario: Scenario) -> None:
        module, _, name = scenario.site.partition(":")
        self._site: type[LoadPerson] = getattr(import_module(module), name)
        self._scenario = scenario
        self._later = itertools.count(scenario.first + scenario.people)
        self._log = Log()
        self._confirmed = 0  # answers before, during and after the measured time
        self._started: set[int] = set()
        self._everyone_started = asyncio.Event()
        self._is_over = False

    async def work(self) -> dict[str, Any]:
        """Let everyone work for the time of the scenario; return the measurements."""
        scenario = self._scenario
        tasks = [asyncio.create_task(self._occupy(place)) for place in range(scenario.people)]
        with suppress(TimeoutError):
            await asyncio.wait_for(self._everyone_started.wait(), _LONGEST_ENTRY)
        errors_at_entry, self._log = self._log.errors, Log()
        start, own, spent = time.perf_counter(), time.process_time(), self._spent()
        await asyncio.sleep(scenario.seconds)
        log, self._log = self._log, Log()
        result = {
            **asdict(log),
            "elapsed": time.perf_counter() - start,
            "client_cpu": time.process_time() - own,
            "cpu": [after - before for after, before in zip(self._spent(), spent, strict=True)],
        }
        self._is_over = True
        _, late = await asyncio.wait(tasks, timeout=_LAST_RESPONSES)
        for task in late:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for task in tasks:
            if not task.cancelled():
                task.result()
        for message, count in errors_at_entry.items():
            log.errors[message] = log.errors.get(message, 0) + count
        return {**result, "errors": log.errors, "confirmed": self._confirmed}

    def _spent(self) -> list[float]:
        return [cpu_seconds(pid) for pid in self._scenario.processes]

    async def _occupy(self, place: int) -> None:
        """Fill one place with one person after another until time is up."""
        number = self._scenario.first + place
        rng = random.Random(number)  # noqa: S311
        await asyncio.sleep(rng.uniform(0, self._scenario.think))
        while not self._is_over:
            browser = Browser(self._scenario.url, self._scenario.headers)
            person = self._site(browser, number, rng, self._scenario.options)
            try:
                await self._take_part(person, place, rng)
            except (UnexpectedResponse, OSError) as error:
                message = str(error) or "no answer"
                self._log.errors[message] = self._log.errors.get(message, 0) + 1
                await asyncio.sleep(_PAUSE_AFTER_ERROR)
            finally:
                browser.close()
            number = next(self._later)

    async def _take_part(self, person: LoadPerson, place: int, rng: random.Random) -> None:
        start = time.perf_counter()
        await person.enter()
        entered = time.perf_counter()
        self._log.entries.append(entered - start)
        if await person.open_item():
            self._log.pages.append(time.perf_counter() - entered)
        while person.has_item and not self._is_over:
            if self._scenario.think:
                await asyncio.sleep(rng.uniform(0.5, 1.5) * self._scenario.think)
            start = time.perf_counter()
            await person.answer()
            answered = time.perf_counter()
            self._note_answer(place, answered - start)
            if await person.open_item():
                self._log.pages.append(time.perf_counter() - answered)
            self._log.waits.append(time.perf_counter() - start)
        if not person.has_item:
            await person.leave()

    def _note_answer(self, place: int, seconds: float) -> None:
        self._confirmed += 1
        self._log.answers += 1
        self._log.submits.append(seconds)
        self._started.add(place)
        if len(self._started) == self._scenario.people:
            self._everyone_started.set()


if __name__ == "__main__":
    main()
