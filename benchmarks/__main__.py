"""Run benchmarks briefly and write what they print into var/benchmarks.

    python -m benchmarks                    every benchmark, in less than 15 minutes in all
    python -m benchmarks answers            whole answers and those of the last release, 10 minutes
    python -m benchmarks floor              what every version must reach, about 10 minutes
    python -m benchmarks arrivals           a thousand people at the door, about 8 minutes
    python -m benchmarks NAME …             those named
    python -m benchmarks NAME --OPTION …    one, with options of its own and without a time limit
    python -m benchmarks --long …           with their own defaults and without a time limit

A benchmark that fails or takes too long leaves its file as it is. To only print, run its module:
`python -m benchmarks.NAME`.
"""

import argparse
import os
import platform
import secrets
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from benchmarks._environments import NotInstalled, environment
from benchmarks.load.client import tree
from tests.migrated import own_database
from tests.servers import postgres, redis_broker

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "var" / "benchmarks"


@dataclass(frozen=True)
class Short:
    """The brief form of a benchmark: its arguments, the seconds it may take, what it needs."""

    seconds: int
    arguments: tuple[str, ...] = ()
    on_servers: bool = False  # a fresh PostgreSQL database and Redis


# In the order in which they run. A benchmark that is not here has a short default of its own.
SHORT = {
    "peers": Short(270, ("--rounds", "3", "--seconds", "6")),
    "measure": Short(15, ()),
    "annotation": Short(55, ("--seconds", "8")),
    "answer_cpu": Short(30, ("--people", "6")),
    "judging": Short(105, ("--items", "400", "--latency-ms", "20"), True),
    "decisions": Short(18, ("--decisions", "200", "--rounds", "1"), True),
    "judging_size": Short(40, ("--sizes", "1000"), True),
    "judge_faults": Short(40, ("--judgments", "400", "--worker", "--only", "errors"), True),
    "judge_kills": Short(110, ("--judgments", "400", "--kills", "3", "--latency", "0.2")),
    "imports": Short(20, ("1000", "5000")),
    "exports": Short(40, ("--answers", "6000")),
    "growth": Short(70, ("--sizes", "1000", "10000", "--times", "10")),
    "report": Short(45, ("1000",), True),
    "statistics": Short(25),
    "slow_clients": Short(30, ("0", "20")),
    "claims": Short(30, ("--null", "3", "--planted", "1")),
    "machines": Short(9, ("--people", "30", "--studies", "3")),
    "fault_tests": Short(40, ("--only", "sqlite", "--only", "jobs")),
}
# Run only by their names, and as long as they need: the first and the last compare with another
# checkout, the second runs parts of the others, the third takes minutes a round, and the fourth is
# about a device that few machines have.
BY_NAME = ("answers", "floor", "arrivals", "gpu", "report_values")
OTHERS = Short(30)
ALL_SECONDS = 14.5 * 60


def available() -> list[str]:
    """The names of all benchmarks, in the order in which they run."""
    folder = Path(__file__).parent
    found = {path.stem for path in folder.glob("[a-z]*.py")}
    found |= {path.parent.name for path in folder.glob("[a-z]*/__main__.py")}
    found -= {"load", "simulations"}  # They need a study, or half an hour.
    return [name for name in SHORT if name in found] + sorted(found - set(SHORT))


def main() -> int:
    names = available()
    parser = argparse.ArgumentParser(
        description="Run benchmarks and write what they print into var/benchmarks.",
        allow_abbrev=False,
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(names)}")
    parser.add_argument(
        "--long", action="store_true", help="with their own defaults and without a time limit"
    )
    options, own = parser.parse_known_intermixed_args()
    if own and len(options.names) != 1:
        parser.error(f"{own[0]} is no option of all benchmarks; name one benchmark before it")
    if unknown := [name for name in options.names if name not in names]:
        parser.error(f"there is no benchmark “{unknown[0]}”; use {', '.join(names)}")
    wanted = options.names or [name for name in names if name not in BY_NAME]
    is_short = not (options.long or own or set(wanted) <= set(BY_NAME))
    end = time.monotonic() + ALL_SECONDS if is_short else None
    failed = [name for name in wanted if not run(name, own, end=end)]
    if failed:
        sys.stderr.write(f"Not completed: {', '.join(failed)}.\n")
    return 1 if failed else 0


