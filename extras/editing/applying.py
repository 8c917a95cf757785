"""The design of a study as files: writing it, comparing it, applying it to a study."""

import difflib
import hashlib
import json
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from django.contrib.auth.models import User
from django.db import transaction

from analysis.exports.catalogue import ExportFolder, FolderOrder
from extras.editing.parts import ComprehensionFile, JudgesFile, QuotasFile, WordingsFile
from extras.editing.study_toml import (
    DrawFile,
    ItemsFile,
    SourceFile,
    change_to,
    create_from,
    read_settings_file,
    set_feature_sets,
    write_settings,
)
from studies.models import Study
from studies.services.studies import lock_study, record
from studies.study_folder import MORE, Content, Folder, StudyFilePart

PARTS: tuple[StudyFilePart, ...] = (
    ItemsFile(),
    SourceFile(),
    DrawFile(),
    QuotasFile(),
    ComprehensionFile(),
    JudgesFile(),
    WordingsFile(),
)


def registered() -> list[StudyFilePart]:
    """Every part, in the order in which they are applied."""
    return list(MORE)


def files_of(study: Study) -> Iterator[tuple[str, Content]]:
    """Every file of a study's design: its path, and its content."""
    mains: dict[str, str] = {}
    files_so_far: list[tuple[str, Content]] = []
    for part in registered():
        if files := part.write(study):
            mains[part.name] = part.file
            files_so_far += files.items()
    yield from write_settings(study, mains).items()
    yield from files_so_far


def write_study(study: Study, folder: Path, order: FolderOrder) -> dict[str, int]:
    """Write the design of a study into an empty folder; return the numbers of files and items."""
    counts = {"files": 0, "items": 0}
    for name, content in files_of(study):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if callable(content):
            with content() as source, path.open("wb") as copy:
                shutil.copyfileobj(source, copy)
            counts["files"] += 1
            continue
        with path.open("w", encoding="utf-8", newline="") as out:
            if isinstance(content, str):
                out.write(content)
            else:
                for line in content:
                    out.write(line)
                    counts["items"] += 1
                    if order.on_rows is not None:
                        order.on_rows(1)
        counts["files"] += 1
    return counts


EXPORT = ExportFolder(
    "study",
    ("toml",),
    "The study as files: settings, items, judges and plan, without answers",
    write_study,
)


@dataclass(frozen=True)
class Snapshot:
    """The files of a study at one time; for long files, a hash of each row by its id."""

    texts: dict[str, str] = field(default_factory=dict)
    rows: dict[str, dict[str, bytes]] = field(default_factory=dict)


def snapshot(study: Study) -> Snapshot:
    taken = Snapshot()
    for name, content in files_of(study):
        if isinstance(content, str):
            taken.texts[name] = content
        elif not callable(content):
            taken.rows[name] = {
                json.loads(line)["id"]: hashlib.sha256(line.encode()).digest() for line in content
            }
    return taken


_MOST_LINES = 200
_NAMED = 5


def differences(before: Snapshot, after: Snapshot) -> list[str]:
    """The lines that say what differs, by file; empty if nothing does."""
    lines: list[str] = []
    for name in sorted(before.texts.keys() | after.texts.keys()):
        lines += _of_text(name, before.texts.get(name), after.texts.get(name))
    for name in sorted(before.rows.keys() | after.rows.keys()):
        lines += _of_rows(name, before.rows.get(name, {}), after.rows.get(name, {}))
    return lines


def _of_text(name: str, old: str | None, new: str | None) -> list[str]:
    if old == new:
        return []
    if old is None:
        return [f"{name}: new, {_lines(new or '')}"]
    if new is None:
        return [f"{name}: removed, {_lines(old)}"]
    # If two texts differ only in line ends, every line looks the same.
    lines = list(
        difflib.unified_diff(
            old.split("\n"), new.split("\n"), f"{name} (study)", f"{name} (file)", lineterm="", n=1
        )
    )
    if (more := len(lines) - _MOST_LINES) > 0:
        lines = [*lines[:_MOST_LINES], f"… and {more:,} more lines of {name}"]
    return [line.replace("\r", "␍") for line in lines]


def _of_rows(name: str, old: Mapping[str, bytes], new: Mapping[str, bytes]) -> Iterator[str]:
    kinds = {
        "new": sorted(new.keys() - old.keys()),
        "changed": sorted(key for key in old.keys() & new.keys() if old[key] != new[key]),
        "removed": sorted(old.keys() - new.keys()),
    }
    for kind, keys in kinds.items():
        if keys:
            more = f" and {len(keys) - _NAMED:,} more" if len(keys) > _NAMED else ""
            yield f"{name}: {len(keys):,} {kind}: {', '.join(keys[:_NAMED])}{more}"


def _lines(text: str) -> str:
    count = len(text.splitlines())
    return f"{count:,} line" if count == 1 else f"{count:,} lines"


_LOGGED = 50  # lines of the changes, for those whose edits were replaced


@dataclass(frozen=True)
class Applied:
    """What a folder changes in a study; `is_stored` says whether it was changed."""

    slug: str
    is_new: bool
    is_stored: bool
    changes: list[str]
    remarks: list[str]


def apply_study(file: Path, *, store: bool, owner: User | None = None) -> Applied:
    """Compare a study with its study.toml; with `store`, change the study.

    The differences are those between the study's files before and after the change, which is rolled
    back without `store`. A study that does not exist is created as a draft of `owner`. Raises
    `StudyError` for errors in the files, and for changes that a study with answers forbids; then
    nothing changes.
    """
    folder = Folder(file.parent)
    content = read_settings_file(folder, file.name, tuple(part.name for part in registered()))
    with transaction.atomic():
        known = Study.objects.filter(slug=content["slug"]).values_list("pk", flat=True).first()
        if known is None:
            before = Snapshot()
            study = create_from(content, folder, owner=owner)
        else:
            study = lock_study(known)
            before = snapshot(study)
            study = change_to(study, content, folder)
        set_feature_sets(study, content)
        remarks = []
        for part in registered():
            if name := content.get("parts", {}).get(part.name):
                study.refresh_from_db()
                remarks += part.apply(study, folder, name, user=None)
        study.refresh_from_db()
        changes = differences(before, snapshot(study))
        is_stored = store and bool(changes)
        if is_stored:
            record(
                study,
                "applied from files",
                changes=len(changes),
                lines=changes[:_LOGGED],
            )
        else:
            transaction.set_rollback(True)
    return Applied(content["slug"], known is None, is_stored, changes, remarks)
