"""Files in a folder: of this machine, or one that all machines of an installation share."""

import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from socket import gethostname
from typing import IO, Any

from django.conf import settings
from django.core.files.storage import FileSystemStorage

from studies.file_storage.storage import FilesStorage, blocks


class FolderStorage(FilesStorage, FileSystemStorage):
    """Files below VAR_DIR. A folder of an owner appears and is replaced by one rename."""

    @property
    def base_location(self) -> str:  # not cached: tests change VAR_DIR
        return str(settings.VAR_DIR)

    @property
    def location(self) -> str:
        return os.path.abspath(self.base_location)

    def reader(self, name: str) -> IO[bytes]:
        return open(self.path(name), "rb")

    def is_file(self, name: str) -> bool:
        return os.path.isfile(self.path(name))

    def files(self, folder: str) -> list[str]:
        top = Path(self.path(folder))
        found = (path for path in top.rglob("*") if path.is_file() and not path.is_symlink())
        return sorted(path.relative_to(top).as_posix() for path in found)

    def owners(self, kind: str) -> dict[str, float]:
        found = {}
        with suppress(FileNotFoundError), os.scandir(self.path(kind)) as entries:
            for entry in entries:
                if not entry.name.startswith("."):
                    found[entry.name] = entry.stat(follow_symlinks=False).st_mtime
        return dict(sorted(found.items()))

    def put_folder(self, folder: Path, name: str) -> None:
        target = self.path(name)
        os.makedirs(os.path.dirname(target), mode=0o700, exist_ok=True)
        shutil.rmtree(target, ignore_errors=True)
        os.rename(folder, target)

    def delete_folder(self, name: str) -> None:
        shutil.rmtree(self.path(name), ignore_errors=True)

    def usage(self, kind: str) -> tuple[int, int]:
        return size_of(Path(self.path(kind)))

    def shown(self, name: str) -> str:
        return str(self.path(name))

    def location_id(self) -> tuple[str, str]:
        from studies.file_storage.location import folder_id

        return f"folder {folder_id(Path(self.location))}", f"{self.location} on {gethostname()}"

    @contextmanager
    def exchanged(self, folder: Path, kinds: Iterable[str]) -> Iterator[None]:
        old, moved = folder.with_name("old"), []
        old.mkdir()
        try:
            for kind in kinds:
                current = self.path(kind)
                for source, target in ((current, old / kind), (folder / kind, current)):
                    if os.path.exists(source):
                        os.replace(source, target)
                        moved.append((target, source))
            yield
        except BaseException:
            for now, before in reversed(moved):
                os.replace(now, before)
            raise

    def copy_folder(self, source: str, target: str) -> None:
        folder, new = Path(self.path(source)), Path(self.path(target))
        new.mkdir(mode=0o700, parents=True)
        for path in folder.iterdir():
            try:
                os.link(path, new / path.name)
            except OSError:  # a file system without such links
                shutil.copy(path, new / path.name)

    @contextmanager
    def local(self, name: str) -> Iterator[Path]:
        yield Path(self.path(name))

    def _save(self, name: str, content: Any) -> str:
        target = Path(self.path(name))
        target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        number, draft = tempfile.mkstemp(prefix=".", dir=target.parent)
        try:
            with os.fdopen(number, "wb") as out:
                for block in blocks(content):
                    out.write(block)
            os.replace(draft, target)
        except BaseException:
            os.unlink(draft)
            raise
        return name


def size_of(folder: Path) -> tuple[int, int]:
    """Bytes and number of the files in a folder; one may be deleted while they are counted."""
    total = count = 0
    for path, _, names in os.walk(folder):
        for name in names:
            with suppress(FileNotFoundError):
                total += os.stat(os.path.join(path, name)).st_size
                count += 1
    return total, count
