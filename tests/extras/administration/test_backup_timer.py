"""The timer that backs up every night, and the restore that the page describes."""

import re
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from tests.migrated import copy_migrated

ROOT = Path(__file__).resolve().parents[3]
BACKUP = ROOT / "deploy/systemd/thirdperson-backup.service"


@pytest.mark.sqlite
def test_the_backup_that_the_timer_makes_is_restored_as_the_page_says(tmp_path):
    """Each command as it stands, with the folders of this machine instead of those of a server."""
    data, backups, settings = tmp_path / "data", tmp_path / "backups", tmp_path / "env"
    folders = {
        "/opt/thirdperson/.venv/bin/python": sys.executable,
        ".venv/bin/python": sys.executable,
        "/var/lib/thirdperson": str(data),
        "/var/backups/thirdperson": str(backups),
        "/etc/thirdperson.env": str(settings),
        "postgresql:///thirdperson": f"sqlite:///{data}/thirdperson.sqlite3",
        "sudo --user thirdperson --preserve-env ": "",
        "--owner thirdperson ": "",
    }

    def here(text: str) -> str:
        names = "|".join(re.escape(name) for name in folders)
        return re.sub(names, lambda found: folders[found[0]], text)

    def follow(command: str) -> None:
        script = f"set -e; set -a; . {settings}; set +a; {here(command)}"
        subprocess.run(["bash", "-c", script], cwd=ROOT, check=True, capture_output=True)

    data.mkdir()
    copy_migrated(data)
    settings.write_text(here((ROOT / "deploy/thirdperson.env.example").read_text("utf-8")))
    page = (ROOT / "extras/administration/docs/backups.md").read_text("utf-8")
    made = re.search(r"^    (install --directory .*)", page, re.M)
    restored = re.search(r"^    (sudo .* --restore .*)", page, re.M)
    start = re.search(r"^ExecStart=/bin/sh -c '(.*)'$", BACKUP.read_text("utf-8"), re.M)

    follow(made[1])
    follow(start[1].replace("%%", "%"))
    (backup,) = backups.glob("*.zip")
    (data / "thirdperson.sqlite3").unlink()
    copy_migrated(data)
    follow(restored[1].replace("FILE.zip", backup.name))

    assert stat.S_IMODE(backups.stat().st_mode) == 0o700
