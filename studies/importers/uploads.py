"""Imports of uploaded files: small ones during the request, large ones by a worker.

The items are stored in one transaction, so a killed worker leaves nothing half imported. A file
whose columns must be mapped first waits for an editor.
"""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from datetime import datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, Any, NamedTuple, cast

from django.contrib.auth.models import User
from django.core.files.uploadedfile import UploadedFile

from studies.errors import StudyError
from studies.extra import Kind
from studies.file_storage.storage import Stored
from studies.importers.columns.mapping import ColumnMapping, guess, hash_of
from studies.importers.columns.table_file import Head, beginning_of, read_head
from studies.importers.files.bundle import File, unpacked_size
from studies.importers.files.faults import STOPPED, Refused, place
from studies.importers.files.packed import GZIPPED, ZIPPED, is_parquet
from studies.importers.files.readers import REQUIRED
from studies.importers.items.import_source import is_of_a_set, read_paths
from studies.importers.items.item_bundle import ImportOptions, ImportReport, recognise, report_on
from studies.importers.items.storage import ImportResult, import_items
from studies.importers.sets import data_sets
from studies.jobs.runner import JobProblem, JobProgress, Steps, carry_out
from studies.models import ImportJob, Study, Upload
from studies.models.items import ROWS_READ
from studies.services.whole_studies import StudyContent
from studies.statements import clock

# A page reads files of up to this size, unpacked, during the request: about 500 items.
INLINE_BYTES = 512 * 1024
# The files of a data set are compared with each other, which takes longer.
INLINE_SET_BYTES = 64 * 1024
_LONGEST_NAME = 200  # bytes; file systems allow 255
_WARNINGS_SHOWN = 10
# What other apps do after an import.
FOLLOWERS: Kind[Callable[[Study], object]] = Kind("events", "imported")


def _follow(result: ImportResult) -> None:
    if result.created and not result.dry_run:
        for follower in FOLLOWERS.of(result.study):
            follower(result.study)


def folder_of(job: ImportJob) -> Stored:
    return Stored(f"imports/{job.public_id}")


def is_quick(uploads: Sequence[UploadedFile], reading: ImportOptions) -> bool:
    """Whether a page can read the files itself. Raises `Refused` for a zip beyond the limits."""
    most = INLINE_SET_BYTES if reading.format in data_sets() else INLINE_BYTES
    if sum(upload.size or 0 for upload in uploads) > most:
        return False
    sizes = (unpacked_size(str(u.name), cast(IO[bytes], u), u.size or 0) for u in uploads)
    return sum(sizes) <= most


def are_quick(files: Sequence[Stored]) -> bool:
    """Whether a page can read kept files with any columns itself."""
    total = 0
    for file in files:
        with file.open() as stream:
            total += unpacked_size(file.name, stream, file.size())
    return total <= INLINE_BYTES


def import_now(
    uploads: Sequence[UploadedFile],
    **how: Any,
) -> tuple[ImportResult, ImportReport]:
    """Import uploaded files during the request, as `import_paths` does."""
    with TemporaryDirectory() as folder:
        return import_paths(write_uploads(uploads, Path(folder)), **how)


def import_paths(
    paths: Sequence[Path],
    *,
    slug: str,
    reading: ImportOptions,
    dry_run: bool,
    replace: int | None = None,
    user: User | None = None,
) -> tuple[ImportResult, ImportReport]:
    """Import files during the request. Raises `Refused` or `StudyError`."""
    files = read_paths(paths, reading)
    result = import_items(
        slug,
        files,
        dry_run=dry_run,
        replace=replace,
        skip_faulty=reading.skip_faulty,
        user=user,
    )
    _follow(result)
    return result, report_on(files)


def write_uploads(uploads: Sequence[UploadedFile], folder: Path) -> list[Path]:
    """Write uploaded files under their own names to a folder, in upload order."""
    paths = []
    for upload in uploads:
        path = folder / _short(Path(str(upload.name)).name)
        with path.open("xb") as out:
            for chunk in upload.chunks():
                out.write(chunk)
        paths.append(path)
    return paths


def _short(name: str) -> str:
    stem, dot, ending = name.rpartition(".")
    while len(name.encode()) > _LONGEST_NAME and len(stem) > 1:
        stem = stem[:-1]
        name = f"{stem}{dot}{ending}"
    return name.encode()[:_LONGEST_NAME].decode(errors="ignore")


def keep_for_import(
    uploads: Sequence[UploadedFile],
    *,
    study_id: int,
    reading: ImportOptions,
    dry_run: bool,
    replace: int | None = None,
    user: User | None = None,
) -> ImportJob:
    """Keep files for a worker; the caller queues the import."""

    def store_uploads(folder: Stored) -> list[str]:
        with folder.replacing() as draft:
            return [path.name for path in write_uploads(uploads, draft)]

    return _keep(store_uploads, study_id, reading, dry_run, replace, user)


