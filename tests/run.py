"""Every test on real servers: `python -m tests.run [pytest arguments]`.

Two lanes run side by side, so that one works while the other waits. The first runs every test on
PostgreSQL with Redis, as production has it. The second starts the product's processes, once on each
pair of servers: SQLite with a broker in a folder, as `make run` has it, and PostgreSQL with Redis;
and then runs on SQLite the pages in Chromium and whatever a database can change.

A few tests that fail are run once more, alone, because a busy machine can make a test fail. Those
that pass then are listed at the end with their first failure.
"""

import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO
from urllib.parse import urlsplit, urlunsplit
from xml.etree import ElementTree

import pytest

from tests.migrated import TEMPLATE, copy_migrated, migrated_postgres
from tests.servers import NoServer, chromium, postgres, redis_broker

PARALLEL = ("-n", "auto", "--dist", "worksteal")
# Locks, constraints, raw SQL, migrations, and what is built on them.
DIFFERS_ON_SQLITE = (
    "tests/browser",
    "tests/config/test_broker.py",
    "tests/config/test_migrate.py",
    "tests/analysis/data/test_dataset.py",
    "tests/analysis/models/test_migrations.py",
    "tests/analysis/data/test_aggregates.py",
    "tests/analysis/exports/test_queue.py",
    "tests/annotation/test_answers.py",
    "tests/annotation/test_drafts.py",
    "tests/annotation/test_flow.py",
    "tests/annotation/test_group_places.py",
    "tests/annotation/test_histories.py",
    "tests/annotation/test_import_annotations.py",
    "tests/annotation/test_quotas.py",
    "tests/annotation/test_seats.py",
    "tests/annotation/test_sqlite.py",
    "tests/judging/test_budgets.py",
    "tests/judging/test_imports.py",
    "tests/judging/test_rate_limit_coordination.py",
    "tests/judging/test_recovery.py",
    "tests/judging/test_runs.py",
    "tests/studies/jobs",
    "tests/studies/test_import_items.py",
    "tests/studies/test_import_jobs.py",
    "tests/studies/test_sign_ins.py",
)
ROOT = Path(__file__).resolve().parent.parent
NEVER = "not gpu and not live and not real_browsers"
REPORT = "report.xml"
# Each pass says which servers it uses. Compiled modules are kept whatever the caller prefers:
# the workers of all passes and a hundred processes import the same ones.
UNSET = {"DATABASE_URL", "CELERY_BROKER_URL", "PYTHONDONTWRITEBYTECODE"}
# Timing makes one test fail, or two. When more fail, running them again would only take time.
FEW = 10


@dataclass(frozen=True)
class Result:
    """How a pass ended, and the first failures of tests that passed when they were tried again."""

    ok: bool
    tried_again: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Pass:
    """One call of pytest: what it selects, and the servers it uses."""

    title: str
    select: str
    arguments: Sequence[str] = ()
    parallel: Sequence[str] = ()
    servers: dict[str, str] = field(default_factory=dict)

    def run(self, output: IO[bytes] | None = None) -> Result:
        """Run it, with its lines in `output` or, without one, on the terminal."""
        started = time.monotonic()
        with tempfile.TemporaryDirectory(prefix="thirdperson-pass-") as folder:
            code = self._pytest(Path(folder), output, *self.parallel)
            failed = failures(Path(folder, REPORT))
            if code == pytest.ExitCode.TESTS_FAILED and 0 < len(failed) <= FEW:
                _write(output, f"=== {self.title}: {len(failed)} failed; once more, alone\n")
                code = self._pytest(Path(folder), output, "--last-failed")
            else:
                failed = {}
        minutes, seconds = divmod(round(time.monotonic() - started), 60)
        _write(output, f"=== {self.title}: {minutes} min {seconds} s\n\n")
        return Result(ok=True, tried_again=failed) if code == 0 else Result(ok=False)

    def _pytest(self, folder: Path, output: IO[bytes] | None, *arguments: str) -> int:
        command = [sys.executable, "-m", "pytest", "-q", "--durations=10"]
        # Passes that run side by side must not forget each other's failures.
        command += ["-o", f"cache_dir={folder}", f"--junitxml={folder / REPORT}"]
        command += ["-m", f"{self.select} and {NEVER}", *self.arguments, *arguments, *sys.argv[1:]]
        kept = {name: value for name, value in os.environ.items() if name not in UNSET}
        environment = kept | self.servers
        return subprocess.run(
            command, env=environment, stdout=output, stderr=output, check=False
        ).returncode


