"""A migrated SQLite database, made once for each state of the migrations and then copied."""

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import django

ROOT = Path(__file__).resolve().parent.parent
NAME = "thirdperson.sqlite3"


def copy_migrated(folder: Path) -> None:
    """Put an empty, migrated database where processes with `VAR_DIR=folder` look for it."""
    content = hashlib.sha256(f"{django.VERSION}".encode())
    for path in sorted(ROOT.glob("*/migrations/*.py")):
        content.update(path.read_bytes())
    stored = Path(tempfile.gettempdir()) / f"thirdperson-{content.hexdigest()[:20]}.sqlite3"
    if not stored.exists():
        _migrate(stored)
    shutil.copy(stored, folder / NAME)


def _migrate(target: Path) -> None:
    """Move the database to `target` when it is complete: others may be waiting for it."""
    with tempfile.TemporaryDirectory(dir=target.parent) as folder:
        environment = os.environ | {
            "DATABASE_URL": "",
            "VAR_DIR": folder,
            "DJANGO_SETTINGS_MODULE": "config.settings.dev",
        }
        command = [sys.executable, "-m", "config.migrate"]
        subprocess.run(command, cwd=ROOT, env=environment, check=True)
        Path(folder, NAME).replace(target)
