"""What this program needs of a storage in addition to Django's interface.

Names are `kind/owner/path`: the kind of files, the public id of the row that they belong to, and
the path of one file, for example `reports/4f…/tables/items.csv`. A file has its name only when it
is complete.
"""

import hashlib
import os
import shutil
import tempfile
import time
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import cast

from django.conf import settings
from django.core.files.storage import Storage, storages

# A draft that nothing has written to for this long is deleted.
LEFTOVER_SECONDS = 86_400


class StorageUnreachable(OSError):
    """The server that keeps the files does not answer, or refuses."""


class FilesStorage(Storage, ABC):
    """A Django storage that also reads, replaces and deletes the files of one owner together."""

    @abstractmethod
    def listing(self, folder: str) -> Iterator[tuple[str, int, float]]:
        """Each file below a folder: its path there, its bytes, and when it changed."""

    @abstractmethod
    def put_folder(self, folder: Path, name: str) -> None:
        """Move the files of a folder of this machine to `kind/owner`, replacing what was there."""

    @abstractmethod
    def delete_folder(self, name: str) -> None:
        """Delete all files below a folder; nothing happens if there are none."""

    @abstractmethod
    def shown(self, name: str) -> str:
        """Where a file or folder is, for people."""

    @abstractmethod
    def location_id(self) -> tuple[str, str]:
        """What tells this storage from others, and how people call it."""

    @abstractmethod
    def exchanged(self, folder: Path, kinds: Iterable[str]) -> AbstractContextManager[None]:
        """Exchange all files of these kinds for those of a draft folder of VAR_DIR.

        It is entered in the transaction of the rows and left after its end. If that failed, the
        files are those from before.
        """

    def files(self, folder: str) -> list[str]:
        """The paths of all files below a folder, relative to it, sorted."""
        return sorted(path for path, _, _ in self.listing(folder))

    def owners(self, kind: str) -> dict[str, float]:
        """The owners of files of a kind, sorted, with the time stamp of the last change."""
        found: dict[str, float] = {}
        for path, _, changed_at in self.listing(kind):
            owner = path.partition("/")[0]
            if not owner.startswith("."):  # a draft
                found[owner] = max(found.get(owner, 0.0), changed_at)
        return dict(sorted(found.items()))

    def usage(self, kind: str) -> tuple[int, int]:
        """Bytes and number of the files of a kind."""
        sizes = [size for _, size, _ in self.listing(kind)]
        return sum(sizes), len(sizes)

    def sha256(self, name: str) -> str:
        with self.open(name) as file:
            return hashlib.file_digest(file, "sha256").hexdigest()

    def copy_folder(self, source: str, target: str) -> None:
        """Give `target` the files of `source`; both are `kind/owner`."""
        with self.local(source) as folder, draft_folder(target) as draft:
            shutil.copytree(folder, draft, copy_function=_link, dirs_exist_ok=True)
            self.put_folder(draft, target)

    @contextmanager
    def local(self, name: str) -> Iterator[Path]:
        """A folder of this machine with the files of `kind/owner`, to be read only."""
        with draft_folder(name) as draft:
            for path in self.files(name):
                target = draft / path
                target.parent.mkdir(parents=True, exist_ok=True)
                with self.open(f"{name}/{path}") as source, target.open("wb") as out:
                    shutil.copyfileobj(source, out)
            yield draft

    def get_available_name(self, name: str, max_length: int | None = None) -> str:
        """The name itself: a new file replaces an old one."""
        return name


def files_storage() -> FilesStorage:
    return cast(FilesStorage, storages["files"])


def _link(source: str, target: str) -> None:
    """Let two files share their space, because neither ever changes."""
    try:
        os.link(source, target)
    except OSError:  # a file system without such links
        shutil.copyfile(source, target)


@contextmanager
def draft_folder(name: str) -> Iterator[Path]:
    """A private folder for files that become `kind/owner`, on the disk of a storage in a folder.

    A killed process leaves it behind; its name begins with a dot, and `remove_drafts` finds it.
    """
    kind, owner = name.split("/")[:2]
    parent = Path(settings.VAR_DIR) / kind
    parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    draft = Path(tempfile.mkdtemp(prefix=f".{owner}.", dir=parent))
    try:
        yield draft
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def old_drafts(kinds: Iterable[str]) -> Iterator[Path]:
    """The drafts of these kinds on this machine that nothing has written to for a day."""
    before = time.time() - LEFTOVER_SECONDS
    for kind in kinds:
        for draft in (Path(settings.VAR_DIR) / kind).glob(".*"):
            with suppress(FileNotFoundError):  # its process has just ended
                if draft.lstat().st_mtime < before:
                    yield draft


def remove_drafts(*kinds: str) -> None:
    """Delete the drafts of these kinds that killed processes left on this machine."""
    for draft in old_drafts(kinds):
        shutil.rmtree(draft, ignore_errors=True)
