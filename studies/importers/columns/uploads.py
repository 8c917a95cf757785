"""Uploaded files while an editor maps their columns, and the mappings of earlier files."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import IO, NamedTuple, cast

from django.contrib.auth.models import User
from django.core.files.uploadedfile import UploadedFile

from studies.errors import StudyError
from studies.file_storage.stored import Stored
from studies.importers.columns.guesses import guess
from studies.importers.columns.mapping import ColumnMapping, hash_of
from studies.importers.columns.table_file import Head, beginning_of, read_head
from studies.importers.files.bundle import File
from studies.importers.files.packed import GZIPPED, ZIPPED
from studies.importers.files.parquet import is_parquet
from studies.importers.uploads import lay_out
from studies.models import Study, Upload
from studies.services.whole_studies.removal import StudyContent
from studies.statements import clock

_KEPT = timedelta(days=1)


class Kept(NamedTuple):
    """An upload with the head of its first file; `since` is when its mapping was last used."""

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
    """The beginning of a file; all of a Parquet file or a packed one, whose end describes it."""
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
    """Keep files with the same columns, with the mapping of the last such file, or with guesses.

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
    with folder_of(upload).replacing() as draft:
        upload.files = [path.name for path in lay_out(uploads, draft)]
    upload.save()
    return upload


def read_kept(upload: Upload) -> Kept | None:
    """The upload with the head of its first file; None once its files are deleted."""
    first = files_of(upload)[0]
    try:
        with first.open() as stream:
            head = read_head(_beginning(first.name, stream))
    except FileNotFoundError:
        return None
    before = _before(upload.study, upload.columns_hash)
    return Kept(upload, head, before.imported_at if before else None)


def files_of(upload: Upload) -> list[Stored]:
    return [folder_of(upload) / name for name in upload.files]


def folder_of(upload: Upload) -> Stored:
    return Stored(f"imports/{upload.public_id}")


def content_of(study: Study) -> StudyContent:
    """The files of a study that wait for their mapping, for deleting the whole study."""
    return StudyContent(
        folders=[folder_of(upload) for upload in Upload.objects.filter(study=study)]
    )


def mapping_of(upload: Upload) -> ColumnMapping:
    """The mapping as it was last sent; it may be incomplete."""
    return ColumnMapping.stored(upload.mapping)


def note_mapping(upload: Upload, mapping: ColumnMapping, *, is_imported: bool = False) -> None:
    """Store a mapping; once a file is imported by it, the next file with the columns gets it."""
    upload.mapping = mapping.as_json()
    if is_imported:
        upload.imported_at = clock.now()
    upload.save(update_fields=["mapping", "imported_at"])


def delete_files(upload: Upload) -> None:
    folder_of(upload).delete()


def tidy_uploads() -> None:
    """Delete files that nobody imported for a day; a mapping that was used stays."""
    for upload in Upload.objects.filter(created_at__lt=clock.now() - _KEPT):
        delete_files(upload)
        if upload.imported_at is None:
            upload.delete()


def _before(study: Study, columns_hash: str) -> Upload | None:
    """The last upload of the study with these columns that was imported."""
    found = Upload.objects.filter(study=study, columns_hash=columns_hash)
    return found.exclude(imported_at=None).order_by("-imported_at").first()
