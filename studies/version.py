"""The version of this program: the number in pyproject.toml, and the commit if git knows it."""

import os
import shutil
import subprocess
import tomllib
from functools import cache
from pathlib import Path

_ROOT = Path(__file__).resolve().parents[1]


@cache
def version() -> str:
    """For example “0.1.0+g1a2b3c4d5e6f”. An image gets its commit from THIRDPERSON_COMMIT."""
    number = str(tomllib.loads((_ROOT / "pyproject.toml").read_text("utf-8"))["project"]["version"])
    commit = os.environ.get("THIRDPERSON_COMMIT", "")[:12] or _commit()
    return f"{number}+g{commit}" if commit else number


def _commit() -> str:
    git = shutil.which("git")
    if git is None or not (_ROOT / ".git").exists():
        return ""
    command = [git, "-C", str(_ROOT), "rev-parse", "--short=12", "HEAD"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
    return done.stdout.strip()
