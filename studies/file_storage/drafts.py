"""What killed processes leave behind."""

import shutil
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from django.conf import settings

from studies.file_storage.storage import files_storage

# A draft that nothing has written to for this long is deleted.
LEFTOVER_SECONDS = 86_400


def remove_drafts(*kinds: str) -> None:
    """Delete drafts of a day ago or earlier: in the storage, and of these kinds on this machine."""
    files_storage().remove_drafts(time.time() - LEFTOVER_SECONDS)
    for draft in old_drafts(kinds):
        shutil.rmtree(draft, ignore_errors=True)


def old_drafts(kinds: Iterable[str]) -> Iterator[Path]:
    """The drafts of these kinds on this machine that nothing has written to for a day."""
    before = time.time() - LEFTOVER_SECONDS
    for kind in kinds:
        for draft in (Path(settings.VAR_DIR) / kind).glob(".*"):
            with suppress(FileNotFoundError):  # its process has just ended
                if draft.lstat().st_mtime < before:
                    yield draft
