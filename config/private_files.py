"""Files that only the user who runs the program may read."""

import logging
import os
import stat
from pathlib import Path

logger = logging.getLogger(__name__)

_OTHERS = stat.S_IRWXG | stat.S_IRWXO


def create_privately() -> None:
    """Create files and folders without permissions for other users from now on."""
    os.umask(0o077)


def close(path: Path) -> None:
    """Remove other users' permissions on a file or folder; skip files of other owners."""
    try:
        mode = path.lstat().st_mode
        if mode & _OTHERS and not stat.S_ISLNK(mode):
            path.chmod(stat.S_IMODE(mode) & ~_OTHERS)
    except OSError as error:
        logger.warning("%s: other users' rights could not be removed: %s", path, error.strerror)


def close_below(folder: Path) -> None:
    """Close a folder and everything in it."""
    close(folder)
    for parent, folders, files in os.walk(folder):
        for name in (*folders, *files):
            close(Path(parent) / name)