def run(name: str, arguments: Sequence[str] = (), *, end: float | None = None) -> bool:
    """Run one benchmark and write its output into its file; False if it did not complete.

    With `end`, a moment of the monotonic clock, it runs in its brief form and not longer.
    """
    short = SHORT.get(name, OTHERS)
    if end is not None:
        arguments = short.arguments
    sys.stdout.write(f"\n== {name} {' '.join(arguments)}\n")
    sys.stdout.flush()
    load, start = os.getloadavg()[0], time.monotonic()
    with ExitStack() as stack:
        process = subprocess.Popen(  # noqa: S603
            [sys.executable, "-m", f"benchmarks.{name}", *arguments],
            cwd=ROOT,
            env=os.environ | _needs(name, short, stack),
            stdout=subprocess.PIPE,
            text=True,
        )
        if end is not None:
            limit = threading.Timer(min(short.seconds, end - start), _stop, [process])
            limit.daemon = True
            limit.start()
            stack.callback(limit.cancel)
        output = _shown(process)
    seconds = time.monotonic() - start
    if process.returncode:
        sys.stderr.write(f"{name} ended with {process.returncode} after {seconds:.0f} s.\n")
        return False
    command = " ".join(["python -m benchmarks", name, *arguments])
    about = (
        f"`{command}` on {datetime.now(UTC):%-d %B %Y}, {os.cpu_count()} cores, Python "
        f"{platform.python_version()}, {_commit()}in {seconds:.0f} s; load before the start "
        f"{load:.1f}."
    )
    RESULTS.mkdir(parents=True, exist_ok=True)
    (RESULTS / f"{name}.md").write_text(page(about, output), "utf-8")
    return True


def _commit() -> str:
    """The commit that was measured, where this is a checkout."""
    done = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"],  # noqa: S607
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    return f"commit {done.stdout.strip()}, " if done.returncode == 0 else ""


def page(about: str, output: str) -> str:
    """What a benchmark printed, as Markdown."""
    is_markdown = "| --- |" in output
    body = output.strip() if is_markdown else f"```\n{output.strip()}\n```"
    return f"{about}\n\n{body}\n"


def _needs(name: str, short: Short, stack: ExitStack) -> dict[str, str]:
    """The variables that a benchmark needs besides this process's own."""
    needs = {}
    if short.on_servers:
        server = stack.enter_context(postgres())
        needs["DATABASE_URL"] = stack.enter_context(own_database(server))
        needs["SECRET_KEY"] = secrets.token_hex(32)
        needs["CELERY_BROKER_URL"] = stack.enter_context(redis_broker())
    if name == "judging" and "INSPECT_PYTHON" not in os.environ:
        try:
            needs["INSPECT_PYTHON"] = str(environment("inspect") / "python")
        except NotInstalled as error:
            sys.stderr.write(f"inspect-ai is left out: {error}\n")
    return needs


def _shown(process: "subprocess.Popen[str]") -> str:
    """What the process prints, which is shown as it comes."""
    lines = []
    for line in process.stdout or ():
        sys.stdout.write(line)
        sys.stdout.flush()
        lines.append(line)
    process.wait()
    return "".join(lines)


def _stop(process: "subprocess.Popen[str]") -> None:
    """End a benchmark that takes too long: politely, so that it stops its servers, then at once."""
    pids = tree(process.pid)
    process.send_signal(signal.SIGINT)
    with suppress(subprocess.TimeoutExpired):
        process.wait(timeout=10)
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


if __name__ == "__main__":
    raise SystemExit(main())