def keep_copy_for_import(
    files: Stored,
    *,
    names: list[str],
    study_id: int,
    reading: ImportOptions,
    dry_run: bool,
    replace: int | None = None,
    user: User | None = None,
    upload: str = "",
) -> ImportJob:
    """Copy the stored files of a folder for a worker; the caller queues the import.

    `upload` is the public id of the upload whose columns were mapped.
    """

    def copy_files(folder: Stored) -> list[str]:
        files.copy_to(folder)
        return names

    return _keep(copy_files, study_id, reading, dry_run, replace, user, upload)


def _keep(
    put_into: Callable[[Stored], list[str]],
    study_id: int,
    reading: ImportOptions,
    dry_run: bool,
    replace: int | None,
    user: User | None,
    upload: str = "",
) -> ImportJob:
    _give_up_stalled(study_id)
    job = ImportJob(study_id=study_id, task=reading.task, dry_run=dry_run, requested_by=user)
    names = put_into(folder_of(job))
    job.file_name = ", ".join(names)[:255]
    job.reading = asdict(reading) | {"files": names, "replace": replace, "upload": upload}
    job.save()
    return job


def _give_up_stalled(study_id: int) -> None:
    """End stalled imports of a study, because new files replace theirs."""
    for lost in ImportJob.objects.filter(study_id=study_id, state__in=ImportJob.OPEN):
        if lost.is_stalled:
            ImportJob.objects.filter(pk=lost.pk, state=lost.state).update(
                state=ImportJob.State.FAILED,
                message="No worker imported the file, and it was uploaded again.",
                finished_at=clock.now(),
            )
            folder_of(lost).delete()


def run_import(*, job_id: int) -> ImportJob:
    """Import the files of a queued job, and delete them once they are imported or refused."""
    try:
        return carry_out(ImportJob, job_id, _import, expected=(StudyError, OSError))
    finally:
        job = ImportJob.objects.get(pk=job_id)
        if not job.is_open:
            folder_of(job).delete()


def _import(job: ImportJob, progress: JobProgress) -> dict[str, Any]:
    try:
        with folder_of(job).local() as folder:
            return _import_files(job, folder, progress)
    except Refused as error:
        stopped = f" {STOPPED.strip()}" if error.is_cut else ""
        faults = [asdict(fault) for fault in error.faults]
        raise JobProblem(f"The file has faults.{stopped}", faults=faults) from error


def _import_files(job: ImportJob, folder: Path, progress: JobProgress) -> dict[str, Any]:
    reading = dict(job.reading)
    paths = [folder / name for name in reading.pop("files")]
    replace = reading.pop("replace", None)
    reading.pop("upload", None)
    watch = Steps(progress, total=0, share=ROWS_READ - 1, sentence=_reading_sentence)
    how = ImportOptions(**reading)
    files = read_paths(paths, how, watch=watch)
    progress(ROWS_READ, "Storing the items of the file.")
    progress.store()  # on SQLite no heartbeat can be stored before the items are
    result = import_items(
        job.study.slug,
        files,
        dry_run=job.dry_run,
        replace=replace,
        skip_faulty=how.skip_faulty,
        user=job.requested_by,
    )
    _follow(result)
    report = report_on(files)
    if warnings := warnings_shown(result):
        facts = (*report.facts, ("Warnings", " ".join(warnings)))
        report = dataclasses.replace(report, facts=facts)
    return {"message": str(result), "report": asdict(report)}


