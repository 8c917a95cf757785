"""Every test on real servers: `python -m tests.run [pytest arguments]`.

Two lanes run side by side, so that one works while the other waits. The first runs every test on
PostgreSQL with Redis, as production has it. The second starts the product's processes, once on each
pair of servers: SQLite with a broker in a folder, as `make run` has it, and PostgreSQL with Redis;
and then runs on SQLite the pages in Chromium and whatever a database can change.

A test that only computes from rows that builders wrote, by no page, command or service, is marked
`computed` and runs on SQLite alone, which takes a third less; with --all, on PostgreSQL.
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

from tests.migrated import TEMPLATE, copy_migrated, migrated_postgres
from tests.servers import NoServer, chromium, postgres, redis_broker

PARALLEL = ("-n", "auto", "--dist", "worksteal")
# Locks, constraints, raw SQL, migrations, and what is built on them.
DIFFERS_ON_SQLITE = (
    "tests/browser",
    "tests/config/test_broker.py",
    "tests/config/test_migrate.py",
    "tests/analysis/exports/test_queue.py",
    "tests/annotation/test_answers.py",
    "tests/annotation/test_drafts.py",
    "tests/annotation/test_quotas.py",
    "tests/annotation/test_seats.py",
    "tests/annotation/test_sqlite.py",
    "tests/judging/test_budgets.py",
    "tests/judging/test_rate_limit_coordination.py",
    "tests/judging/test_recovery.py",
    "tests/studies/jobs",
    "tests/studies/test_import_items.py",
)
# The same statements in other orders, and what `make test-fast` runs on SQLite: with --all.
ALSO_ON_SQLITE = (
    "tests/annotation/test_histories.py",
    "tests/analysis/data/test_dataset.py",
    "tests/analysis/data/test_aggregates.py",
    "tests/annotation/test_flow.py",
    "tests/annotation/test_group_places.py",
    "tests/annotation/test_import_annotations.py",
    "tests/judging/test_imports.py",
    "tests/judging/test_runs.py",
    "tests/studies/test_import_jobs.py",
    "tests/studies/test_sign_ins.py",
)
ROOT = Path(__file__).resolve().parent.parent
NEVER = "not gpu and not real and not live and not real_browsers"
# Each pass says which servers it uses. Compiled modules are kept whatever the caller prefers:
# the workers of all passes and a hundred processes import the same ones.
UNSET = {"DATABASE_URL", "CELERY_BROKER_URL", "PYTHONDONTWRITEBYTECODE"}


@dataclass(frozen=True)
class Pass:
    """One call of pytest: what it selects, and the servers it uses."""

    title: str
    select: str
    arguments: Sequence[str] = ()
    parallel: Sequence[str] = ()
    servers: dict[str, str] = field(default_factory=dict)

    def run(self, output: IO[bytes] | None = None) -> bool:
        """Whether it passed; its lines go to `output` or, without one, to the terminal."""
        started = time.monotonic()
        with tempfile.TemporaryDirectory(prefix="thirdperson-pass-") as folder:
            command = [sys.executable, "-m", "pytest", "-q", "--durations=10"]
            # Passes that run side by side must not write to the same cache.
            command += ["-o", f"cache_dir={folder}", "-m", f"{self.select} and {NEVER}"]
            command += [*self.arguments, *self.parallel, *sys.argv[1:]]
            kept = {name: value for name, value in os.environ.items() if name not in UNSET}
            code = subprocess.run(
                command, env=kept | self.servers, stdout=output, stderr=output, check=False
            ).returncode
        minutes, seconds = divmod(round(time.monotonic() - started), 60)
        _write(output, f"=== {self.title}: {minutes} min {seconds} s\n\n")
        return code == 0


def marked(mark: str, folder: str = "tests", *, without: str = "") -> list[str]:
    """The files with tests that have a mark: collecting all the others takes ten seconds."""
    files = sorted((ROOT / folder).rglob("test_*.py"))
    found = [file for file in files if f"pytest.mark.{mark}" in file.read_text("utf-8")]
    return [str(file) for file in found if file.name != without]


def end_to_end(*, without: str) -> list[str]:
    """Two of them go the whole way from items to a report.

    By default the demo does on SQLite, and a whole job on PostgreSQL, each `without` the other;
    with --all both do on both.
    """
    return marked("e2e", without="" if "--all" in sys.argv else without)


def on_postgres() -> str:
    """What the first lane selects."""
    every = "not sqlite and not e2e and not browser"
    return every if "--all" in sys.argv else f"{every} and not computed"


def on_sqlite() -> Sequence[str]:
    """The files with tests that need SQLite or may differ there.

    With --all also some others, and without it those that only compute.
    """
    more = ALSO_ON_SQLITE if "--all" in sys.argv else marked("computed")
    return [*DIFFERS_ON_SQLITE, *marked("sqlite"), *more]


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
                on_postgres(),
                parallel=PARALLEL,
                servers=servers,
            )
            second = [
                Pass(
                    "SQLite, end to end",
                    "not postgres and e2e",
                    end_to_end(without="test_whole_job.py"),
                    servers=browser,
                ),
                Pass(
                    "PostgreSQL and Redis, end to end",
                    "not sqlite and e2e",
                    end_to_end(without="test_demo.py"),
                    servers=apart,
                ),
                Pass(
                    "SQLite",
                    "not postgres and not e2e",
                    [*on_sqlite(), *marked("browser", "tests/extras")],
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
    return 0 if all(results) else 1


if __name__ == "__main__":
    raise SystemExit(main())
