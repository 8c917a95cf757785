"""Every test on real servers: `python -m tests.run [pytest arguments]`.

SQLite with a broker in a folder first, as `make run` has it; then PostgreSQL with Redis, as
production has it. End-to-end tests start processes of their own: on SQLite two at a time, on
PostgreSQL, where they share the broker, one at a time.
"""

import os
import subprocess
import sys

from tests.servers import NoServer, chromium, postgres, redis_broker

# Tests also wait: one worker more than there are cores keeps these busy.
WORKERS = min(8, (os.cpu_count() or 1) + 1)
PARALLEL = ["-n", str(WORKERS), "--dist", "worksteal"]
TWO = ["-n", "2", "--dist", "worksteal"]
# What no database can change: statistics, readers of data sets, and what a report makes of the
# rows that were read.
PURE = [
    "--ignore=tests/test_conventions.py",
    "--ignore=tests/analysis/stats",
    "--ignore=tests/analysis/replication",
    "--ignore-glob=tests/analysis/test_report_*",
    "--ignore=tests/studies/sets",
    "--ignore=tests/demo",
]
# Each pass says which servers it uses. Compiled modules are kept whatever the caller prefers:
# the workers of four passes and a hundred processes import the same ones.
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
            first, second = "not postgres and not gpu and not live", "not sqlite"
            ok = [
                pytest("SQLite", "-m", f"{first} and not e2e", *PARALLEL, CHROMIUM=browser),
                pytest("SQLite, end to end", "-m", f"{first} and e2e", *TWO, CHROMIUM=browser),
                pytest(
                    "PostgreSQL and Redis",
                    "-m",
                    f"{second} and not e2e and not slow and not browser and not gpu and not live",
                    *PURE,
                    *PARALLEL,
                    **servers,
                ),
                pytest("PostgreSQL and Redis, end to end", "-m", f"{second} and e2e", **servers),
            ]
    except NoServer as error:
        sys.stderr.write(f"{error}\n")
        return 2
    return 0 if all(ok) else 1


if __name__ == "__main__":
    raise SystemExit(main())
