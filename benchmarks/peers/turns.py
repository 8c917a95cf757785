"""A turn of one system: started on fresh data, used by the same people, and stopped."""

import os
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from benchmarks._environments import NotInstalled
from benchmarks._installation import Installation
from benchmarks._machine import busy_seconds, free_ports, own_seconds
from benchmarks.load.client import Scenario, cpu_seconds, memory_mb
from benchmarks.load.measurement import Measurement, measure
from benchmarks.peers.systems import OTree, Potato, System, Thirdperson
from tests.servers import postgres

REDIRECTS = "Thirdperson, PostgreSQL, redirects"
SCRIPT = "Thirdperson, PostgreSQL, JavaScript"
SQLITE = "Thirdperson, SQLite, redirects"


@dataclass(frozen=True)
class Turn:
    """One system in one round."""

    found: Measurement
    memory: float
    other_load: float
    lost: int  # confirmed answers that were not in the storage afterwards

    @property
    def rate(self) -> float:
        return self.found.rate

    @property
    def cpu_ms(self) -> float:
        """Server CPU an answer, with the database's."""
        return self.found.cpu_ms or 0.0

    @property
    def database_ms(self) -> float:
        return sum(self.found.cpu[1:]) * 1000 / max(self.found.answers, 1)


def prepare(
    stack: ExitStack, peers: Sequence[type[OTree | Potato]] = (OTree, Potato)
) -> list[System]:
    """This program, and every peer that can be installed here, ready to start."""
    folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="tp-peers-")))
    server = stack.enter_context(postgres(durable=True))
    ports = free_ports(4)
    folders = [folder / name for name in ("postgresql", "sqlite")]
    for each in folders:
        each.mkdir()
    on_postgres = Installation(folders[0], port=ports[0], server=server)
    on_sqlite = Installation(folders[1], port=ports[1])
    systems: list[System] = [
        Thirdperson(REDIRECTS, on_postgres, server=server),
        Thirdperson(SCRIPT, on_postgres, server=server, script=True),
        Thirdperson(SQLITE, on_sqlite),
    ]
    for peer, port in zip(peers, ports[2:], strict=False):
        try:
            systems.append(peer(folder, port=port))
        except NotInstalled as error:
            sys.stderr.write(f"{peer.name} is left out: {error}\n")
    return systems


def take_turn(system: System, *, people: int, seconds: float) -> Turn:
    running = system.start()
    try:
        scenario = Scenario(
            running.site,
            running.url,
            people,
            seconds,
            processes=[running.server.pid, *running.database],
            options=running.options,
        )
        busy, start, own = busy_seconds(), time.monotonic(), own_seconds()
        spent = [cpu_seconds(pid) for pid in scenario.processes]
        found = measure(scenario)
        spent = [cpu_seconds(pid) - was for pid, was in zip(scenario.processes, spent, strict=True)]
        other = busy_seconds() - busy - sum(spent) - (own_seconds() - own)
        elapsed = time.monotonic() - start
        memory = memory_mb(running.server.pid)
    finally:
        running.server.stop()
    return Turn(
        found=found,
        memory=memory,
        other_load=max(0.0, other / elapsed / (os.cpu_count() or 1)),
        lost=max(0, found.confirmed - system.stored()),
    )


def ratios(
    ours: Sequence[Turn], theirs: Sequence[Turn], value: Callable[[Turn], float]
) -> list[float]:
    """What this program has as a multiple of a peer's, within each round."""
    return [value(one) / value(other) for one, other in zip(ours, theirs, strict=True)]


def rate(turn: Turn) -> float:
    return turn.rate


def cpu(turn: Turn) -> float:
    return turn.cpu_ms
