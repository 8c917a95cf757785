"""Every test on real servers: `python -m tests.run [pytest arguments]`.

Two lanes run side by side, because end-to-end tests mostly wait. One runs every test on PostgreSQL
with Redis, as production has it, and then on SQLite the pages in Chromium and whatever a database
can change. The other starts the product's processes, once on each pair of servers: SQLite with a
broker in a folder, as `make run` has it, and PostgreSQL with Redis.
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
from dataclasses import dataclass, field
from typing import IO
from urllib.parse import urlsplit, urlunsplit

from tests.migrated import TEMPLATE, migrated_postgres
from tests.servers import NoServer, chromium, postgres, redis_broker

PARALLEL = ("-n", "auto", "--dist", "worksteal")
# Locks, constraints, raw SQL, migrations, and what is built on them.
DIFFERS_ON_SQLITE = (
    "tests/browser",
    "tests/config/test_broker.py",
    "tests/config/test_migrate.py",
    "tests/config/test_startup.py",
    "tests/analysis/data/test_dataset.py",
    "tests/analysis/models/test_migrations.py",
    "tests/analysis/data/test_aggregates.py",
    "tests/analysis/exports/test_queue.py",
    "tests/annotation/prolific/test_whole_life.py",
    "tests/annotation/test_answers.py",
    "tests/annotation/test_drafts.py",
    "tests/annotation/test_flow.py",
    "tests/annotation/test_group_places.py",
    "tests/annotation/test_histories.py",
    "tests/annotation/test_import_annotations.py",
    "tests/annotation/test_quotas.py",
    "tests/annotation/test_seats.py",
    "tests/annotation/test_sqlite.py",
    "tests/judging/test_batches.py",
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
NEVER = "not gpu and not live"
# Each pass says which servers it uses. Compiled modules are kept whatever the caller prefers:
# the workers of all passes and a hundred processes import the same ones.
UNSET = {"DATABASE_URL", "CELERY_BROKER_URL", "PYTHONDONTWRITEBYTECODE"}


@dataclass(frozen=True)
class Pass:
    """One call of pytest: what it selects, and the servers it uses."""

    title: str
    select: str
    arguments: Sequence[str] = ()
    servers: dict[str, str] = field(default_factory=dict)

    def run(self, output: IO[bytes] | None = None) -> bool:
        """Run it, with its lines in `output` or, without one, on the terminal."""
        command = [sys.executable, "-m", "pytest", "-q", "--durations=10"]
        command += ["-m", f"{self.select} and {NEVER}", *self.arguments, *sys.argv[1:]]
        kept = {name: value for name, value in os.environ.items() if name not in UNSET}
        started = time.monotonic()
        environment = kept | self.servers
        done = subprocess.run(command, env=environment, stdout=output, stderr=output, check=False)
        minutes, seconds = divmod(round(time.monotonic() - started), 60)
        ending = f"=== {self.title}: {minutes} min {seconds} s\n\n"
        (output or sys.stdout.buffer).write(ending.encode())
        (output or sys.stdout.buffer).flush()
        return done.returncode == 0


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
        with (
            postgres() as database,
            redis_broker() as broker,
            migrated_postgres(database) as migrated,
        ):
            servers = {"DATABASE_URL": database, "CELERY_BROKER_URL": broker, **browser}
            servers[TEMPLATE] = migrated
            # What the demo does is the same on both, so by default it runs on SQLite alone.
            rest = () if "--all" in sys.argv else ("--ignore=tests/e2e/test_demo.py",)
            apart = servers | {"CELERY_BROKER_URL": next_redis_database(broker)}
            tests = [
                Pass(
                    "PostgreSQL and Redis",
                    "not sqlite and not e2e and not browser",
                    PARALLEL,
                    servers,
                ),
                Pass(
                    "SQLite",
                    "not postgres and not e2e",
                    (*DIFFERS_ON_SQLITE, *PARALLEL),
                    browser,
                ),
            ]
            processes = [
                Pass("SQLite, end to end", "not postgres and e2e", servers=browser),
                Pass("PostgreSQL and Redis, end to end", "not sqlite and e2e", rest, apart),
            ]
            # The second lane's lines come after those of the first, never between them.
            with tempfile.TemporaryFile() as output, ThreadPoolExecutor(1) as lane:
                other = lane.submit(lambda: [one.run(output) for one in processes])
                ok = [one.run() for one in tests]
                ok += other.result()
                output.seek(0)
                shutil.copyfileobj(output, sys.stdout.buffer)
    except NoServer as error:
        sys.stderr.write(f"{error}\n")
        return 2
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    sys.stdout.write(f"\n{used.ru_utime + used.ru_stime:.0f} seconds of computing in all\n")
    return 0 if all(ok) else 1


if __name__ == "__main__":
    raise SystemExit(main())
