"""Every test on real servers: `python -m tests.run [pytest arguments]`.

PostgreSQL with Redis first, as production has it: every test but those of the next pass. Then
SQLite with a broker in a folder, as `make run` has it: pages in Chromium, and whatever a database
can change. End-to-end tests start the product's processes, once on each pair of servers.
"""

import os
import subprocess
import sys

from tests.servers import NoServer, chromium, postgres, redis_broker

# Tests also wait: one worker more than there are cores keeps these busy.
WORKERS = min(8, (os.cpu_count() or 1) + 1)
PARALLEL = ["-n", str(WORKERS), "--dist", "worksteal"]
TWO = ["-n", "2", "--dist", "worksteal"]
# Locks, constraints, raw SQL, migrations, and what is built on them.
DIFFERS_ON_SQLITE = [
    "tests/browser",
    "tests/config",
    "tests/analysis/test_dataset.py",
    "tests/analysis/test_migrations.py",
    "tests/analysis/exports/test_aggregates.py",
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
    "tests/judging/test_recovery.py",
    "tests/judging/test_runs.py",
    "tests/judging/test_rate_limit_coordination.py",
    "tests/studies/test_import_items.py",
    "tests/studies/test_import_jobs.py",
    "tests/studies/test_sign_ins.py",
]
NEVER = "not gpu and not live"
# Each pass says which servers it uses. Compiled modules are kept whatever the caller prefers:
# the workers of all passes and a hundred processes import the same ones.
UNSET = {"DATABASE_URL", "CELERY_BROKER_URL", "PYTHONDONTWRITEBYTECODE"}


def pytest(title: str, *arguments: str, **environment: str) -> bool:
    sys.stdout.write(f"\n=== {title}\n")
    sys.stdout.flush()
    command = [sys.executable, "-m", "pytest", "-q", "--durations=10", *arguments, *sys.argv[1:]]
    clean = {k: v for k, v in os.environ.items() if k not in UNSET}
    return subprocess.run(command, env={**clean, **environment}, check=False).returncode == 0


def main() -> int:
    try:
        browser = chromium()
        with postgres() as database, redis_broker() as broker:
            servers = {"DATABASE_URL": database, "CELERY_BROKER_URL": broker, "CHROMIUM": browser}
            ok = [
                pytest(
                    "PostgreSQL and Redis",
                    "-m",
                    f"not sqlite and not e2e and not browser and {NEVER}",
                    *PARALLEL,
                    **servers,
                ),
                pytest(
                    "SQLite",
                    "-m",
                    f"not postgres and not e2e and {NEVER}",
                    *DIFFERS_ON_SQLITE,
                    *PARALLEL,
                    CHROMIUM=browser,
                ),
                pytest(
                    "SQLite, end to end",
                    "-m",
                    f"not postgres and e2e and {NEVER}",
                    *TWO,
                    CHROMIUM=browser,
                ),
                pytest(
                    "PostgreSQL and Redis, end to end",
                    "-m",
                    f"not sqlite and e2e and {NEVER}",
                    **servers,
                ),
            ]
    except NoServer as error:
        sys.stderr.write(f"{error}\n")
        return 2
    return 0 if all(ok) else 1


if __name__ == "__main__":
    raise SystemExit(main())
