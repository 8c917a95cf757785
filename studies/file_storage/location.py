"""Whether every process of the installation keeps its files in the same place.

A folder has an id in a file of its own, so that two folders with one path on two machines are told
apart, and one folder that they share is not. The database has the id of the first process.
"""

import contextlib
import os
from pathlib import Path

from django.db import transaction

from studies.file_storage.storage import files_storage
from studies.models.installation import FilesLocation
from studies.models.keys import random_id
from studies.statements import clock

_ID_FILE = "files_id"


def folder_id(folder: Path) -> str:
    """The id of a folder of files, made once; it moves with the folder."""
    path = folder / _ID_FILE
    with contextlib.suppress(FileNotFoundError):
        return path.read_text("ascii")
    draft = path.with_name(f"{_ID_FILE}.{os.getpid()}")
    draft.write_text(random_id(22), encoding="ascii")
    try:
        os.link(draft, path)
    except FileExistsError:
        pass  # another process was faster, and its id counts
    except OSError:  # a file system without such links
        os.rename(draft, path)
    draft.unlink(missing_ok=True)
    return path.read_text("ascii")


def note_location() -> str:
    """Note where this process keeps files, unless another did; returns what is wrong, or nothing.

    Raises `DatabaseError` if the database does not answer or lacks migrations.
    """
    FilesLocation.objects.get_or_create(id=1, defaults=_own())
    return wrong_location()


def wrong_location() -> str:
    """A sentence if this installation keeps its files elsewhere than this process would."""
    own = _own()
    noted = FilesLocation.objects.first()
    if noted is None or noted.location == own["location"]:
        return ""
    return (
        f"This process keeps files in {own['shown']}, but the installation keeps them in "
        f"{noted.shown}. All processes need the same storage: let the machines share that folder, "
        "or set FILES to database or to a bucket on all of them (docs/deployment.md, Several "
        "machines). If you moved the folder or restored it, run: manage.py files --adopt"
    )


@transaction.atomic
def adopt_location() -> str:
    """Make the storage of this process that of the installation; returns where it is."""
    own = _own()
    FilesLocation.objects.update_or_create(id=1, defaults={**own, "noted_at": clock.now()})
    return own["shown"]


def _own() -> dict[str, str]:
    location, shown = files_storage().location_id()
    return {"location": location, "shown": shown}
