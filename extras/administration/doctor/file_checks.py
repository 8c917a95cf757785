"""Checks of files of reports, exports and imports against their rows; checks of jobs."""

import json
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from django.apps import apps

from analysis.lifecycle.storage import export_dir, report_dir
from analysis.models import Export, Report
from analysis.report.build import software
from config.operations.stored_files import is_deleted, is_named, kept_in, kinds_of_files
from extras.administration.doctor.checks import InvariantCheck, InvariantFault
from studies.file_storage.storage import LEFTOVER_SECONDS, Stored, files_storage, old_drafts
from studies.importers.uploads import folder_of as import_folder
from studies.jobs.models import Job
from studies.models import ImportJob

# Reports with more item rows than report.json has room for are compared by their input hash.
_COMPARED_BYTES = 64 * 1024**2


def broken_reports() -> Iterator[InvariantFault]:
    """Finished reports without a page, or whose report.json differs from the database."""
    done = Report.objects.filter(state=Report.State.DONE).order_by("pk")
    for pk, name, study, number, hashed in list(
        done.values_list("pk", "public_id", "study__slug", "number", "inputs_hash")
    ):
        if wrong := _wrong_report(pk, report_dir(name), hashed):
            yield InvariantFault(f"Report {number} ({name}): {wrong}", study)


def _wrong_report(pk: int, folder: Stored, inputs_hash: str) -> str:
    page, data = folder / "report.html", folder / "report.json"
    missing = [file.name for file in (page, data) if not file.is_file()]
    if missing:
        return f"{' and '.join(missing)} not found in {folder}."
    if page.size() == 0:
        return "report.html is empty."
    if data.size() > _COMPARED_BYTES:
        return "" if _has_text(data, inputs_hash) else "report.json belongs to other data."
    try:
        shared = json.loads(data.read_bytes())
    except ValueError:
        return "report.json cannot be read."
    stored = Report.objects.values_list("result", flat=True).get(pk=pk)
    if {**shared, "items": []} != stored and not _is_of_another_version(shared, stored):
        return "report.json differs from the result in the database."
    return ""


def _is_of_another_version(shared: Any, stored: Any) -> bool:
    """Whether another version of the program wrote the report, and all common keys agree.

    An update may add keys to a stored result or remove some; the shared file stays unchanged.
    """
    try:
        code = stored["software"]["code"]
        same_data = shared["inputs"]["hash"] == stored["inputs"]["hash"]
    except (KeyError, TypeError):
        return False
    return (
        code != software(tuple(shared["study"].get("extras", ())))["code"]
        and same_data
        and _agree({**shared, "items": []}, stored)
    )


def _agree(one: Any, other: Any) -> bool:
    if isinstance(one, dict) and isinstance(other, dict):
        return all(_agree(one[key], other[key]) for key in one.keys() & other.keys())
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_agree, one, other))
    return bool(one == other)


def _has_text(stored: Stored, text: str) -> bool:
    before = b""
    with stored.open() as file:
        while block := file.read(1024**2):
            if text.encode() in before + block:
                return True
            before = block[-len(text) :]
    return False


def broken_exports() -> Iterator[InvariantFault]:
    done = Export.objects.filter(state=Export.State.DONE).order_by("pk")
    for name, study, filename, size, sha256 in list(
        done.values_list("public_id", "study__slug", "filename", "size", "sha256")
    ):
        stored = export_dir(name) / filename
        if not stored.is_file():
            yield InvariantFault(f"Export {name}: {stored} is missing.", study)
        elif stored.size() != size or stored.sha256() != sha256:
            yield InvariantFault(
                f"Export {name}: {stored} has changed since it was created.", study
            )


def broken_media() -> Iterator[InvariantFault]:
    """Pictures and sounds that are missing, or whose content does not match their name."""
    for file in (file for kind in kinds_of_files() for file in kind.sums()):
        if not file.stored.is_file():
            yield InvariantFault(f"{file.stored} is missing.", file.study)
        elif file.stored.sha256() != file.sha256:
            yield InvariantFault(f"{file.stored} has changed since it was imported.", file.study)


