"""Generated files, by the kinds of rows that they belong to."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from analysis.models import Export, Report
from studies.additions import Additions
from studies.file_storage.storage import files_storage
from studies.file_storage.stored import Stored
from studies.jobs.models import Job
from studies.models import ImportJob, MediaFile, Upload


@dataclass(frozen=True)
class KindOfFiles:
    """A kind of files, its folder, and the tables whose public ids name the owners of files."""

    name: str
    title: str
    tables: tuple[type[Any], ...]


_OWN = [
    KindOfFiles("reports", "Reports", (Report,)),
    KindOfFiles("exports", "Exports", (Export,)),
    KindOfFiles("media", "Pictures and sounds of items", (MediaFile,)),
    KindOfFiles("imports", "Uploaded files of imports", (ImportJob, Upload)),
]
MORE: Additions[KindOfFiles] = Additions()
# A row in one of these states says that its files are deleted.
_WITHOUT_FILES = (Job.State.FAILED, Job.State.GONE)


def kinds_of_files() -> list[KindOfFiles]:
    """The kinds of the core and of extras."""
    return MORE.among(_OWN)


def kept_in() -> dict[str, tuple[type[Any], ...]]:
    """The tables of each kind."""
    return {kind.name: kind.tables for kind in kinds_of_files()}


def kept_files() -> Iterator[Stored]:
    """The files that a row names, in the order of their names."""
    for kind in kept_in():
        for owner in files_storage().owners(kind):
            if is_named(kind, owner) and not is_deleted(kind, owner):
                yield from Stored(f"{kind}/{owner}").files()


def is_named(kind: str, public_id: str) -> bool:
    """Whether a row has these files."""
    rows = (table._default_manager.filter(public_id=public_id) for table in kept_in()[kind])
    return any(found.exists() for found in rows)


def is_deleted(kind: str, public_id: str) -> bool:
    """Whether a row says that its files are deleted."""
    jobs: list[Any] = [table for table in kept_in()[kind] if issubclass(table, Job)]
    rows = (t._default_manager.filter(public_id=public_id, state__in=_WITHOUT_FILES) for t in jobs)
    return any(found.exists() for found in rows)
