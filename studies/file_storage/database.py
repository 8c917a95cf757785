"""Files in the database: rows of blocks, for installations whose machines share no folder."""

import datetime as dt
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from django.db import IntegrityError, transaction
from django.db.models import Count, Max, QuerySet, Sum

from studies.file_storage.block_reader import read_blocks
from studies.file_storage.storage import FilesStorage, blocks, owned_folders, split
from studies.models.installation import StoredBlock, StoredFile
from studies.models.keys import random_id

# The size of every block but the last of a file. It cannot change while files are stored.
BLOCK_BYTES = 512 * 1024
_AT_ONCE = 2 * BLOCK_BYTES  # in one transaction
_FILES_AT_ONCE = 500
_TRIES = 10


class DatabaseStorage(FilesStorage):
    """Files as rows. They are written as drafts without a kind, and get their names together."""

    def reader(self, name: str) -> IO[bytes]:
        found = _rows(name).values_list("pk", "size").first()
        if found is None:
            raise FileNotFoundError(f"{name} is not in the database")
        pk, size = found

        def block(number: int) -> bytes:
            data = StoredBlock.objects.filter(file=pk, number=number).values_list("data", flat=True)
            try:
                return bytes(data.get())
            except StoredBlock.DoesNotExist:
                raise OSError(f"{name} was deleted while it was read") from None

        return read_blocks(size, BLOCK_BYTES, block)

    def is_file(self, name: str) -> bool:
        return _rows(name).exists()

    exists = is_file

    def size(self, name: str) -> int:
        size = _rows(name).values_list("size", flat=True).first()
        if size is None:
            raise FileNotFoundError(f"{name} is not in the database")
        return size

    def files(self, folder: str) -> list[str]:
        kind, owner, *below = folder.split("/", 2)
        paths = _owned(kind, owner).values_list("path", flat=True)
        start = f"{below[0]}/" if below else ""
        # Not by SQL: LIKE of SQLite does not distinguish capital letters.
        return sorted(path.removeprefix(start) for path in paths if path.startswith(start))

    def owners(self, kind: str) -> dict[str, float]:
        found = StoredFile.objects.filter(kind=kind).values_list("owner")
        changed = dict(found.annotate(at=Max("created_at")).order_by())
        return {owner: changed[owner].timestamp() for owner in sorted(changed)}

    def usage(self, kind: str) -> tuple[int, int]:
        found = StoredFile.objects.filter(kind=kind)
        total = found.aggregate(bytes=Sum("size", default=0), files=Count("pk"))
        return total["bytes"], total["files"]

    def shown(self, name: str) -> str:
        return f"{name} in the database"

    def location_id(self) -> tuple[str, str]:
        return "database", "the database"

    @contextmanager
    def exchanged(self, folder: Path, kinds: Iterable[str]) -> Iterator[None]:
        """All in the transaction of the rows, which undoes it if it fails."""
        kinds = list(kinds)
        _delete(StoredFile.objects.filter(kind__in=kinds))
        for name in owned_folders(folder, kinds):
            self.put_folder(folder / name, name)
        yield

    def put_folder(self, folder: Path, name: str) -> None:
        kind, owner, *_ = name.split("/")
        paths = sorted(path for path in folder.rglob("*") if path.is_file())
        draft = _draft_name()
        rows = StoredFile.objects.bulk_create(
            [
                StoredFile(
                    owner=draft,
                    path=path.relative_to(folder).as_posix(),
                    size=path.stat().st_size,
                )
                for path in paths
            ],
            batch_size=_FILES_AT_ONCE,
        )
        _write(_blocks_of(zip(rows, paths, strict=True)))
        with transaction.atomic():
            _delete(_owned(kind, owner))
            _owned("", draft).update(kind=kind, owner=owner)
        shutil.rmtree(folder, ignore_errors=True)

    def copy_folder(self, source: str, target: str) -> None:
        draft = _draft_name()
        for old in _owned(*source.split("/")):
            new = StoredFile.objects.create(owner=draft, path=old.path, size=old.size)
            data = old.blocks.order_by("number").values_list("number", "data")
            _write(StoredBlock(file=new, number=n, data=b) for n, b in data.iterator(2))
        kind, owner = target.split("/")
        _owned("", draft).update(kind=kind, owner=owner)

    def delete(self, name: str) -> None:
        _delete(_rows(name))

    def delete_folder(self, name: str) -> None:
        _delete(_owned(*name.split("/")))

    def remove_drafts(self, before: float) -> None:
        day = dt.datetime.fromtimestamp(before, tz=dt.UTC)
        _delete(StoredFile.objects.filter(kind="", created_at__lt=day))

    def _save(self, name: str, content: Any) -> str:
        kind, owner, path = split(name)
        row = StoredFile.objects.create(owner=_draft_name(), path=path)
        size = 0

        def counted() -> Iterator[StoredBlock]:
            nonlocal size
            for number, data in enumerate(blocks(content, BLOCK_BYTES)):
                size += len(data)
                yield StoredBlock(file=row, number=number, data=data)

        _write(counted())
        for tries in range(1, _TRIES + 1):
            try:
                self._name(row, kind, owner, size)
                break
            except IntegrityError:  # another process has just stored the same file
                if tries == _TRIES:
                    raise
        return name

    @transaction.atomic
    def _name(self, row: StoredFile, kind: str, owner: str, size: int) -> None:
        _delete(_owned(kind, owner).filter(path=row.path))
        StoredFile.objects.filter(pk=row.pk).update(kind=kind, owner=owner, size=size)


def _rows(name: str) -> QuerySet[StoredFile]:
    kind, owner, path = split(name)
    return _owned(kind, owner).filter(path=path)


def _owned(kind: str, owner: str) -> QuerySet[StoredFile]:
    return StoredFile.objects.filter(kind=kind, owner=owner)


def _draft_name() -> str:
    return f".{random_id(22)}"


def _blocks_of(files: Any) -> Iterator[StoredBlock]:
    for row, path in files:
        with path.open("rb") as file:
            for number, data in enumerate(blocks(file, BLOCK_BYTES)):
                yield StoredBlock(file=row, number=number, data=data)


def _write(found: Iterator[StoredBlock]) -> None:
    """Insert blocks, many small or few large ones at once: memory stays flat, and commits few."""
    some: list[StoredBlock] = []
    size = 0
    for block in found:
        some.append(block)
        size += len(block.data)
        if size >= _AT_ONCE or len(some) == _FILES_AT_ONCE:
            StoredBlock.objects.bulk_create(some)
            some, size = [], 0
    if some:
        StoredBlock.objects.bulk_create(some)


@transaction.atomic
def _delete(rows: QuerySet[StoredFile]) -> None:
    """Delete files and their blocks without loading a row.

    By their ids: the same condition may find the file of another process in the second statement.
    """
    ids = list(rows.values_list("pk", flat=True))
    for start in range(0, len(ids), _FILES_AT_ONCE):
        some = ids[start : start + _FILES_AT_ONCE]
        for found in (
            StoredBlock.objects.filter(file__in=some),
            StoredFile.objects.filter(pk__in=some),
        ):
            found.delete()