def missing_uploads() -> Iterator[InvariantFault]:
    """Missing files of imports that wait for a worker."""
    for job in ImportJob.objects.filter(state__in=Job.OPEN).select_related("study"):
        lost = [n for n in job.reading.get("files", []) if not (import_folder(job) / n).is_file()]
        if lost:
            yield InvariantFault(
                f"Import {job.public_id}: {', '.join(lost)} is missing.", job.study.slug
            )


def orphan_files() -> Iterator[InvariantFault]:
    """Folders that no row names, and drafts that a killed worker left on this machine."""
    for draft in old_drafts(kept_in()):
        yield InvariantFault(f"{draft}: left by a worker that was killed.", key=("draft", draft))
    newest = time.time() - LEFTOVER_SECONDS  # a process may still write to what is newer
    for kind in kept_in():
        for owner, changed_at in files_storage().owners(kind).items():
            stored = Stored(f"{kind}/{owner}")
            if changed_at > newest:
                continue
            if not is_named(kind, owner):
                yield InvariantFault(f"{stored}: no row names it.", key=("unknown", stored))
            elif is_deleted(kind, owner):
                yield InvariantFault(
                    f"{stored}: its row says it is deleted.", key=("deleted", stored)
                )


def remove_orphan(fault: InvariantFault) -> str:
    """Delete a draft, or files that are deleted according to their row; keep unknown files."""
    kind, orphan = fault.key
    if kind == "deleted":
        orphan.delete()
    elif kind == "draft" and orphan.exists():
        (shutil.rmtree if orphan.is_dir() else Path.unlink)(orphan)
    else:
        return ""
    return f"{orphan}: deleted."


def stalled_jobs() -> Iterator[InvariantFault]:
    """Jobs that wait although a worker should have them."""
    for table in apps.get_models():
        if issubclass(table, Job):
            for job in table._default_manager.filter(state__in=Job.OPEN).iterator():
                if job.is_stalled:
                    yield InvariantFault(
                        f"{table.__name__} {job.pk} ({job.get_state_display()}) had its last "
                        f"heartbeat at {job.heartbeat_at:%Y-%m-%d %H:%M} UTC.",
                        key=(table, job.pk),
                    )


def restart_job(fault: InvariantFault) -> str:
    """Queue a job again, or end it if too many workers died from it."""
    from config.celery import restart_jobs

    restart_jobs()
    table, number = fault.key
    job = table._default_manager.filter(pk=number).first()
    if job is None or job.is_stalled:
        return ""
    return f"{table.__name__} {number}: {job.get_state_display()}."


CHECKS = [
    InvariantCheck(
        "reports",
        "Each report has its files, which match the database",
        broken_reports,
        "Build the report again, or restore its folder from a backup.",
    ),
    InvariantCheck(
        "exports",
        "Each export has its file, with the stored checksum",
        broken_exports,
        "Create the export again, or restore its folder from a backup.",
    ),
    InvariantCheck(
        "media",
        "Each picture and sound of an item has its file, with the stored checksum",
        broken_media,
        "Restore its folder from a backup, or import the items and their files again.",
    ),
    InvariantCheck(
        "uploads",
        "Each import that waits has its files",
        missing_uploads,
        "Upload the files again.",
    ),
    InvariantCheck(
        "orphan-files",
        "Each folder of files belongs to a row of the database",
        orphan_files,
        "doctor --repair deletes drafts and files that were to be deleted. Check the others "
        "yourself.",
        remove_orphan,
    ),
    InvariantCheck(
        "jobs",
        "No job waits without a worker",
        stalled_jobs,
        "Start a worker: python -m config.processes worker. It restarts stalled jobs.",
        restart_job,
    ),
]
