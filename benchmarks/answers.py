"""Whole answers, from the entry to the end, next to a bare Django view and the last release.

    python -m benchmarks answers
    python -m benchmarks.answers --against a93402c8 --rounds 5

Twenty people without think time, by plain forms and as browsers with JavaScript, on SQLite and on
PostgreSQL; each server has the flags that its own `make run` gives it. All are measured in turn, so
that they share the load of the machine. The other version is a tag, a commit or a folder with a
checkout, by default the last release; it runs with the packages of this environment.
"""

import argparse
import os
import platform
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from pathlib import Path

from benchmarks._installation import Installation
from benchmarks._machine import free_ports
from benchmarks.peers.__main__ import median, row, spread
from benchmarks.peers.systems import Bare, System, Thirdperson
from benchmarks.peers.turns import Turn, cpu, rate, ratios, take_turn
from tests.servers import postgres

ROOT = Path(__file__).resolve().parent.parent
PEOPLE = 20
THIS, BARE = "this version", Bare.name
# The ways to answer: database, and whether the page's script sends the answers.
WAYS = (("SQLite", False), ("SQLite", True), ("PostgreSQL", False), ("PostgreSQL", True))


def last_release() -> str:
    """The newest tag of a release before this commit; empty without one."""
    command = ["git", "describe", "--tags", "--abbrev=0", "--match", "v*", "HEAD^"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)  # noqa: S603
    return done.stdout.strip()


@contextmanager
def checkout(version: str) -> Iterator[Path]:
    """The folder of a version: as it is, or a copy of the files of a tag or commit."""
    if Path(version).is_dir():
        yield Path(version).resolve()
        return
    with tempfile.TemporaryDirectory(prefix="tp-version-") as folder:
        command = ["git", "archive", "--format=tar", version]
        files = subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE).stdout  # noqa: S603
        subprocess.run(["tar", "-x"], cwd=folder, check=True, input=files)  # noqa: S607
        yield Path(folder)


def systems(stack: ExitStack, versions: dict[str, Path]) -> list[System]:
    """A bare Django view, and every version in every way, ready to start.

    Versions that answer in the same way follow each other, because the load of a shared machine
    changes within a round.
    """
    server = stack.enter_context(postgres(durable=True))
    ports = iter(free_ports(2 * len(versions) + 1))
    installed = {}
    for number, (version, root) in enumerate(versions.items()):
        for database, url in (("SQLite", ""), ("PostgreSQL", server)):
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="tp-answers-")))
            installed[version, database] = Installation(
                folder,
                port=next(ports),
                server=url,
                root=root,
                databases=f"thirdperson_benchmark_{number}",
            )
    return [
        Bare(port=next(ports), server=server),
        *(
            Thirdperson(
                name_of(version, database, script),
                installed[version, database],
                server=server if database == "PostgreSQL" else "",
                script=script,
            )
            for database, script in WAYS
            for version in versions
        ),
    ]


def name_of(version: str, database: str, script: bool) -> str:
    return f"{version}, {database}, {'JavaScript' if script else 'plain forms'}"


def as_markdown(turns: dict[str, list[Turn]], other: str) -> str:
    """One row a way, with its ratios to the bare view and to the other version in each round."""
    head = ["", "answers/s", "CPU ms an answer", "answer, 95th percentile, ms"]
    head += ["answers/s, / bare view", "CPU, / bare view"]
    if other:
        head += [f"answers/s, / {other}", f"CPU, / {other}"]
    lines = [row(head), row(["---"] * len(head))]
    bare = turns[BARE]
    for name, of_one in turns.items():
        waits = [turn.found.submit.p95 or 0.0 for turn in of_one]
        cells = [name, median(of_one, rate, 0), median(of_one, cpu), f"{max(waits):.0f}"]
        cells += [spread(ratios(of_one, bare, value)) for value in (rate, cpu)]
        if other:
            before = turns.get(name.replace(THIS, other)) if name.startswith(THIS) else None
            cells += [spread(ratios(of_one, before, f)) if before else "" for f in (rate, cpu)]
        lines.append(row(cells))
    errors = sum(sum(turn.found.errors.values()) for of_one in turns.values() for turn in of_one)
    lost = sum(turn.lost for of_one in turns.values() for turn in of_one)
    lines += ["", f"Errors: {errors}. Confirmed answers that were not stored: {lost}."]
    return "\n".join(lines) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description="Whole answers, next to other versions.")
    parser.add_argument("--against", default=last_release(), help="a tag, a commit or a folder")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=6)
    options = parser.parse_args()
    sys.stdout.write(
        f"{datetime.now(UTC):%-d %B %Y}, {os.cpu_count()} cores, Python "
        f"{platform.python_version()}, load {os.getloadavg()[0]:.1f} before.\n\n"
    )
    if not options.against:
        sys.stderr.write("There is no release yet. Name another version with --against.\n")
    turns: dict[str, list[Turn]] = defaultdict(list)
    with ExitStack() as stack:
        versions = {THIS: ROOT}
        if options.against:
            versions[options.against] = stack.enter_context(checkout(options.against))
        measured = systems(stack, versions)
        for number in range(options.rounds):
            # To and fro, so that nobody is always the first.
            for system in measured if number % 2 == 0 else reversed(measured):
                turn = take_turn(system, people=PEOPLE, seconds=options.seconds)
                turns[system.name].append(turn)
                sys.stderr.write(
                    f"round {number + 1}: {system.name}: {turn.rate:.0f} answers/s, "
                    f"{turn.cpu_ms:.1f} ms of CPU each\n"
                )
    sys.stdout.write(as_markdown(turns, options.against))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
