"""Copies of generated files from one storage to another."""

import shutil
from collections.abc import Iterator

from django.utils.module_loading import import_string

from config.env import files
from config.operations.stored_files import is_deleted, is_named, kept_in
from studies.file_storage.storage import FilesStorage, draft_folder, files_storage


class CopyError(Exception):
    """The files cannot be copied; the message says why."""


def copy_from(value: str) -> int:
    """Copy every file that a row names from the storage `value`; returns how many.

    Nothing is deleted in the other storage, and copying again is harmless. Raises `CopyError`.
    """
    source, target = _storage(value), files_storage()
    if source.location_id() == target.location_id():
        raise CopyError(
            f"Files are in {source.location_id()[1]} already. Set FILES to the new storage first."
        )
    return sum(_copy(source, target, name) for name in _kept(source))


def _kept(source: FilesStorage) -> Iterator[str]:
    for kind in kept_in():
        for owner in source.owners(kind):
            if is_named(kind, owner) and not is_deleted(kind, owner):
                yield f"{kind}/{owner}"


def _storage(value: str) -> FilesStorage:
    try:
        found = files(value)
    except ValueError as error:
        raise CopyError(f"--copy-from {error}") from None
    storage: FilesStorage = import_string(found["BACKEND"])(**found.get("OPTIONS", {}))
    return storage


def _copy(source: FilesStorage, target: FilesStorage, name: str) -> int:
    with source.local(name) as folder, draft_folder(name) as draft:
        shutil.copytree(folder, draft, dirs_exist_ok=True)
        target.put_folder(draft, name)
    paths = source.files(name)
    for path in paths:
        if source.sha256(f"{name}/{path}") != target.sha256(f"{name}/{path}"):
            raise CopyError(f"{target.shown(f'{name}/{path}')} is not what was copied. Try again.")
    return len(paths)


def totals() -> Iterator[tuple[str, int, int]]:
    """Each kind of files with its bytes and number."""
    for kind in kept_in():
        yield kind, *files_storage().usage(kind)