def _reading_sentence(done: int, total: int) -> str:
    percent = min(100, 100 * done // max(1, total))
    return f"Reading and checking the file: {percent} % of its rows."


def warnings_shown(result: ImportResult) -> list[str]:
    """The first warnings of an import, each as a sentence with its line."""
    sentences = [f"{place(w.line)}: {w.message}" for w in result.warnings[:_WARNINGS_SHOWN]]
    if (left := len(result.warnings) - len(sentences)) > 0:
        sentences.append(f"There are {left:,} more warnings.")
    return sentences


# Values of the own answer that are read without a mapping in a column with a usual name.
_READ = {"", "1", "2", "r1", "r2", "tie"}


def needs_mapping(file: File) -> bool:
    """Whether a file has rows, but not those of the item format or of a known data set."""
    start = file.head()
    if start.startswith(ZIPPED) or is_of_a_set(file):
        return False
    head = read_head(file)
    if not head.rows:
        return False
    cells = head.rows[0][1]
    if start[:1] in (b"{", b"["):
        is_item = any(path.startswith(("persona.", "responses.0.")) for path in cells)
        return not is_item and not recognise(file).is_released and len(head.columns) > 1
    if not set(REQUIRED) <= set(head.columns):
        return len(head.columns) > 1
    return _hides_own_answers(head)


def _hides_own_answers(head: Head) -> bool:
    """Whether a file in the item format has its own answers in a column with another name."""
    if "first_person" in head.columns:
        return False
    column = guess(head).column_of("own_answer")
    return column is not None and any(not _is_read(cells, column) for _, cells in head.rows)


def _is_read(cells: Mapping[str, str], column: str) -> bool:
    return cells.get(column, "") in _READ


_KEPT = timedelta(days=1)


class Kept(NamedTuple):
    """An upload with the head of its first file; `since` is the last use of its mapping."""

    upload: Upload
    head: Head
    since: datetime | None


class OtherColumns(StudyError):
    """Files that were sent together have different columns."""


def head_of(upload: UploadedFile) -> File:
    """The beginning of an uploaded file."""
    upload.seek(0)
    head = _beginning(Path(str(upload.name)).name, cast(IO[bytes], upload))
    upload.seek(0)
    return head


def _beginning(name: str, stream: IO[bytes]) -> File:
    """The beginning of a file; the whole of a Parquet or packed file, which its end describes."""
    data = beginning_of(stream)
    if is_parquet(data) or data.startswith((ZIPPED, GZIPPED)):
        data += stream.read()
    return File(name, data)


def keep_upload(
    uploads: Sequence[UploadedFile],
    *,
    study: Study,
    task: str,
    replace: int | None = None,
    user: User | None = None,
) -> Upload:
    """Keep files with the same columns, with the mapping of the last such file or a guessed one.

    Raises `OtherColumns`.
    """
    heads = [read_head(head_of(upload)) for upload in uploads]
    columns = heads[0].columns
    for head in heads[1:]:
        if set(head.columns) != set(columns):
            raise OtherColumns(
                f"{head.name} has other columns than {heads[0].name}. Import each by itself."
            )
    columns_hash = hash_of(columns)
    before = _before(study, columns_hash)
    upload = Upload(
        study=study,
        task=task,
        replace=replace,
        columns_hash=columns_hash,
        mapping=before.mapping if before else guess(heads[0]).as_json(),
        requested_by=user,
    )
    with folder_of_upload(upload).replacing() as draft:
        upload.files = [path.name for path in write_uploads(uploads, draft)]
    upload.save()
    return upload


def read_kept(upload: Upload) -> Kept | None:
    """The upload with the head of its first file; None once its files are deleted."""
    first = files_of(upload)[0]
    try:
        with first.open() as stream:
            file = _beginning(first.name, stream)
        head = read_head(dataclasses.replace(file, encoding=mapping_of(upload).encoding))
    except FileNotFoundError:
        return None
    before = _before(upload.study, upload.columns_hash)
    return Kept(upload, head, before.imported_at if before else None)


def files_of(upload: Upload) -> list[Stored]:
    return [folder_of_upload(upload) / name for name in upload.files]


def folder_of_upload(upload: Upload) -> Stored:
    return Stored(f"imports/{upload.public_id}")


def content_of(study: Study) -> StudyContent:
    """The files of a study that wait for their mapping, which a deleted study takes along."""
    return StudyContent(
        folders=[folder_of_upload(upload) for upload in Upload.objects.filter(study=study)]
    )


def mapping_of(upload: Upload) -> ColumnMapping:
    """The mapping as it was last sent; it may be incomplete."""
    return ColumnMapping.stored(upload.mapping)


def read_again(upload: Upload) -> None:
    """Guess the mapping again after another encoding was named, which may change the columns."""
    kept = read_kept(upload)
    mapping = mapping_of(upload)
    if kept is not None and {*kept.head.columns} != {*mapping.fields}:
        note_mapping(upload, dataclasses.replace(guess(kept.head), encoding=mapping.encoding))


def note_mapping(upload: Upload, mapping: ColumnMapping, *, is_imported: bool = False) -> None:
    """Store a mapping; after an import by it, the next file with these columns gets it."""
    upload.mapping = mapping.as_json()
    if is_imported:
        upload.imported_at = clock.now()
    upload.save(update_fields=["mapping", "imported_at"])


def delete_files(upload: Upload) -> None:
    folder_of_upload(upload).delete()


def tidy_uploads() -> None:
    """Delete files that nobody imported for a day; a mapping that was used stays."""
    for upload in Upload.objects.filter(created_at__lt=clock.now() - _KEPT):
        delete_files(upload)
        if upload.imported_at is None:
            upload.delete()


def _before(study: Study, columns_hash: str) -> Upload | None:
    """The last upload of the study with these columns that was imported."""
    uploads = Upload.objects.filter(study=study, columns_hash=columns_hash)
    return uploads.exclude(imported_at=None).order_by("-imported_at").first()
