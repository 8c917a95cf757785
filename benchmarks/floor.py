"""The floor: what every version must reach, measured in one run, each part in turn with its peer.

    python -m benchmarks floor
    python -m benchmarks.floor --only answers --rounds 5

Prints what was measured, what is asked, and how many times better it is: 1.00 just reaches the
floor. Exits 1 if something misses it. Milliseconds and seconds mean something only where others do
not use the machine. A part can be repeated alone with `--only`.
"""

import argparse
import json
import os
import platform
import random
import secrets
import statistics
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benchmarks import slow_clients
from benchmarks._installation import SLUG, Installation
from benchmarks._machine import free_ports
from benchmarks.annotation import SITE, kill
from benchmarks.load.client import Scenario
from benchmarks.peers.systems import OTree
from benchmarks.peers.turns import (
    REDIRECTS,
    SCRIPT,
    SQLITE,
    Turn,
    cpu,
    prepare,
    rate,
    ratios,
    take_turn,
)
from tests.migrated import own_database
from tests.servers import postgres, redis_broker

ROOT = Path(__file__).resolve().parent.parent
PEOPLE, KILLS, SLOW, ITEMS = 20, 10, 100, 100_000


@dataclass(frozen=True)
class Line:
    """One line of the floor: the values that were measured, and their median's least or most."""

    what: str
    values: list[float]
    least: float | None = None
    most: float | None = None
    unit: str = ""

    @property
    def measured(self) -> float:
        return statistics.median(self.values)

    @property
    def times_better(self) -> float:
        """How many times better than the floor; below 1 it is missed."""
        if self.least is not None:
            return self.measured / self.least
        return self.most / self.measured if self.most and self.measured else float(self.reached)

    @property
    def reached(self) -> bool:
        if self.least is not None:
            return self.measured >= self.least
        return self.measured <= (self.most or 0)

    def __str__(self) -> str:
        word, limit = ("at most", self.most) if self.least is None else ("at least", self.least)
        spread = f" ({min(self.values):.4g} to {max(self.values):.4g})" * (len(self.values) > 1)
        cells = (
            self.what,
            f"{word} {limit:,g}{self.unit}",
            f"{self.measured:.4g}{spread}{self.unit}",
            f"{self.times_better:.2f}",
            "reached" if self.reached else "**missed**",
        )
        return f"| {' | '.join(cells)} |"


def answers(rounds: int) -> Iterator[Line]:
    """Answers of twenty people, against oTree."""
    turns: dict[str, list[Turn]] = defaultdict(list)
    with ExitStack() as stack:
        systems = prepare(stack, [OTree])
        for _ in range(rounds):
            for system in systems:
                turn = take_turn(system, people=PEOPLE, seconds=8)
                _say(f"{system.name}: {turn.rate:.0f} answers/s, {turn.cpu_ms:.1f} ms of CPU each")
                turns[system.name].append(turn)
    peer = turns[OTree.name]
    for name, path, least in ((SCRIPT, "JavaScript", 3.0), (REDIRECTS, "plain forms", 2.5)):
        yield Line(f"answers a second, {path}, / oTree", ratios(turns[name], peer, rate), least)
        yield Line(f"CPU of an answer, {path}, / oTree", ratios(turns[name], peer, cpu), most=0.65)
    waits = [turn.found.submit.p95 or 0.0 for turn in turns[SQLITE]]
    others = statistics.median(turn.other_load for turn in turns[SQLITE])
    what = f"answer on SQLite, 95th percentile; others used {others:.0%} of the cores"
    yield Line(what, waits, most=500, unit=" ms")
    lost = [float(turn.lost) for name in (SCRIPT, REDIRECTS, SQLITE) for turn in turns[name]]
    yield Line("answers lost", [sum(lost)], most=0)


