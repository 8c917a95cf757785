"""Files of one row, wherever the storage keeps them."""

import io
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, cast

from django.core.files import File

from studies.file_storage.storage import draft_folder, files_storage


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
        """A private folder of this machine whose files become those of this one at the end.

        If the block raises, nothing changes.
        """
        with draft_folder(self.path) as draft:
            yield draft
            files_storage().put_folder(draft, self.path)

    @contextmanager
    def local(self) -> Iterator[Path]:
        """The files as a folder of this machine, for readers that need one; it is not written to.

        The storage in a folder gives the folder itself, the others a copy.
        """
        with files_storage().local(self.path) as folder:
            yield folder

    def copy_to(self, target: "Stored") -> None:
        files_storage().copy_folder(self.path, target.path)

    def delete(self) -> None:
        """Delete everything below this folder; a second call changes nothing."""
        files_storage().delete_folder(self.path)
