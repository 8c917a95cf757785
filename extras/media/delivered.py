"""Pictures, sounds and films that come with a file of items, by the names in its rows."""

import shutil
import stat
import tempfile
import unicodedata
import weakref
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from extras.media.content import LARGEST, TYPES, MediaContent, read_content
from studies.media import BadMedia

MOST_FILES = 10_000
MOST_BYTES = 2 * 1024**3
# Reads a file, up to one byte more than allowed.
ByteReader = Callable[[], bytes]


class Delivered:
    """Files of a folder or zip. Each is read and checked when a row first names it.

    Accepted files are kept in a temporary folder until the items are stored. `has_files`: there are
    files besides the items and their description.
    """

    def __init__(self, find: Callable[[str], ByteReader | None], *, has_files: bool) -> None:
        self._find, self.has_files = find, has_files
        self._known: dict[str, Mapping[str, Any] | BadMedia] = {}
        self._folder = Path(tempfile.mkdtemp(prefix="thirdperson-media-"))
        self._remove = weakref.finalize(self, shutil.rmtree, self._folder, ignore_errors=True)
        self.kept: dict[str, Mapping[str, Any]] = {}

    def __getstate__(self) -> dict[str, Any]:
        """Hand the accepted files and their folder over to another process."""
        self._remove.detach()
        return {"has_files": self.has_files, "folder": self._folder, "kept": self.kept}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(lambda name: None, has_files=state["has_files"])  # type: ignore[misc]
        self.kept = state["kept"]
        for sha256 in self.kept:
            shutil.move(state["folder"] / sha256, self._folder)

    def facts(self, name: str) -> Mapping[str, Any]:
        if name not in self._known:
            try:
                self._known[name] = self._read(name)
            except BadMedia as error:
                self._known[name] = error
        facts = self._known[name]
        if isinstance(facts, BadMedia):
            raise BadMedia(facts.message, facts.remedy)
        return {name: value for name, value in facts.items() if name != "frames"}

    def contents(self) -> Iterator[tuple[Mapping[str, Any], bytes]]:
        """What is known of each accepted file and of each frame of a film, with its bytes, once."""
        for sha256, facts in self.kept.items():
            yield facts, (self._folder / sha256).read_bytes()

    def _read(self, name: str) -> Mapping[str, Any]:
        reader = self._find(name)
        if reader is None:
            raise BadMedia("is not among the files.", "Add it, or correct its name.")
        content = read_content(reader())
        if content.sha256 not in self.kept:
            for _, picture in content.frames:
                self._keep(picture)
            self._keep(content)
        frames = [picture.facts | {"second": second} for second, picture in content.frames]
        if frames:
            self.kept[content.sha256] = content.facts | {"frames": frames}
        return self.kept[content.sha256]

    def _keep(self, content: MediaContent) -> None:
        total = sum(facts["size"] for facts in self.kept.values()) + content.size
        if len(self.kept) == MOST_FILES or total > MOST_BYTES:
            raise BadMedia(
                f"is too much: the limit of an import is {MOST_FILES:,} files and "
                f"{MOST_BYTES // 2**30} GB.",
                "Split the items and import the parts.",
            )
        (self._folder / content.sha256).write_bytes(content.data)
        self.kept[content.sha256] = content.facts


def is_media_name(name: str) -> bool:
    """Whether a file next to the items has the name of a picture, sound or film."""
    ending = name.rpartition(".")[2].casefold()
    return ending in TYPES or ending == "jpeg"


def in_folder(folder: Path) -> Delivered:
    """The files of a folder; nothing outside it, and nothing by a link."""
    has_files = any(path.is_dir() or is_media_name(path.name) for path in folder.iterdir())
    return Delivered(lambda name: _reader_in(folder, name), has_files=has_files)


def _reader_in(folder: Path, name: str) -> ByteReader | None:
    try:
        # Some systems write an accent as a separate character.
        for form in dict.fromkeys((name, unicodedata.normalize("NFD", name))):
            if (path := _inside(folder, form)).is_file():
                return lambda: _start_of(path)
    except OSError as error:
        raise BadMedia(f"cannot be read: {error.strerror}.", "Check its name.") from error
    return None


def _inside(folder: Path, name: str) -> Path:
    path = folder
    for part in Path(name).parts:
        path = path / part
        if path.is_symlink():
            raise BadMedia("is a link to another file.", "Put the file itself there.")
    if not path.resolve().is_relative_to(folder.resolve()):
        raise BadMedia("is outside the folder.", "Put the file into the folder.")
    return path


def _start_of(path: Path) -> bytes:
    with path.open("rb") as stream:
        return stream.read(LARGEST + 1)


def in_zip(archive: zipfile.ZipFile, folder: str) -> Delivered:
    """The files of a zip by their names in `folder`, which has the file of items."""
    infos = {unicodedata.normalize("NFC", info.filename): info for info in archive.infolist()}

    def find(name: str) -> ByteReader | None:
        info = infos.get(f"{folder}/{name}" if folder else name)
        if info is None or info.is_dir():
            return None
        if stat.S_ISLNK(info.external_attr >> 16):
            raise BadMedia("is a link to another file.", "Put the file itself into the zip.")
        return lambda: _start_in_zip(archive, info)

    names = [name.removeprefix(f"{folder}/") for name in infos]
    has_files = any("/" in name or is_media_name(name) for name in names)
    return Delivered(find, has_files=has_files)


def _start_in_zip(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> bytes:
    try:
        with archive.open(info) as stream:
            return stream.read(LARGEST + 1)
    except (zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError, EOFError) as error:
        raise BadMedia(f"cannot be unpacked: {error}.", "Pack it again.") from error