def kills(rounds: int) -> Iterator[Line]:
    """The web server killed among twenty people, on PostgreSQL and on SQLite in turn."""
    draw, lost = random.Random(7), []  # noqa: S311 - moments of kills
    with ExitStack() as stack:
        server = stack.enter_context(postgres(durable=True))
        folders = [Path(stack.enter_context(tempfile.TemporaryDirectory())) for _ in range(2)]
        installations = [
            Installation(folder, port=port, server=url)
            for folder, port, url in zip(folders, free_ports(2), (server, ""), strict=True)
        ]
        for number in range(KILLS):
            one = installations[number % 2]
            people = Scenario(SITE, one.url, PEOPLE, 8, options={"slug": SLUG})
            confirmed, gone = kill(one.start(), one, people, after=draw.uniform(2, 6))
            _say(f"kill {number + 1}: {confirmed} answers acknowledged, {gone} lost")
            lost.append(float(gone))
    yield Line(f"answers lost in {KILLS} kills of the web server", [sum(lost)], most=0)


def slow(rounds: int) -> Iterator[Line]:
    """Pages for others while clients send half a request, or read nothing."""
    for kind in slow_clients.KINDS:
        times = slow_clients.measure(SLOW, kind)
        _say(f"{SLOW} × {kind.__name__}: {slow_clients.in_words(times)}")
        answered = sum(time is not None for time in times) / len(times)
        yield Line(f"pages answered, {SLOW} × {kind.__name__.replace('_', ' ')}", [answered], 1.0)


def judging(rounds: int) -> Iterator[Line]:
    """Judgments through a worker against a bare client that stores nothing."""
    options = ["--only", "raw", "worker", "--items", "1000", "--rounds", str(rounds), "--json"]
    with ExitStack() as stack:
        found = _told("judging", *options, env=_servers(stack))
    for latency, ways in found.items():
        yield Line(f"judging at {float(latency):.0f} ms, / a bare client", ways["worker"], 0.85)


def report(rounds: int) -> Iterator[Line]:
    """A whole report."""
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        env = _servers(stack) | {"OPENBLAS_NUM_THREADS": "1"}
        _told("report", "fill", str(ITEMS), env=env)
        found = _told("report", "measure", str(ITEMS), folder, env=env)
    what = f"report of {ITEMS:,} items × 3, with {found['cpu']:.0f} s of CPU"
    yield Line(what, [found["seconds"]], most=40, unit=" s")


PARTS: dict[str, Callable[[int], Iterator[Line]]] = {
    part.__name__: part for part in (answers, kills, slow, judging, report)
}


def _servers(stack: ExitStack) -> dict[str, str]:
    """The environment with a fresh PostgreSQL database and Redis."""
    return os.environ | {
        "DATABASE_URL": stack.enter_context(own_database(stack.enter_context(postgres()))),
        "CELERY_BROKER_URL": stack.enter_context(redis_broker()),
        "SECRET_KEY": secrets.token_hex(32),
    }


def _told(name: str, *arguments: str, env: dict[str, str]) -> Any:
    """The last line of another benchmark, which is JSON; the others are shown."""
    command = [sys.executable, "-m", f"benchmarks.{name}", *arguments]
    done = subprocess.run(command, cwd=ROOT, env=env, check=True, stdout=subprocess.PIPE, text=True)  # noqa: S603
    *lines, last = done.stdout.splitlines()
    for line in lines:
        _say(line)
    return json.loads(last)


def _say(line: str) -> None:
    sys.stderr.write(f"{line}\n")


def main() -> int:
    parser = argparse.ArgumentParser(description="What every version must reach.")
    parser.add_argument("--only", choices=PARTS, nargs="+", default=list(PARTS))
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    sys.stdout.write(
        f"{datetime.now(UTC):%-d %B %Y}, {platform.node()}, {os.cpu_count()} cores, Python "
        f"{platform.python_version()}, load {os.getloadavg()[0]:.1f} before. Better: 1 is the "
        "floor.\n\n| what | floor | measured | better | |\n| --- | --- | --- | --- | --- |\n"
    )
    missed = 0
    for name in options.only:
        for line in PARTS[name](options.rounds):
            sys.stdout.write(f"{line}\n")
            sys.stdout.flush()
            missed += not line.reached
    sys.stdout.write(f"\n{missed or 'No'} line{'s' * (missed != 1)} below the floor.\n")
    return 1 if missed else 0


if __name__ == "__main__":
    raise SystemExit(main())
