"""What this program needs of a storage in addition to Django's interface.

Names are `kind/owner/path`: the kind of files, the public id of the row that they belong to, and
the path of one file, for example `reports/4f…/tables/items.csv`. A file has its name only when it
is complete.
"""

import hashlib
import shutil
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import IO, Any, cast

from django.conf import settings
from django.core.files import File
from django.core.files.storage import Storage, storages

_BLOCK = 1024 * 1024


class StorageUnreachable(OSError):
    """The server that keeps the files does not answer, or refuses."""


class FilesStorage(Storage, ABC):
    """A Django storage that also reads, replaces and deletes the files of one owner together."""

    @abstractmethod
    def reader(self, name: str) -> IO[bytes]:
        """The content of a file, seekable. Raises `FileNotFoundError`."""

    @abstractmethod
    def is_file(self, name: str) -> bool:
        """Whether a file has this name."""

    def sha256(self, name: str) -> str:
        digest = hashlib.sha256()
        with self.reader(name) as file:
            for block in blocks(file):
                digest.update(block)
        return digest.hexdigest()

    @abstractmethod
    def files(self, folder: str) -> list[str]:
        """The paths of all files below a folder, relative to it, sorted."""

    @abstractmethod
    def owners(self, kind: str) -> dict[str, float]:
        """The owners of files of a kind, sorted, with the time stamp of the last change."""

    @abstractmethod
    def put_folder(self, folder: Path, name: str) -> None:
        """Move the files of a folder of this machine to `kind/owner`, replacing what was there."""

    @abstractmethod
    def delete_folder(self, name: str) -> None:
        """Delete all files below a folder; nothing happens if there are none."""

    @abstractmethod
    def usage(self, kind: str) -> tuple[int, int]:
        """Bytes and number of the files of a kind."""

    def copy_folder(self, source: str, target: str) -> None:
        """Give `target` the files of `source`; both are `kind/owner`."""
        with self.local(source) as folder, draft_folder(target) as draft:
            shutil.copytree(folder, draft, dirs_exist_ok=True)
            self.put_folder(draft, target)

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

    def remove_drafts(self, before: float) -> None:
        """Delete what killed processes left in the storage before a time stamp."""

    @contextmanager
    def local(self, name: str) -> Iterator[Path]:
        """A folder of this machine with the files of `kind/owner`, to be read only."""
        with draft_folder(name) as draft:
            for path in self.files(name):
                target = draft / path
                target.parent.mkdir(parents=True, exist_ok=True)
                with self.reader(f"{name}/{path}") as source, target.open("wb") as out:
                    shutil.copyfileobj(source, out, _BLOCK)
            yield draft

    def _open(self, name: str, mode: str = "rb") -> "File[bytes]":
        return File(self.reader(name), name)

    def get_available_name(self, name: str, max_length: int | None = None) -> str:
        """The name itself: a new file replaces an old one."""
        return name


def files_storage() -> FilesStorage:
    return cast(FilesStorage, storages["files"])


@contextmanager
def draft_folder(name: str) -> Iterator[Path]:
    """A private folder for files that become `kind/owner`, on the disk of a storage in a folder.

    A killed process leaves it behind; its name begins with a dot, and `remove_drafts` finds it.
    """
    kind, _, owner = name.partition("/")
    parent = Path(settings.VAR_DIR) / kind
    parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    draft = Path(tempfile.mkdtemp(prefix=f".{owner}.", dir=parent))
    try:
        yield draft
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def owned_folders(folder: Path, kinds: Iterable[str]) -> Iterator[str]:
    """The names `kind/owner` of the files in a folder."""
    for kind in kinds:
        if (folder / kind).is_dir():
            yield from (f"{kind}/{path.name}" for path in sorted((folder / kind).iterdir()))


def split(name: str) -> tuple[str, str, str]:
    """The kind, the owner and the path of a file."""
    kind, owner, path = name.split("/", 2)
    return kind, owner, path


def blocks(content: IO[bytes] | Any, size: int = _BLOCK) -> Iterator[bytes]:
    while block := content.read(size):
        yield block
