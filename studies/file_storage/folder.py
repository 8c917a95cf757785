"""Files in a folder: of this machine, or one that all machines of an installation share."""

import os
import shutil
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from socket import gethostname
from typing import Any

from django.conf import settings
from django.core.files.storage import FileSystemStorage

from studies.file_storage.storage import FilesStorage, draft_folder, folder_id


class FolderStorage(FilesStorage, FileSystemStorage):
    """Files below VAR_DIR. A folder of an owner appears and is replaced by one rename."""

    @property
    def base_location(self) -> str:  # not cached: tests change VAR_DIR
        return str(settings.VAR_DIR)

    @property
    def location(self) -> str:
        return os.path.abspath(self.base_location)

    def exists(self, name: str) -> bool:
        return os.path.isfile(self.path(name))

    def listing(self, folder: str) -> Iterator[tuple[str, int, float]]:
        return files_below(Path(self.path(folder)))

    def put_folder(self, folder: Path, name: str) -> None:
        target = self.path(name)
        os.makedirs(os.path.dirname(target), mode=0o700, exist_ok=True)
        shutil.rmtree(target, ignore_errors=True)
        os.rename(folder, target)

    def delete_folder(self, name: str) -> None:
        shutil.rmtree(self.path(name), ignore_errors=True)

    def shown(self, name: str) -> str:
        return str(self.path(name))

    def location_id(self) -> tuple[str, str]:
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

    @contextmanager
    def local(self, name: str) -> Iterator[Path]:
        yield Path(self.path(name))

    def _save(self, name: str, content: Any) -> str:
        target = Path(self.path(name))
        target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with draft_folder(name) as draft:
            with (draft / target.name).open("xb") as out:
                shutil.copyfileobj(content, out)
            os.replace(draft / target.name, target)
        return name


def files_below(top: Path) -> Iterator[tuple[str, int, float]]:
    """Each file below a folder: its path there, its bytes, and when it changed.

    One may be deleted while they are listed.
    """
    for path, _, names in os.walk(top):
        for name in names:
            with suppress(FileNotFoundError):
                status = os.lstat(file := os.path.join(path, name))
                if stat.S_ISREG(status.st_mode):
                    yield os.path.relpath(file, top), status.st_size, status.st_mtime
