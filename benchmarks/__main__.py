"""Run benchmarks briefly and write what they print into docs/performance.md.

    python -m benchmarks              every benchmark, in less than 15 minutes in all
    python -m benchmarks NAME …       those named
    python -m benchmarks --long …     with their own defaults and without a time limit

A benchmark that fails or takes too long leaves its part of the page as it is. To only print, or to
give options, run the module: `python -m benchmarks.NAME --help`.
"""

import argparse
import os
import platform
import re
import signal
import subprocess
import sys
import threading
import time
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from annotation.load_test.process import tree
from benchmarks._environments import NotInstalled, environment
from tests.migrated import own_database
from tests.servers import postgres, redis_broker

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "performance.md"


@dataclass(frozen=True)
class Short:
    """The brief form of a benchmark: its arguments, the seconds it may take, what it needs."""

    seconds: int
    arguments: tuple[str, ...] = ()
    on_servers: bool = False  # a fresh PostgreSQL database and Redis


# The seconds add up to less than 15 minutes.
SHORT = {
    "peers": Short(305, ("--rounds", "3", "--seconds", "8")),
    "annotation": Short(60, ("--seconds", "8")),
    "judging": Short(90, ("--items", "400", "--latency-ms", "20", "--rounds", "3"), True),
    "judge_faults": Short(60, ("--judgments", "400", "--worker", "--only", "errors"), True),
    "judge_kills": Short(60, ("--judgments", "400", "--kills", "3", "--latency", "0.2")),
    "exports": Short(45, ("--answers", "50000")),
    "imports": Short(30, ("1000", "5000")),
    "report": Short(60, ("1000",)),
    "statistics": Short(50),
    "verdicts": Short(40, ("100",)),
    "slow_clients": Short(50, ("0", "20", "100")),
    "local_models": Short(
        40, ("--model", "tiny", "--questions", "32", "--batch", "8", "--max-tokens", "16")
    ),
}


def main() -> int:
    parser = argparse.ArgumentParser(
        description="Run benchmarks and write what they print into docs/performance.md."
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(SHORT)}")
    parser.add_argument(
        "--long", action="store_true", help="the benchmarks' own defaults, without a time limit"
    )
    options = parser.parse_args()
    if unknown := [name for name in options.names if name not in SHORT]:
        parser.error(f"there is no benchmark “{unknown[0]}”; use {', '.join(SHORT)}")
    failed = [name for name in options.names or SHORT if not run(name, is_long=options.long)]
    if failed:
        sys.stderr.write(f"Not completed: {', '.join(failed)}.\n")
    return 1 if failed else 0


def run(name: str, *, is_long: bool) -> bool:
    """Run one benchmark and write its output into the page; False if it did not complete."""
    short = SHORT[name]
    sys.stdout.write(f"\n== {name}\n")
    sys.stdout.flush()
    load, start = os.getloadavg()[0], time.monotonic()
    with ExitStack() as stack:
        process = subprocess.Popen(  # noqa: S603
            [sys.executable, "-m", f"benchmarks.{name}", *(() if is_long else short.arguments)],
            cwd=ROOT,
            env=os.environ | _needs(name, short, stack),
            stdout=subprocess.PIPE,
            text=True,
        )
        limit = threading.Timer(short.seconds, _stop, [process])
        if not is_long:
            limit.start()
        output = _shown(process)
        limit.cancel()
    seconds = time.monotonic() - start
    if process.returncode:
        sys.stderr.write(f"{name} ended with {process.returncode} after {seconds:.0f} s.\n")
        return False
    about = (
        f"Measured on {datetime.now(UTC):%-d %B %Y} on {os.cpu_count()} cores, Python "
        f"{platform.python_version()}, in {seconds:.0f} s; load before the start {load:.1f}."
    )
    PAGE.write_text(written(PAGE.read_text("utf-8"), name, about, output), "utf-8")
    return True


def written(page: str, name: str, about: str, output: str) -> str:
    """The page with the output between the two comments of `name`, if it has them."""
    is_markdown = "| --- |" in output
    body = output.strip() if is_markdown else f"```\n{output.strip()}\n```"
    marked = re.compile(rf"(<!-- {name} -->\n).*?(<!-- end of {name} -->)", re.DOTALL)
    return marked.sub(lambda found: f"{found[1]}{about}\n\n{body}\n\n{found[2]}", page)


def _needs(name: str, short: Short, stack: ExitStack) -> dict[str, str]:
    """The variables that a benchmark needs besides this process's own."""
    needs = {}
    if short.on_servers:
        server = stack.enter_context(postgres())
        needs["DATABASE_URL"] = stack.enter_context(own_database(server))
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
