"""The files of exports, and how long their files are kept."""

from datetime import timedelta

from django.conf import settings

from analysis.models import Export
from studies.file_storage.stored import Stored

# A copy that names annotators is kept only for a short time, because it is needed only briefly.
_IDENTIFIED_KEPT = timedelta(days=1)


def export_dir(public_id: str) -> Stored:
    return Stored(f"exports/{public_id}")


def folder_of(export: Export) -> Stored:
    return export_dir(export.public_id)


def remove_files(public_id: str) -> None:
    export_dir(public_id).delete()


def kept_for(export: Export) -> timedelta:
    """The time for which a finished file can be downloaded."""
    return _IDENTIFIED_KEPT if export.names_people else timedelta(days=settings.EXPORT_DAYS)
