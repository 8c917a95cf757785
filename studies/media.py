"""Pictures, sounds and films of items: what the core asks of the extra that reads, keeps and shows
them.

Items name files by checksum. Without such an extra, an item that names one is refused.
"""

import zipfile
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Protocol

from studies.extra import Kind

if TYPE_CHECKING:  # Readers of files reach neither Django nor a model.
    from studies.file_storage.storage import Stored
    from studies.models import Study


class BadMedia(Exception):
    """What is wrong with a file, as the end of a sentence after its name, and what to do."""

    def __init__(self, message: str, remedy: str = "") -> None:
        self.message, self.remedy = message, remedy
        super().__init__(message)


class Media(Protocol):
    """Finds pictures, sounds and films by name."""

    def facts(self, name: str) -> Mapping[str, Any]:
        """The facts that an item stores about a file. Raises `BadMedia` if missing or refused."""


class DeliveredMedia(Media, Protocol):
    """Files that come with items. `has_files`: there are others than items and descriptions."""

    has_files: bool


PACK_THEM = "Pack the items and their files into one zip, and import that."


class NoMedia:
    """A file of items without media files."""

    has_files = False

    def facts(self, name: str) -> Mapping[str, Any]:
        raise BadMedia("did not come with the items.", PACK_THEM)


@dataclass(frozen=True)
class ShownMedia:
    """Pictures, sounds and films on a page of a study."""

    media: Collection[Mapping[str, Any]]
    slug: str
    # The language of their descriptions, if it is not that of the page.
    lang: str
    to_participants: bool
    # The address of a file by its checksum, on pages of somebody else, such as an expert.
    address: Callable[[str], str] | None = None


@dataclass(frozen=True, kw_only=True)
class MediaKeeper:
    """What an extra does with these files; by default, for an installation without any."""

    # Of a folder, or of a zip by their names in a folder of it, which has the file of items.
    in_folder: Callable[[Path], DeliveredMedia] = lambda folder: NoMedia()
    in_zip: Callable[[zipfile.ZipFile, str], DeliveredMedia] = lambda archive, folder: NoMedia()
    # The accepted files are stored in the transaction of their items.
    store: "Callable[[Study, DeliveredMedia], None]" = lambda study, delivered: None
    # The files that a study has, by the names that an export gives them.
    stored: "Callable[[Study], Media]" = lambda study: NoMedia()
    # Another study, the second one, gets the same files.
    copy: "Callable[[Study, Study], None]" = lambda study, to: None
    # Files that no item shows are deleted once the transaction is committed.
    forget_unused: "Callable[[Study], None]" = lambda study: None
    # All files of a study by their names in an export, each with what opens it.
    files: "Callable[[Study], Mapping[str, Callable[[], IO[bytes]]]]" = lambda study: {}
    # The files of a study, given by its id, with these checksums.
    named: "Callable[[int, Collection[str]], Mapping[str, Stored]]" = lambda study_id, sums: {}
    # The media types of the files that a study's items show, in order.
    types: "Callable[[Study], list[str]]" = lambda study: []
    # The frames that judges get of the films with these checksums, in the order of time.
    frames: Callable[[int, Collection[str]], Mapping[str, Sequence[Mapping[str, Any]]]] = (
        lambda study_id, sums: {}
    )
    # What judges get of every film, in words.
    of_films: str = ""
    # Safe in templates.
    html: Callable[[ShownMedia], str] = lambda shown: ""
    # The response to a request for the file of a study with this checksum; who may see it was
    # checked before.
    send: "Callable[[Any, Study, str], Any] | None" = None


_KEEPERS: Kind[MediaKeeper] = Kind("files", "media")
_NONE = MediaKeeper()


def keeper() -> MediaKeeper:
    return next(iter(_KEEPERS), _NONE)


def media_types(study: "Study") -> list[str]:
    """The media types of the files of a study, in order; read once, for all runs of a plan."""
    memory = vars(study)
    if "media_types" not in memory:
        memory["media_types"] = next((own.types(study) for own in _KEEPERS.of(study)), [])
    types: list[str] = memory["media_types"]
    return types


def media_html(
    media: Collection[Mapping[str, Any]],
    slug: str,
    lang: str = "",
    *,
    to_participants: bool = False,
    address: Callable[[str], str] | None = None,
) -> str:
    """HTML of the pictures, sounds and films of a response or question; see `ShownMedia`."""
    if not media:
        return ""
    return keeper().html(ShownMedia(media, slug, lang, to_participants, address))


def sums_of(media: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """The checksums of the files that an item shows, with those of captions."""
    for medium in media:
        yield medium["sha256"]
        if captions := medium.get("captions"):
            yield captions["sha256"]


FOLDER = "media"  # in an export
CAPTIONS = "text/vtt"
FRAME_TYPE = "image/jpeg"  # of films, for judges
# The ending of a file in an export, by its media type.
ENDINGS = {
    "image/png": "png",
    "image/jpeg": "jpg",
    "image/webp": "webp",
    "audio/mpeg": "mp3",
    "audio/ogg": "ogg",
    "audio/wav": "wav",
    "audio/mp4": "m4a",
    "video/mp4": "mp4",
    "video/webm": "webm",
    CAPTIONS: "vtt",
}
_OWN = ("description", "no_description")
_FACTS = ("sha256", "type", "size", "width", "height", "seconds", "has_sound")


def is_film(kind: str) -> bool:
    return kind.startswith("video/")


def facts_of_file(file: Any) -> dict[str, Any]:
    """The facts that an item stores about a file: those that its kind has."""
    return {name: value for name in _FACTS if (value := getattr(file, name)) is not None}


def file_name(sha256: str, kind: str) -> str:
    """The name of a file in an export, by its content."""
    return f"{FOLDER}/{sha256}.{ENDINGS[kind]}"


def as_given(media: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Stored pictures, sounds and films as the item format names them."""
    return [
        {"file": file_name(medium["sha256"], medium["type"])}
        | {name: medium[name] for name in _OWN if medium.get(name)}
        | (
            {"captions": file_name(captions["sha256"], captions["type"])}
            if (captions := medium.get("captions"))
            else {}
        )
        for medium in media
    ]


def response_as_given(response: Mapping[str, Any]) -> dict[str, Any]:
    """A stored response in the item format."""
    if not response.get("media"):
        return dict(response)
    return {**response, "media": as_given(response["media"])}
