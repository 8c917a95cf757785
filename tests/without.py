"""Whether an extra can be deleted: `python -m tests.without NAME… [-- pytest arguments]`.

For each extra it copies the tracked files, deletes the extra's folder and its tests, and
runs Django's checks, the search for missing migrations, the import directions and the tests.
Without a name it does so for every extra.
"""

import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Collection, Sequence
from pathlib import Path

import extras

ROOT = Path(__file__).resolve().parent.parent
# What `make test-fast` leaves out needs servers, and whole jobs.
USUAL = (
    *("-q", "-n", "2", "--dist", "worksteal", "-m"),
    "not slow and not server and not browser and not e2e and not postgres and not gpu and not real "
    "and not live",
)


def copy_without(names: Collection[str], folder: Path) -> None:
    """The tracked files of this checkout in `folder`, without the extras with these names."""
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    deleted = tuple(f"{start}extras/{name}/" for name in names for start in ("", "tests/"))
    for path in filter(None, listed.stdout.split("\0")):
        if not path.startswith(deleted) and (ROOT / path).exists():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / path, folder / path)


def passes(what: str, names: Collection[str], arguments: Sequence[str]) -> bool:
    """Whether all passes without these extras; each step is printed with its seconds."""
    python = sys.executable
    steps = {
        "checks": [python, "manage.py", "check"],
        "migrations": [python, "manage.py", "makemigrations", "--check", "--dry-run"],
        "directions": [str(Path(python).with_name("lint-imports"))],
        "tests": [python, "-m", "pytest", *(arguments or USUAL)],
    }
    with tempfile.TemporaryDirectory() as folder:
        copy_without(names, Path(folder))
        for step, command in steps.items():
            began = time.monotonic()
            ended = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
            state, seconds = "failed" if ended.returncode else "passed", time.monotonic() - began
            sys.stdout.write(f"{what}: {step} {state}, {seconds:.0f} s\n")
            if ended.returncode:
                sys.stdout.write(ended.stdout[-4000:] + ended.stderr[-2000:])
                return False
    return True


if __name__ == "__main__":
    names, _, after = " ".join(sys.argv[1:]).partition("--")
    chosen = names.split() or extras.NAMES
    results = [passes(f"without {name}", [name], after.split()) for name in chosen]
    sys.exit(not all(results))
