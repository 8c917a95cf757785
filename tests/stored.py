"""Where the files of a row are on the disk, which tests look at and damage; where words are."""

import json
from collections.abc import Collection
from pathlib import Path

from django.apps import apps

from studies.file_storage.storage import Stored, files_storage


def path_of(stored: Stored) -> Path:
    return Path(files_storage().path(stored.path))


def everywhere(words: Collection[str], folder: Path) -> set[str]:
    """Where any of the words is: columns of all tables, files and their names."""
    found = set[str]()
    for model in apps.get_models(include_auto_created=True):
        for row in model._base_manager.values():
            text = json.dumps(row, default=str, ensure_ascii=False)
            found |= {f"{model._meta.label}: {word}" for word in words if word in text}
    for path in folder.rglob("*"):
        data = path.read_bytes() if path.is_file() else b""
        hits = {w for w in words if w.encode() in data or w in path.name}
        found |= {f"{path.relative_to(folder).parts[0]}: {word}" for word in hits}
    return found
