"""Where the files of a row are on the disk, which tests look at and damage."""

from pathlib import Path

from studies.file_storage.storage import Stored, files_storage


def path_of(stored: Stored) -> Path:
    return Path(files_storage().path(stored.path))