def failures(report: Path) -> dict[str, str]:
    """What failed, by test, in a report of pytest in the format of JUnit."""
    if not report.exists():
        return {}
    return {
        f"{case.get('classname')}::{case.get('name')}": fault.text or ""
        for case in ElementTree.parse(report).iter("testcase")
        for fault in case
        if fault.tag in ("failure", "error")
    }


def marked_end_to_end(*, without: str = "") -> list[str]:
    """The files with end-to-end tests: collecting all the others takes ten seconds.

    Two of them go the whole way from items to a report: by default the demo does on SQLite, and a
    whole job on PostgreSQL, each `without` the other; with --all both on both.
    """
    files = sorted((ROOT / "tests").rglob("test_*.py"))
    marked = [file for file in files if "pytest.mark.e2e" in file.read_text("utf-8")]
    return [str(file) for file in marked if file.name != without or "--all" in sys.argv]


def prepare() -> None:
    """What workers would otherwise each do for themselves, done while PostgreSQL makes its tables.

    On a new clone pytest rewrites and compiles every file of tests; SQLite needs tables as well.
    """
    environment = {name: value for name, value in os.environ.items() if name not in UNSET}
    collect = [sys.executable, "-m", "pytest", "-q", "--collect-only", "-p", "no:cacheprovider"]
    with tempfile.TemporaryDirectory() as folder, open(os.devnull, "wb") as nothing:
        compiling = None
        if not any((ROOT / "tests" / "__pycache__").glob("test_*-pytest-*.pyc")):
            compiling = subprocess.Popen(collect, env=environment, stdout=nothing, stderr=nothing)
        copy_migrated(Path(folder))
        if compiling:
            compiling.wait()


def _write(output: IO[bytes] | None, text: str) -> None:
    (output or sys.stdout.buffer).write(text.encode())
    (output or sys.stdout.buffer).flush()


def warning(tried_again: dict[str, str]) -> str:
    """What to say about tests that failed first and passed then."""
    faults = [f"--- {name}\n{text[-4000:]}\n" for name, text in tried_again.items()]
    return "\n".join(
        [
            f"=== PASSED ONLY WHEN TRIED AGAIN: {len(tried_again)}. A busy machine can do that,",
            "and so can a fault that shows now and then. Make the test wait for what it needs.",
            *faults,
        ]
    )


def next_redis_database(url: str) -> str:
    """Another database of the same Redis: end-to-end tests empty theirs."""
    parts = urlsplit(url)
    number = int(parts.path.strip("/") or 0)
    return urlunsplit(parts._replace(path=f"/{number - 1 if number else 1}"))


def main() -> int:
    # Who stops a run, stops its servers, which then delete their folders.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    try:
        browser = {"CHROMIUM": chromium()}
        with ThreadPoolExecutor(1) as meanwhile, ExitStack() as started:
            preparing = meanwhile.submit(prepare)
            database = started.enter_context(postgres())
            broker = started.enter_context(redis_broker())
            migrated = started.enter_context(migrated_postgres(database))
            preparing.result()
            servers = {"DATABASE_URL": database, "CELERY_BROKER_URL": broker, **browser}
            servers[TEMPLATE] = migrated
            apart = servers | {"CELERY_BROKER_URL": next_redis_database(broker)}
            first = Pass(
                "PostgreSQL and Redis",
                "not sqlite and not e2e and not browser",
                parallel=PARALLEL,
                servers=servers,
            )
            second = [
                Pass(
                    "SQLite, end to end",
                    "not postgres and e2e",
                    marked_end_to_end(without="test_whole_job.py"),
                    servers=browser,
                ),
                Pass(
                    "PostgreSQL and Redis, end to end",
                    "not sqlite and e2e",
                    marked_end_to_end(without="test_demo.py"),
                    servers=apart,
                ),
                Pass(
                    "SQLite",
                    "not postgres and not e2e",
                    DIFFERS_ON_SQLITE,
                    parallel=PARALLEL,
                    servers=browser,
                ),
            ]
            # The second lane's lines come after those of the first, never between them.
            with tempfile.TemporaryFile() as output, ThreadPoolExecutor(1) as lane:
                other = lane.submit(lambda: [one.run(output) for one in second])
                results = [first.run(), *other.result()]
                output.seek(0)
                shutil.copyfileobj(output, sys.stdout.buffer)
    except NoServer as error:
        sys.stderr.write(f"{error}\n")
        return 2
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    sys.stdout.write(f"\n{used.ru_utime + used.ru_stime:.0f} seconds of computing in all\n")
    tried_again = {name: text for one in results for name, text in one.tried_again.items()}
    if tried_again:
        sys.stdout.write(f"\n{warning(tried_again)}\n")
    return 0 if all(one.ok for one in results) else 1


if __name__ == "__main__":
    raise SystemExit(main())
