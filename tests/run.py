"""Every test on real servers: `python -m tests.run [pytest arguments]`.

Every test runs on SQLite, which takes half of the time. On PostgreSQL with Redis, as production has
them, run whatever a database can change, and a fixed tenth of the others that use a database; with
--all, all of them.
The product's processes are started once on each pair of servers: SQLite with a broker in a folder,
as `make run` has it, and PostgreSQL with Redis.

Each pass is a process of pytest with files of its own, so that no two collect the same ones. One
more runs at a time than there are cores: one works while another waits.
"""

import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field
from itertools import accumulate
from pathlib import Path
from threading import Lock
from urllib.parse import urlsplit, urlunsplit

import pytest

from tests.migrated import DATABASE_OF_TESTS, TEMPLATE, copy_migrated, migrated_postgres
from tests.servers import NoServer, chromium, postgres, redis_broker

AT_ONCE = min(8, os.cpu_count() or 1) + 1
# Locks, constraints, raw SQL, migrations, and what is built on them: whole on both databases.
DIFFERS = (
    "tests/config/test_broker.py",
    "tests/config/test_migrate.py",
    "tests/analysis/exports/test_queue.py",
    "tests/annotation/test_answers.py",
    "tests/annotation/test_drafts.py",
    "tests/annotation/test_quotas.py",
    "tests/annotation/test_seats.py",
    "tests/judging/test_budgets.py",
    "tests/judging/test_rate_limit_coordination.py",
    "tests/judging/test_recovery.py",
    "tests/studies/jobs",
    "tests/studies/test_import_items.py",
)
# Of the others, one in so many also runs on PostgreSQL.
SAMPLE = 10
ROOT = Path(__file__).resolve().parent.parent
EXAMPLES = ["analysis/stats", *map(str, sorted(ROOT.glob("extras/*/stats")))]
NEVER = "not gpu and not real and not live and not real_browsers"
# Each pass says which servers it uses. Compiled modules are kept whatever the caller prefers:
# the workers of all passes and a hundred processes import the same ones.
UNSET = {"DATABASE_URL", "CELERY_BROKER_URL", "PYTHONDONTWRITEBYTECODE"}
NO_TESTS = int(pytest.ExitCode.NO_TESTS_COLLECTED)
_writing = Lock()


@dataclass(frozen=True)
class Pass:
    """One call of pytest: what it selects, and the servers it uses."""

    title: str
    select: str
    arguments: Sequence[str] = ()
    servers: dict[str, str] = field(default_factory=dict)

    def run(self) -> int:
        """The exit code of pytest; the lines of a pass are written together at its end."""
        started = time.monotonic()
        with tempfile.TemporaryDirectory(prefix="thirdperson_pass_") as folder:
            command = [sys.executable, "-m", "pytest", "-q", "--durations=10"]
            # Passes that run side by side must not write to the same cache.
            command += ["-o", f"cache_dir={folder}", "-m", f"{self.select} and {NEVER}"]
            command += [*self.arguments, *sys.argv[1:]]
            kept = {name: value for name, value in os.environ.items() if name not in UNSET}
            output = Path(folder, "output")
            with output.open("wb") as file:
                process = subprocess.Popen(
                    command,
                    env=kept | self.servers | {DATABASE_OF_TESTS: f"test_{Path(folder).name}"},
                    stdout=file,
                    stderr=subprocess.STDOUT,
                )
                # By the system's own call, which also says how much the process has computed.
                _, status, used = os.wait4(process.pid, 0)
                process.returncode = os.waitstatus_to_exitcode(status)
            printed = output.read_bytes()
        minutes, seconds = divmod(round(time.monotonic() - started), 60)
        computed = f"{used.ru_utime + used.ru_stime:.0f} s of computing"
        end = f"=== {self.title}: {minutes} min {seconds} s, {computed}\n\n"
        with _writing:
            sys.stdout.buffer.write(printed + end.encode())
            sys.stdout.buffer.flush()
        return process.returncode


