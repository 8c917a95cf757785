"""The files of a study's pictures and sounds, how items name them, and how pages show them."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import IO, Any

from django.db import transaction
from django.template.loader import render_to_string
from django.utils.safestring import SafeString

from studies.file_storage.storage import Stored
from studies.media.content import ENDINGS, BadMedia
from studies.models import Item, MediaFile, Study

FOLDER = "media"  # in an export
_OWN = ("description", "no_description")


def file_name(sha256: str, kind: str) -> str:
    """The name of a file in an export, by its content."""
    return f"{FOLDER}/{sha256}.{ENDINGS[kind]}"


def as_given(media: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Stored pictures and sounds as the item format names them."""
    return [
        {"file": file_name(each["sha256"], each["type"])}
        | {name: each[name] for name in _OWN if each.get(name)}
        for each in media
    ]


def response_as_given(response: Mapping[str, Any]) -> dict[str, Any]:
    """A stored response in the item format."""
    if not response.get("media"):
        return dict(response)
    return {**response, "media": as_given(response["media"])}


KIND = "media"
_CHUNK = 500


def folder_of(file: MediaFile) -> Stored:
    return Stored(f"{KIND}/{file.public_id}")


def stored_file(file: MediaFile) -> Stored:
    return folder_of(file) / f"{file.sha256}.{ENDINGS[file.type]}"


def open_file(file: MediaFile) -> IO[bytes]:
    """Its bytes as a stream. Raises `FileNotFoundError` if the storage has lost it."""
    return stored_file(file).open()


def store(study: Study, contents: Iterable[tuple[Mapping[str, Any], bytes]]) -> int:
    """Store files that the study lacks and return how many, in the transaction of its items.

    A file is stored before a row names it. A lost file is written again.
    """
    there = {file.sha256: file for file in MediaFile.objects.filter(study=study)}
    new = 0
    for facts, data in contents:
        file = there.get(facts["sha256"])
        if file is None:
            file = MediaFile(study=study, **facts)
            stored_file(file).save(data)
            file.save()
            new += 1
        elif not stored_file(file).is_file():
            stored_file(file).save(data)
    return new


def copy(study: Study, to: Study) -> None:
    """Give another study the same files, which may share space because they never change."""
    for file in MediaFile.objects.filter(study=study).order_by("pk"):
        own = MediaFile(study=to, **file.facts)
        folder_of(file).copy_to(folder_of(own))
        own.save()


def forget_unused(study: Study) -> None:
    """Delete files that no item shows, once the transaction is committed."""
    files = list(MediaFile.objects.filter(study=study))
    if not files:
        return
    items = Item.everything.filter(study=study).only("media", "r1", "r2", "option_set")
    used = {each["sha256"] for item in items.iterator(chunk_size=_CHUNK) for each in item.all_media}
    unused = [file for file in files if file.sha256 not in used]
    MediaFile.objects.filter(pk__in=[file.pk for file in unused]).delete()
    delete_after_commit(unused)


def delete_after_commit(files: Iterable[MediaFile]) -> None:
    """Delete the bytes of these files once the transaction that deletes their rows is committed."""
    folders = [folder_of(file) for file in files]

    def delete() -> None:
        for folder in folders:
            folder.delete()

    transaction.on_commit(delete)


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


TEMPLATE = "includes/media.html"


@dataclass(frozen=True)
class ShownMedia:
    """A picture or sound; `words` describe it, or `reason` says why there is no description."""

    url: str
    is_picture: bool
    words: str
    reason: str
    width: int | None
    height: int | None


def media_html(
    media: Iterable[Mapping[str, Any]], url_of: Callable[[str], str], *, lang: str = ""
) -> SafeString:
    """HTML of the pictures and sounds of a response or question; `url_of` takes a checksum.

    `lang` is the language of their descriptions, if it is not that of the page.
    """
    if not media:
        return SafeString()
    return render_to_string(
        TEMPLATE, {"media": [_shown(each, url_of) for each in media], "lang": lang}
    )


def _shown(each: Mapping[str, Any], url_of: Callable[[str], str]) -> ShownMedia:
    return ShownMedia(
        url=url_of(each["sha256"]),
        is_picture=each["type"].startswith("image/"),
        words=each.get("description", ""),
        reason=each.get("no_description", ""),
        width=each.get("width"),
        height=each.get("height"),
    )
