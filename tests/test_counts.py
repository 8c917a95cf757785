"""A request, a report and a start cost what `tests/counts.toml` says, which changes on purpose."""

import json
import os
import platform
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
COUNTS = tomllib.loads((ROOT / "tests/counts.toml").read_text("utf-8"))
# Other versions of Python have another library, which calls other functions.
SHARE = 0.03 if platform.python_version().startswith(COUNTS["python"]) else 0.2
TOLERANCES = {"statements": 0, "calls": SHARE, "modules": SHARE}


@pytest.mark.slow
@pytest.mark.sqlite
@pytest.mark.parametrize("kind", ["setup", "requests", "report"])
def test_costs_are_those_that_were_written_down(kind):
    of_servers = {"DATABASE_URL", "CELERY_BROKER_URL", "MIGRATED_DATABASE"}
    environment = {name: value for name, value in os.environ.items() if name not in of_servers}
    done = subprocess.run(
        [sys.executable, "-m", "tests.counted", kind],
        cwd=ROOT,
        env=environment | {"PYTHONHASHSEED": "0", "LOG_LEVEL": "ERROR"},
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    )
    found = json.loads(done.stdout)

    assert set(found) == set(COUNTS[kind])
    for name, counts in found.items():
        expected = COUNTS[kind][name]
        wrong = {
            what: counts[what]
            for what, share in TOLERANCES.items()
            if abs(counts[what] - expected[what]) > share * expected[what]
        }
        assert not wrong, (
            f"{name} costs {wrong}, but tests/counts.toml says {expected}. Find out why. If it is "
            "worth it, write the new numbers there and the reason into the commit."
        )
