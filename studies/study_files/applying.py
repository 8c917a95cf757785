"""Giving a study the design in a folder: all of it, or nothing."""

from dataclasses import dataclass
from pathlib import Path

from django.contrib.auth.models import User
from django.db import transaction

from studies.models import Study
from studies.services.studies import lock_study, record
from studies.study_files.differences import differences
from studies.study_files.folder import Folder
from studies.study_files.parts import registered
from studies.study_files.settings import (
    change_to,
    create_from,
    read_settings_file,
    set_feature_sets,
)
from studies.study_files.writing import Snapshot, snapshot

_LOGGED = 50  # lines of the changes, for those whose edits were replaced


@dataclass(frozen=True)
class Applied:
    """What a folder changes in a study; `is_stored` says whether it was changed."""

    slug: str
    is_new: bool
    is_stored: bool
    changes: list[str]
    remarks: list[str]


def apply_study(
    file: Path, *, store: bool, owner: User | None = None, user: User | None = None
) -> Applied:
    """Compare a study with its study.toml, and with `store` make it the same.

    The differences are those between the study's files before and after the change, which is
    undone unless it is to be stored. A study that does not exist is created as a draft, owned by
    `owner`. Raises `StudyError` for what is wrong in the files, or what a study with answers may
    not have; then nothing is changed.
    """
    folder = Folder(file.parent)
    content = read_settings_file(folder, file.name)
    with transaction.atomic():
        known = Study.objects.filter(slug=content["slug"]).values_list("pk", flat=True).first()
        if known is None:
            before = Snapshot()
            study = create_from(content, folder, owner=owner)
        else:
            study = lock_study(known)
            before = snapshot(study)
            study = change_to(study, content, folder, user=user)
        set_feature_sets(study, content, user=user)
        remarks = []
        for part in registered():
            if name := content.get("parts", {}).get(part.name):
                study.refresh_from_db()
                remarks += part.apply(study, folder, name, user=user)
        study.refresh_from_db()
        changes = differences(before, snapshot(study))
        is_stored = store and bool(changes)
        if is_stored:
            record(
                study,
                "applied from files",
                user=user,
                changes=len(changes),
                lines=changes[:_LOGGED],
            )
        else:
            transaction.set_rollback(True)
    return Applied(content["slug"], known is None, is_stored, changes, remarks)
