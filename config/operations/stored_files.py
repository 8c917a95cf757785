"""Generated files, by the kinds of rows that they belong to."""

from collections.abc import Iterator
from typing import Any

from analysis.models import Export, Report
from judging.models import PackJob
from studies.file_storage.storage import files_storage
from studies.file_storage.stored import Stored
from studies.jobs.models import Job
from studies.models import ImportJob, MediaFile, Upload

# The kinds of files, with the tables whose public ids name their owners.
KEPT_IN: dict[str, tuple[type[Any], ...]] = {
    "reports": (Report,),
    "exports": (Export,),
    "imports": (ImportJob, Upload),
    "packs": (PackJob,),
    "media": (MediaFile,),
}
# A row in one of these states says that its files are deleted.
_WITHOUT_FILES = (Job.State.FAILED, Job.State.GONE)


def kept_files() -> Iterator[Stored]:
    """The files that a row names, in the order of their names."""
    for kind in KEPT_IN:
        for owner in files_storage().owners(kind):
            if is_named(kind, owner) and not is_deleted(kind, owner):
                yield from Stored(f"{kind}/{owner}").files()


def is_named(kind: str, public_id: str) -> bool:
    """Whether a row has these files."""
    rows = (table._default_manager.filter(public_id=public_id) for table in KEPT_IN[kind])
    return any(found.exists() for found in rows)


def is_deleted(kind: str, public_id: str) -> bool:
    """Whether a row says that its files are deleted."""
    jobs: list[Any] = [table for table in KEPT_IN[kind] if issubclass(table, Job)]
    rows = (t._default_manager.filter(public_id=public_id, state__in=_WITHOUT_FILES) for t in jobs)
    return any(found.exists() for found in rows)
