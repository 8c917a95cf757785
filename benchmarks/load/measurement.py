"""Measuring a server, new or running, with more and more people until it is too slow."""

import json
import os
import socket
import statistics
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings

from annotation.errors import AnnotationError
from benchmarks.load.client import Scenario, ServerFailed, ServerProcess

_ROOT = Path(__file__).resolve().parent.parent.parent
_LOCAL = {"127.0.0.1", "localhost"}


class CannotMeasure(AnnotationError):
    """The server cannot be measured; the message says why and what to do."""


@dataclass(frozen=True)
class LoadTarget:
    """A web server, the headers it expects, and its processes if they are known."""

    url: str
    headers: dict[str, str] = field(default_factory=dict)
    processes: list[int] = field(default_factory=list)


@contextmanager
def own_server(slug: str) -> Iterator[LoadTarget]:
    """A web server on a free port, as `make run` starts it; `slug` is a study that it serves."""
    port = _free_port()
    url = f"http://127.0.0.1:{port}"
    # An empty variable counts as unset, even if the file .env sets it.
    environment = os.environ | {
        "HOST": "127.0.0.1",
        "PORT": str(port),
        "PUBLIC_BASE_URL": url,
        "SECRET_KEY": settings.SECRET_KEY,
        "ALLOWED_HOSTS": "",
        "CSRF_TRUSTED_ORIGINS": "",
        "TRUST_PROXY": "",
    }
    command = [sys.executable, "-m", "config.processes", "web"]
    server = ServerProcess(command, cwd=_ROOT, env=environment)
    try:
        server.wait_until_ready(f"{url}/s/{slug}/", requests=20)
        yield LoadTarget(url, processes=[server.pid] if Path("/proc/self/stat").exists() else [])
    except ServerFailed as error:
        raise CannotMeasure(str(error)) from error
    finally:
        server.stop()


def running_server(url: str) -> LoadTarget:
    """The web server at `url`, which must be on this machine. Raises `CannotMeasure`."""
    address = urlsplit(url)
    if address.scheme != "http" or address.hostname not in _LOCAL:
        raise CannotMeasure(
            f"{url} is not a web server on this machine. Give its local address, for example "
            "http://127.0.0.1:8000. A load test never sends requests to another machine."
        )
    public = urlsplit(settings.PUBLIC_BASE_URL)
    if public.scheme != "https":
        return LoadTarget(url.rstrip("/"))
    # The header that a proxy in front of the server would send.
    headers = {
        "Host": public.netloc,
        "X-Forwarded-Proto": "https",
        "Referer": f"{settings.PUBLIC_BASE_URL}/",
    }
    return LoadTarget(url.rstrip("/"), headers)


def check_database(target: LoadTarget, slug: str) -> None:
    """Raise `CannotMeasure` if the server lacks the study, because it has another database."""
    request = urllib.request.Request(f"{target.url}/s/{slug}/", headers=target.headers)  # noqa: S310
    try:
        urllib.request.urlopen(request, timeout=30).close()  # noqa: S310
    except urllib.error.HTTPError as error:
        if error.code == 404:
            raise CannotMeasure(
                f"The server at {target.url} uses a different database. Run the command with the "
                "server's settings (DATABASE_URL, VAR_DIR)."
            ) from error
    except OSError as error:
        raise CannotMeasure(f"Nothing answers at {target.url}. Check the port.") from error


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


_TICK = 0.25  # seconds


@dataclass(frozen=True)
class Times:
    """Median and 95th percentile in milliseconds; None without a measurement."""

    p50: float | None
    p95: float | None

    @classmethod
    def of(cls, seconds: list[float]) -> "Times":
        if not seconds:
            return cls(None, None)
        if len(seconds) == 1:
            return cls(seconds[0] * 1000, seconds[0] * 1000)
        cuts = statistics.quantiles(seconds, n=100, method="inclusive")
        return cls(cuts[49] * 1000, cuts[94] * 1000)

    def __str__(self) -> str:
        return "–" if self.p50 is None else f"{self.p50:.0f} / {self.p95:.0f}"


