"""Run a scenario of simulated people and sum up what they measured."""

import json
import statistics
import subprocess
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from annotation.load_test.client import Scenario

_ROOT = Path(__file__).resolve().parent.parent.parent
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
    """What a number of people measured together."""

    people: int
    answers: int
    seconds: float
    confirmed: int  # answers, with those before and after the measured seconds
    errors: dict[str, int]
    entry: Times
    page: Times  # an item's page
    submit: Times  # sending an answer, until it is confirmed
    wait: Times  # sending an answer, until the next item is there
    cpu: list[float]  # seconds of each process of the scenario
    client_cpu: float

    @property
    def rate(self) -> float:
        """Answers a second."""
        return self.answers / self.seconds

    @property
    def cpu_ms(self) -> float | None:
        """CPU time of the processes of the scenario an answer; None without any."""
        if not self.cpu or not self.answers:
            return None
        return sum(self.cpu) / self.answers * 1000


def measure(
    scenario: Scenario, *, on_tick: Callable[[float], Any] = lambda seconds: None
) -> Measurement:
    """Let the people of `scenario` work in a process of their own; `on_tick` gets the seconds."""
    process = subprocess.Popen(
        [sys.executable, "-m", "annotation.load_test.client"],
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
