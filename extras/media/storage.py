"""The files of a study's pictures, sounds and films."""

from collections.abc import Callable, Collection, Mapping
from functools import cached_property, partial
from typing import IO, Any

from django.db import transaction

from extras.media.delivered import Delivered
from extras.media.models import MediaFile
from studies.file_storage.storage import Stored
from studies.media import CAPTIONS, ENDINGS, BadMedia, file_name, sums_of
from studies.models import Item, Study
from studies.services.extras import turn_on

KIND = "media"
_CHUNK = 500


def folder_of(file: MediaFile) -> Stored:
    return Stored(f"{KIND}/{file.public_id}")


def stored_file(file: MediaFile) -> Stored:
    return folder_of(file) / f"{file.sha256}.{ENDINGS[file.type]}"


def open_file(file: MediaFile) -> IO[bytes]:
    """Its bytes as a stream. Raises `FileNotFoundError` if the storage has lost it."""
    return stored_file(file).open()


def store(study: Study, delivered: Delivered) -> None:
    """Store files that the study lacks, in the transaction of its items.

    A file is stored before a row names it. A lost file is written again.
    """
    there = {file.sha256: file for file in MediaFile.objects.filter(study=study)}
    for facts, data in delivered.contents():
        file = there.get(facts["sha256"])
        if file is None:
            file = MediaFile(study=study, **facts)
            stored_file(file).save(data)
            file.save()
        elif not stored_file(file).is_file():
            stored_file(file).save(data)


def copy(study: Study, to: Study) -> None:
    """Give another study the same files, which may share space because they never change."""
    files = MediaFile.objects.filter(study=study).order_by("pk")
    if files:
        turn_on(to, KIND)
    for file in files:
        own = MediaFile(study=to, **file.facts, frames=file.frames)
        folder_of(file).copy_to(folder_of(own))
        own.save()


def forget_unused(study: Study) -> None:
    """Delete files that no item shows, once the transaction is committed."""
    files = list(MediaFile.objects.filter(study=study))
    if not files:
        return
    items = Item.everything.filter(study=study).only("media", "r1", "r2", "option_set")
    rows = items.iterator(chunk_size=_CHUNK)
    used = {sha256 for item in rows for sha256 in sums_of(item.all_media)}
    used |= {frame["sha256"] for file in files if file.sha256 in used for frame in file.frames}
    unused = [file for file in files if file.sha256 not in used]
    MediaFile.objects.filter(pk__in=[file.pk for file in unused]).delete()
    folders = [folder_of(file) for file in unused]

    def delete() -> None:
        for folder in folders:
            folder.delete()

    transaction.on_commit(delete)


def files_of(study: Study) -> dict[str, Callable[[], IO[bytes]]]:
    """All files of a study by their names in an export, each with what opens it."""
    files = MediaFile.objects.filter(study=study).order_by("sha256")
    return {file_name(file.sha256, file.type): partial(open_file, file) for file in files}


def named(study_id: int, sums: Collection[str]) -> dict[str, Stored]:
    """The files with these checksums."""
    files = MediaFile.objects.filter(study=study_id, sha256__in=sums)
    return {file.sha256: stored_file(file) for file in files}


def types_of(study: Study) -> list[str]:
    """The media types of the files that a study's items show, in order.

    Captions and frames are parts of their films.
    """
    files = MediaFile.objects.filter(study=study).exclude(type=CAPTIONS)
    rows = files.order_by().values_list("type", "sha256", "frames")
    parts = {frame["sha256"] for *_, frames in rows for frame in frames}
    return sorted({kind for kind, sha256, _ in rows if sha256 not in parts})


def frames_of(study_id: int, sums: Collection[str]) -> dict[str, list[dict[str, Any]]]:
    """The frames that judges get of the films with these checksums, in the order of time."""
    films = MediaFile.objects.filter(study=study_id, sha256__in=sums)
    return {film.sha256: film.frames for film in films}


class StoredMedia:
    """The files that a study has, by the names that an export gives them."""

    def __init__(self, study: Study) -> None:
        self._study = study

    @cached_property
    def _files(self) -> dict[str, MediaFile]:
        files = MediaFile.objects.filter(study=self._study)
        return {file_name(file.sha256, file.type): file for file in files}

    def facts(self, name: str) -> Mapping[str, Any]:
        if name not in self._files:
            raise BadMedia("is not a file of this study.", "Import the item with its file.")
        return self._files[name].facts
