"""The tests that kill processes, break connections and let many do the same thing at one moment.

    python -m benchmarks.fault_tests                     every group
    python -m benchmarks.fault_tests --only backups      some groups

Prints how many tests of each group passed. On PostgreSQL where DATABASE_URL names one, otherwise on
SQLite, which has no row locks: tests of those are then not counted.
"""

import argparse
import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SQLITE = "sqlite"  # these tests bring their own database
# Name -> what happens in these tests, and the files that they are in.
GROUPS: dict[str, tuple[str, tuple[str, ...]]] = {
    "arrivals": (
        "annotators who arrive, answer, leave and return at the same moment",
        ("tests/annotation/test_seats.py", "tests/annotation/test_quotas.py"),
    ),
    "judging": (
        "workers of judges that are killed, also within a budget and between steps",
        (
            "tests/judging/test_budget_kill.py",
            "tests/judging/test_recovery_thread.py",
            "tests/judging/test_steps.py",
        ),
    ),
    "limits": (
        "limits of a model server that several workers share",
        ("tests/judging/test_rate_limit_coordination.py",),
    ),
    "jobs": (
        "reports, exports and imports whose worker dies",
        ("tests/studies/jobs", "tests/analysis/exports/test_queue.py"),
    ),
    SQLITE: (
        "people in three processes that write to one SQLite database",
        ("tests/annotation/test_sqlite.py",),
    ),
    "clients": (
        "slow clients and malformed requests",
        ("tests/config/test_slow_clients.py", "tests/config/test_hostile_requests.py"),
    ),
    "programs": (
        "programs that send the same request many times at once",
        ("tests/api/test_simultaneous.py", "tests/api/test_idempotency.py"),
    ),
    "backups": (
        "lost databases and files, interrupted backups, planted corruptions",
        (
            "tests/extras/administration/test_backups.py",
            "tests/extras/administration/doctor/test_doctor.py",
        ),
    ),
    "uploads": (
        "uploads to archives that break off",
        ("tests/extras/publication/test_publication.py",),
    ),
}


def main() -> int:
    parser = argparse.ArgumentParser(description="Run the tests of faults and kills.")
    parser.add_argument("--only", action="append", default=[], choices=GROUPS, metavar="GROUP")
    options = parser.parse_args()
    lines = [
        "| what happens | database | passed | failed | skipped |",
        "| --- | --- | --- | --- | --- |",
    ]
    failed = 0
    for name in options.only or GROUPS:
        what, paths = GROUPS[name]
        on_postgres = "DATABASE_URL" in os.environ and name != SQLITE
        counts = _run(paths, on_postgres=on_postgres)
        database = "PostgreSQL" if on_postgres else "SQLite"
        failed += counts["failed"]
        cells = (what, database, *(f"{counts[key]}" for key in ("passed", "failed", "skipped")))
        lines.append(f"| {' | '.join(cells)} |")
        sys.stderr.write(f"{name} done\n")
    sys.stdout.write("\n".join(lines) + "\n")
    return 1 if failed else 0


def _run(paths: tuple[str, ...], *, on_postgres: bool) -> dict[str, int]:
    """How many tests passed, failed and were skipped."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    command += ["-m", "not sqlite" if on_postgres else "not postgres"]
    environment = {
        key: value for key, value in os.environ.items() if on_postgres or key != "DATABASE_URL"
    }
    done = subprocess.run(  # noqa: S603
        [*command, *paths], cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    found = {key: _count(done.stdout, key) for key in ("passed", "failed", "skipped", "error")}
    found["failed"] += found.pop("error")
    if not any(found.values()):
        sys.stderr.write(done.stdout[-2000:] + done.stderr[-2000:])
        found["failed"] = 1
    return found


def _count(output: str, what: str) -> int:
    """A number of pytest's last line, such as 12 passed."""
    last = output.strip().rpartition("\n")[2]
    found = re.search(rf"(\d+) {what}", last)
    return int(found[1]) if found else 0


if __name__ == "__main__":
    sys.exit(main())
