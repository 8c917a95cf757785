"""Every test on real servers: `python -m tests.run [pytest arguments]`.

SQLite with a broker in a folder first, as `make run` has it; then PostgreSQL with Redis, as
production has it. End-to-end tests start processes of their own, so they run one at a time.
"""

import os
import subprocess
import sys

from tests.servers import NoServer, chromium, postgres, redis_broker

PARALLEL = ["-n", "2", "--dist", "loadfile"]


def pytest(title: str, *arguments: str, **environment: str) -> bool:
    sys.stdout.write(f"\n=== {title}\n")
    sys.stdout.flush()
    command = [sys.executable, "-m", "pytest", "-q", *arguments, *sys.argv[1:]]
    clean = {k: v for k, v in os.environ.items() if k not in {"DATABASE_URL", "CELERY_BROKER_URL"}}
    return subprocess.run(command, env={**clean, **environment}, check=False).returncode == 0


def main() -> int:
    try:
        browser = chromium()
        with postgres() as database, redis_broker() as broker:
            servers = {"DATABASE_URL": database, "CELERY_BROKER_URL": broker, "CHROMIUM": browser}
            local = "not postgres and not gpu and not live"
            ok = [
                pytest("SQLite", "-m", f"{local} and not e2e", *PARALLEL, CHROMIUM=browser),
                pytest("SQLite, end to end", "-m", f"{local} and e2e", CHROMIUM=browser),
                pytest(
                    "PostgreSQL and Redis",
                    "-m",
                    "not e2e and not slow and not browser and not gpu and not live",
                    "--ignore=tests/analysis/stats",  # pure: no database, one pass is enough
                    *PARALLEL,
                    **servers,
                ),
                pytest("PostgreSQL and Redis, end to end", "-m", "e2e", **servers),
            ]
    except NoServer as error:
        sys.stderr.write(f"{error}\n")
        return 2
    return 0 if all(ok) else 1


if __name__ == "__main__":
    raise SystemExit(main())