def in_parts(
    title: str, select: str, files: Sequence[str], number: int, servers: dict[str, str]
) -> Iterator[Pass]:
    """So many passes with about the same amount of files, neighbours together.

    Neighbours often share what a fixture builds once for a process.
    """
    sizes = [Path(file).stat().st_size for file in files]
    shares = [number * before // sum(sizes) for before in accumulate([0, *sizes[:-1]])]
    for part in range(number):
        chosen = [file for file, share in zip(files, shares, strict=True) if share == part]
        yield Pass(f"{title}, {part + 1} of {number}", select, chosen, servers)


def files_in(*paths: str) -> list[str]:
    """The files of tests that are, or lie in, these paths."""
    folders = [ROOT / path for path in paths]
    return [
        str(file)
        for folder in folders
        for file in (sorted(folder.rglob("test_*.py")) if folder.is_dir() else [folder])
    ]


def marked(mark: str, *without: str) -> list[str]:
    """The files with tests that have a mark: collecting all the others takes ten seconds."""
    found = [file for file in files_in("tests") if f"pytest.mark.{mark}" in Path(file).read_text()]
    return [file for file in found if Path(file).name not in without]


def end_to_end(*without: str) -> list[str]:
    """By default each goes on one of the databases only, `without` these files on the other."""
    return marked("e2e", *(() if "--all" in sys.argv else without))


def next_redis_database(url: str) -> str:
    """Another database of the same Redis: end-to-end tests empty theirs."""
    parts = urlsplit(url)
    number = int(parts.path.strip("/") or 0)
    return urlunsplit(parts._replace(path=f"/{number - 1 if number else 1}"))


def passes(browser: dict[str, str], servers: dict[str, str]) -> list[Pass]:
    """Those that take longest or wait most come first, so that all end together."""
    apart = servers | {"CELERY_BROKER_URL": next_redis_database(servers["CELERY_BROKER_URL"])}
    pages = marked("browser")
    files = [file for file in files_in("tests") if "/browser/" not in file]
    differs = files_in(*DIFFERS)
    others = [file for file in files if file not in differs]
    small = "not e2e and not browser"
    title = "PostgreSQL and Redis"
    chosen = f"not sqlite and {small}"
    if "--all" in sys.argv:
        every = list(in_parts(title, chosen, others, AT_ONCE, servers))
    else:
        # In one process: several would each import most of the modules for few tests.
        arguments = [*others, f"--one-in={SAMPLE}"]
        every = [Pass(f"One in {SAMPLE} on {title}", chosen, arguments, servers)]
    return [
        Pass(
            "SQLite, end to end",
            "not postgres and e2e",
            end_to_end("test_whole_job.py", "test_crash.py"),
            browser,
        ),
        Pass(
            "PostgreSQL and Redis, end to end",
            "not sqlite and e2e",
            end_to_end("test_demo.py"),
            apart,
        ),
        *in_parts("Chromium", "browser and not e2e", pages, AT_ONCE, browser),
        Pass(
            "PostgreSQL and Redis, what differs there",
            chosen,
            differs,
            servers,
        ),
        *every,
        *in_parts("SQLite", f"not postgres and {small}", files, AT_ONCE + 1, browser),
        Pass("Examples in the code", "not e2e", EXAMPLES, browser),
    ]


def main() -> int:
    # Who stops a run, stops its servers, which then delete their folders.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    try:
        browser = {"CHROMIUM": chromium()}
        with (
            ThreadPoolExecutor(AT_ONCE) as at_once,
            ExitStack() as started,
            tempfile.TemporaryDirectory() as folder,
        ):
            # SQLite gets its tables meanwhile; every pass copies them.
            preparing = at_once.submit(copy_migrated, Path(folder))
            database = started.enter_context(postgres())
            broker = started.enter_context(redis_broker())
            servers = {"DATABASE_URL": database, "CELERY_BROKER_URL": broker, **browser}
            servers[TEMPLATE] = started.enter_context(migrated_postgres(database))
            preparing.result()
            codes = set(at_once.map(Pass.run, passes(browser, servers)))
    except NoServer as error:
        sys.stderr.write(f"{error}\n")
        return 2
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    sys.stdout.write(f"\n{used.ru_utime + used.ru_stime:.0f} seconds of computing in all\n")
    # Options of the caller may leave some of the passes without a test, but not all.
    return 0 if 0 in codes and codes <= {0, NO_TESTS} else 1


if __name__ == "__main__":
    raise SystemExit(main())
