"""What this program needs from a storage in addition to Django's interface.

Names are `kind/owner/path`: the kind of files, the public id of the row that they belong to, and
the path of one file, for example `reports/4f…/tables/items.csv`. A file has its name only when it
is complete.

A folder keeps an id in a file, which tells a folder that two machines share from two folders with
the same path. The database stores the id that the first process saw.
"""

import contextlib
import hashlib
import io
import os
import shutil
import tempfile
import time
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, cast

from django.conf import settings
from django.core.files import File
from django.core.files.storage import Storage, storages
from django.db import transaction

from studies.models.installation import FilesLocation
from studies.models.keys import random_id
from studies.statements import clock

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
        """An id of this storage, and a name for people."""

    @abstractmethod
    def exchanged(self, folder: Path, kinds: Iterable[str]) -> AbstractContextManager[None]:
        """Replace all files of these kinds by those of a draft folder of VAR_DIR.

        Enter it inside the transaction of the rows and leave it afterwards. If the transaction
        fails, the old files stay.
        """

    def files(self, folder: str) -> list[str]:
        """The paths of all files below a folder, relative to it, sorted."""
        return sorted(path for path, _, _ in self.listing(folder))

    def owners(self, kind: str) -> dict[str, float]:
        """The owners of files of a kind, sorted, with the time stamp of the last change."""
        ages: dict[str, float] = {}
        for path, _, changed_at in self.listing(kind):
            owner = path.partition("/")[0]
            if not owner.startswith("."):  # a draft
                ages[owner] = max(ages.get(owner, 0.0), changed_at)
        return dict(sorted(ages.items()))

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


_ID_FILE = "files_id"


def folder_id(folder: Path) -> str:
    """The id of a folder of files, created once; it moves with the folder."""
    path = folder / _ID_FILE
    with contextlib.suppress(FileNotFoundError):
        return path.read_text("ascii")
    draft = path.with_name(f"{_ID_FILE}.{os.getpid()}")
    try:
        draft.write_text(random_id(22), encoding="ascii")
        try:
            os.link(draft, path)
        except FileExistsError:
            pass  # another process was faster: its id counts
        except OSError:  # a file system without such links
            os.rename(draft, path)
    finally:
        draft.unlink(missing_ok=True)  # also of a full disk, where every process would leave one
    return path.read_text("ascii")


def note_location() -> str:
    """Store where this process keeps files, unless another did; return what is wrong, if anything.

    Raises `DatabaseError` if the database does not answer or lacks migrations.
    """
    FilesLocation.objects.get_or_create(id=1, defaults=_own())
    return wrong_location()


def wrong_location() -> str:
    """An error sentence if this process would keep files elsewhere than the installation does."""
    own = _own()
    noted = FilesLocation.objects.first()
    if noted is None or noted.location == own["location"]:
        return ""
    return (
        f"This process keeps files in {own['shown']}, but the installation keeps them in "
        f"{noted.shown}. All processes need the same storage: let the machines share that folder, "
        "or set FILES to a bucket on all of them (docs/deployment.md, Several "
        "machines). If you moved the folder or restored it, run: manage.py files --adopt"
    )


@transaction.atomic
def adopt_location() -> str:
    """Make the storage of this process that of the installation; returns where it is."""
    own = _own()
    FilesLocation.objects.update_or_create(id=1, defaults={**own, "noted_at": clock.now()})
    return own["shown"]


def _own() -> dict[str, str]:
    location, words = files_storage().location_id()
    return {"location": location, "shown": words}


@dataclass(frozen=True)
class Stored:
    """A folder or a file in the storage, by its name; it need not exist.

    The folder of a row is `Stored("reports/ID")`, and its files are `folder / "report.html"`, as
    with `pathlib.Path`, whose names the methods have.
    """

    path: str

    def __truediv__(self, name: str) -> "Stored":
        return Stored(f"{self.path}/{name}")

    def __str__(self) -> str:
        return files_storage().shown(self.path)

    @property
    def name(self) -> str:
        return self.path.rpartition("/")[2]

    def open(self) -> IO[bytes]:
        """The content, seekable; the caller closes it. Raises `FileNotFoundError`."""
        return cast(IO[bytes], files_storage().open(self.path))

    def read_bytes(self) -> bytes:
        with self.open() as file:
            return file.read()

    def read_text(self) -> str:
        return self.read_bytes().decode("utf-8")

    def is_file(self) -> bool:
        return files_storage().exists(self.path)

    def size(self) -> int:
        """Bytes. Raises `FileNotFoundError`."""
        return files_storage().size(self.path)

    def sha256(self) -> str:
        return files_storage().sha256(self.path)

    def files(self) -> "list[Stored]":
        """All files below this folder, sorted by name."""
        return [self / path for path in files_storage().files(self.path)]

    def save(self, content: bytes | IO[bytes]) -> None:
        """Store a file under this name; it replaces an old one when it is complete."""
        stream = io.BytesIO(content) if isinstance(content, bytes) else content
        files_storage().save(self.path, File(stream))

    @contextmanager
    def replacing(self) -> Iterator[Path]:
        """A private folder of this machine, whose files replace those of this one at the end.

        If the block raises, nothing changes.
        """
        with draft_folder(self.path) as draft:
            yield draft
            files_storage().put_folder(draft, self.path)

    @contextmanager
    def local(self) -> Iterator[Path]:
        """The files as a read-only folder of this machine, for readers that need one.

        The storage in a folder gives the folder itself, the others a copy.
        """
        with files_storage().local(self.path) as folder:
            yield folder

    def copy_to(self, target: "Stored") -> None:
        files_storage().copy_folder(self.path, target.path)

    def delete(self) -> None:
        """Delete everything below this folder; a second call changes nothing."""
        files_storage().delete_folder(self.path)
