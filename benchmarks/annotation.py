"""Answers per second through the real pages: 30 items per annotator, 3 answers per item.

    python -m benchmarks annotation
    python -m benchmarks.annotation --people 20 --seconds 60

Twenty virtual annotators in a closed loop without think time, each with a separate cookie jar and
a kept-alive connection: link, consent, instructions, then up to 30 times {open the item, send
choice and certainty}, completion; then the next annotator follows. The server is as
`make run` starts it, on a fresh database of the PostgreSQL that DATABASE_URL names, or on SQLite.
An answer counts as acknowledged when its response has arrived. Half way through a second run the
server is killed with SIGKILL, and the stored answers are compared with the acknowledged ones. The
annotators run on the same cores as the server, so the rate is that of both together; CPU per
answer is the server's alone.
"""

import argparse
import os
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

from benchmarks._installation import SLUG, Installation
from benchmarks._machine import free_ports
from benchmarks.load.client import Scenario, ServerProcess, cpu_seconds
from benchmarks.load.measurement import Measurement, measure

SITE = "benchmarks.load.participants:SimulatedAnnotator"


def main() -> None:
    parser = argparse.ArgumentParser(description="Answers a second through the real pages.")
    parser.add_argument("--people", type=int, default=20)
    parser.add_argument("--seconds", type=float, default=45)
    parser.add_argument("--items", type=int, default=1000)
    options = parser.parse_args()

    with tempfile.TemporaryDirectory() as folder:
        installation = Installation(
            Path(folder),
            port=free_ports(1)[0],
            server=os.environ.get("DATABASE_URL", ""),
            items=options.items,
        )
        server = installation.start()
        scenario = Scenario(
            SITE,
            installation.url,
            options.people,
            options.seconds,
            processes=[server.pid],
            options={"slug": SLUG},
        )
        found = measure(scenario)
        server.stop()
        stored, above = installation.counts()
        sys.stdout.write(as_text(found, stored=stored, above=above))

        server = installation.restart()
        second = replace(scenario, seconds=8, first=10**6, processes=[])
        confirmed, lost = kill(server, installation, second, after=4, stored=stored)
        sys.stdout.write(f"SIGKILL in mid-work: {confirmed} answers acknowledged, {lost} lost\n")


def kill(
    server: ServerProcess,
    installation: Installation,
    scenario: Scenario,
    *,
    after: float,
    stored: int = 0,
) -> tuple[int, int]:
    """Kill a server after so many seconds of its CPU: acknowledged answers, and lost ones.

    `stored` answers were there before. Items with too many answers count as lost ones.
    """
    end = cpu_seconds(server.pid) + after
    is_alive = True

    def look(_: float) -> None:
        nonlocal is_alive
        if is_alive and cpu_seconds(server.pid) > end:
            is_alive = False
            server.kill()

    found = measure(scenario, on_tick=look)
    if is_alive:
        server.kill()
    now, above = installation.counts()
    return found.confirmed, max(0, stored + found.confirmed - now) + above


def as_text(found: Measurement, *, stored: int, above: int) -> str:
    lines = [
        f"{found.answers} answers in {found.seconds:.0f} s: {found.rate:.1f} answers/s",
        "milliseconds, median / 95th percentile:",
        f"  item page: {found.page}",
        f"  answer: {found.submit}",
        f"  entry, consent and instructions: {found.entry}",
        f"server CPU: {found.cpu_ms or 0:.1f} ms per answer",
        f"stored {stored}, acknowledged {found.confirmed}; {above} items above 3; "
        f"{sum(found.errors.values())} errors",
        *list(found.errors)[:5],
    ]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
