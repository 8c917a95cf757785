"""The folders of exports, and how long their files are kept."""

import shutil
from datetime import timedelta
from pathlib import Path

from django.conf import settings

from analysis.models import Export

# A copy that names annotators is kept only for a short time, because it is needed only briefly.
_IDENTIFIED_KEPT = timedelta(days=1)


def export_dir(public_id: str) -> Path:
    return Path(settings.VAR_DIR) / "exports" / public_id


def folder_of(export: Export) -> Path:
    return export_dir(export.public_id)


def remove_files(public_id: str) -> None:
    shutil.rmtree(export_dir(public_id), ignore_errors=True)


def kept_for(export: Export) -> timedelta:
    """The time for which a finished file can be downloaded."""
    return _IDENTIFIED_KEPT if export.names_people else timedelta(days=settings.EXPORT_DAYS)