@dataclass(frozen=True)
class Measurement:
    """The measurements for a number of people."""

    people: int
    answers: int
    seconds: float
    confirmed: int  # answers, including those before and after the measured seconds
    errors: dict[str, int]
    entry: Times
    page: Times  # an item's page
    submit: Times  # from sending an answer until it is confirmed
    wait: Times  # from sending an answer until the next item has arrived
    cpu: list[float]  # seconds of each process of the scenario
    client_cpu: float

    @property
    def rate(self) -> float:
        """Answers per second."""
        return self.answers / self.seconds

    @property
    def cpu_ms(self) -> float | None:
        """CPU time of the scenario's processes per answer; None without answers."""
        if not self.cpu or not self.answers:
            return None
        return sum(self.cpu) / self.answers * 1000


def measure(
    scenario: Scenario, *, on_tick: Callable[[float], Any] = lambda seconds: None
) -> Measurement:
    """Let the people of `scenario` work in a separate process; `on_tick` gets the seconds."""
    process = subprocess.Popen(
        [sys.executable, "-m", "benchmarks.load.client"],
        cwd=_ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,  # Ctrl-C is for the caller, who ends it below
    )
    try:
        sent: str | None = json.dumps(asdict(scenario))
        while True:
            try:
                output, _ = process.communicate(sent, timeout=_TICK)
                break
            except subprocess.TimeoutExpired:
                sent = None
                on_tick(_TICK)
    finally:
        process.kill()
        process.wait()
    if process.returncode:
        raise RuntimeError(f"the simulated people ended with exit code {process.returncode}")
    return _sum_up(scenario.people, json.loads(output))


def _sum_up(people: int, log: dict[str, Any]) -> Measurement:
    return Measurement(
        people=people,
        answers=log["answers"],
        seconds=log["elapsed"],
        confirmed=log["confirmed"],
        errors=log["errors"],
        entry=Times.of(log["entries"]),
        page=Times.of(log["pages"]),
        submit=Times.of(log["submits"]),
        wait=Times.of(log["waits"]),
        cpu=log["cpu"],
        client_cpu=log["client_cpu"],
    )


LIMIT_MS = 1000
RULE = (
    "A number of people can be served if no request fails and, for 95 of 100 answers, the next "
    "item arrives within a second of sending the answer."
)


@dataclass(frozen=True)
class Step:
    """The result for one number of people."""

    found: Measurement

    @property
    def is_carried(self) -> bool:
        p95 = self.found.wait.p95
        return not self.found.errors and p95 is not None and p95 <= LIMIT_MS

    def as_json(self) -> dict[str, Any]:
        found = self.found
        return {
            "people": found.people,
            "carried": self.is_carried,
            "answers": found.answers,
            "seconds": round(found.seconds, 2),
            "answers_per_second": round(found.rate, 2),
            "answer_ms": _rounded(asdict(found.submit)),
            "next_item_ms": _rounded(asdict(found.wait)),
            "entry_ms": _rounded(asdict(found.entry)),
            "cpu_ms_per_answer": None if found.cpu_ms is None else round(found.cpu_ms, 1),
            "errors": found.errors,
        }


def numbers(people: int) -> list[int]:
    """5, 10, 20, 40 and so on, ending with `people`."""
    found = []
    step = 5
    while step < people:
        found.append(step)
        step *= 2
    return [*found, people]


def climb(
    scenario: Scenario, *, on_step: Callable[[int], Any], on_tick: Callable[[float], Any]
) -> Iterator[Step]:
    """Measure each number of people up to the scenario's; stop after one that is too many."""
    for people in numbers(scenario.people):
        on_step(people)
        step = Step(measure(replace(scenario, people=people), on_tick=on_tick))
        yield step
        if not step.is_carried:
            return


def carried(steps: list[Step]) -> int:
    """The largest number of people that was served; 0 if none was."""
    return max((step.found.people for step in steps if step.is_carried), default=0)


def _rounded(times: dict[str, float | None]) -> dict[str, float | None]:
    return {name: None if ms is None else round(ms, 1) for name, ms in times.items()}
