"""Generated files by the kind of their rows, and copying them elsewhere."""

import shutil
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

from django.utils.module_loading import import_string

from analysis.models import Export, Report
from config.env import files
from studies.extra import Kind
from studies.file_storage.storage import FilesStorage, Stored, draft_folder, files_storage
from studies.jobs.models import Job
from studies.models import ImportJob, Upload


class FileWithSum(NamedTuple):
    """A file of a study, and the SHA-256 that its content must have."""

    stored: Stored
    sha256: str
    study: str


@dataclass(frozen=True)
class KindOfFiles:
    """A kind of files, its folder, and the tables whose public ids name the owners of files.

    `sums`: those files whose content a row names.
    """

    name: str
    title: str
    tables: tuple[type[Any], ...]
    sums: Callable[[], Iterable[FileWithSum]] = tuple


OWN: tuple[KindOfFiles, ...] = (
    KindOfFiles("reports", "Reports", (Report,)),
    KindOfFiles("exports", "Exports", (Export,)),
    KindOfFiles("imports", "Uploaded files of imports", (ImportJob, Upload)),
)
KINDS: Kind[KindOfFiles] = Kind("files", "kinds")
# The files of a row in one of these states are deleted.
_WITHOUT_FILES = (Job.State.FAILED, Job.State.GONE)


def kinds_of_files() -> list[KindOfFiles]:
    """The kinds of the core and of extras."""
    return list(KINDS)


def kept_in() -> dict[str, tuple[type[Any], ...]]:
    """The tables of each kind."""
    return {kind.name: kind.tables for kind in kinds_of_files()}


def kept_files() -> Iterator[Stored]:
    """The files that rows name, sorted by name."""
    for name in _kept_folders(files_storage()):
        yield from Stored(name).files()


def _kept_folders(storage: FilesStorage) -> Iterator[str]:
    for kind in kept_in():
        for owner in storage.owners(kind):
            if is_named(kind, owner) and not is_deleted(kind, owner):
                yield f"{kind}/{owner}"


def is_named(kind: str, public_id: str) -> bool:
    """Whether a row has these files."""
    rows = (table._default_manager.filter(public_id=public_id) for table in kept_in()[kind])
    return any(queryset.exists() for queryset in rows)


def is_deleted(kind: str, public_id: str) -> bool:
    """Whether a row says that its files are deleted."""
    jobs: list[Any] = [table for table in kept_in()[kind] if issubclass(table, Job)]
    rows = (t._default_manager.filter(public_id=public_id, state__in=_WITHOUT_FILES) for t in jobs)
    return any(queryset.exists() for queryset in rows)


class CopyError(Exception):
    """The files cannot be copied; the message says why."""


def copy_from(value: str) -> int:
    """Copy every file that a row names from the storage `value`; returns how many.

    Nothing is deleted in the other storage, and copying again is harmless. Raises `CopyError`.
    """
    source, target = _storage(value), files_storage()
    if source.location_id() == target.location_id():
        raise CopyError(
            f"Files are already in {source.location_id()[1]}. Set FILES to the new storage first."
        )
    return sum(_copy(source, target, name) for name in _kept_folders(source))


def _storage(value: str) -> FilesStorage:
    try:
        names = files(value)
    except ValueError as error:
        raise CopyError(f"--copy-from {error}") from None
    storage: FilesStorage = import_string(names["BACKEND"])(**names.get("OPTIONS", {}))
    return storage


def _copy(source: FilesStorage, target: FilesStorage, name: str) -> int:
    with source.local(name) as folder, draft_folder(name) as draft:
        shutil.copytree(folder, draft, dirs_exist_ok=True)
        target.put_folder(draft, name)
    paths = source.files(name)
    for path in paths:
        if source.sha256(f"{name}/{path}") != target.sha256(f"{name}/{path}"):
            raise CopyError(
                f"{target.shown(f'{name}/{path}')} differs from the original. Try again."
            )
    return len(paths)


def totals() -> Iterator[tuple[str, int, int]]:
    """Bytes and number of files by kind."""
    for kind in kept_in():
        yield kind, *files_storage().usage(kind)
