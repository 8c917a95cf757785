"""The source of an import: one file, a folder, or a zip of that folder."""

import hashlib
import io
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO, Any, cast

from studies.importers.files.child import Send, from_child, is_needed
from studies.importers.files.faults import MAX_BYTES, MAX_MEMBERS, MAX_UNPACKED, Refused, refused
from studies.importers.files.lines import BadLine, HeaderFaults, document, records
from studies.importers.files.packed import (
    BROKEN_ZIP,
    GZIPPED,
    LOOKED_AT,
    MAGIC,
    ZIPPED,
    Parts,
    about_sheets,
    check_list,
    is_parquet,
    is_single,
    json_stream,
    sheets_of,
    too_many_files,
    unpacked,
    unreadable,
)
from studies.media import DeliveredMedia, keeper
from studies.texts.cells import Changes
from studies.texts.json_values import NotJson
from studies.texts.normalisation import REDISTRIBUTION

FORMAT = "thirdperson-items"
WORKBOOKS = (".xlsx", ".xlsm")
_OTHER_WORKBOOKS = (".xls", ".xlsb", ".ods", ".numbers")
_BLOCK = 1 << 20
_ITEMS = ("items.jsonl", "items.csv")
_PARTS = (*_ITEMS, "dataset.json", "personas.jsonl", "persona_features.csv")


@dataclass(frozen=True)
class File:
    """A file that is read as a stream: from memory, from a disk or out of a zip.

    A Parquet file is read as lines of JSON; a packed file or workbook as in `packed.unpacked`. A
    child process reads files that are not small. `encoding` is that of a text file, if it was
    named; `changes` counts what was changed in its cells; `sheets` are those of a workbook that was
    read before.
    """

    name: str
    source: bytes | Path | zipfile.Path
    encoding: str = ""
    changes: Changes = field(default_factory=Changes, compare=False)
    sheets: tuple[str, ...] = ()

    def open(self) -> IO[bytes]:
        raw = self.raw()
        # A member of a zip is read only if the zip is within the limits.
        if not isinstance(self.source, zipfile.Path) and _is_packed(raw):
            size = unpacked_size(self.name, raw, self.size())
            if is_needed(size):
                blocks = from_child(_send_blocks, self, name=self.name, size=size)
                return io.BufferedReader(Parts(raw, blocks))
        return readable(raw, self.name, self.encoding)

    def size(self) -> int:
        """Its bytes, as it is packed."""
        if isinstance(self.source, bytes):
            return len(self.source)
        if isinstance(self.source, Path):
            return self.source.stat().st_size
        return self.source.root.getinfo(self.source.at).file_size

    def raw(self) -> IO[bytes]:
        """Its own bytes, packed or not."""
        if isinstance(self.source, bytes):
            return io.BytesIO(self.source)
        if isinstance(self.source, Path):
            return self.source.open("rb")
        # Buffered, because a member of a zip looks for the end of a line in small steps.
        return io.BufferedReader(cast(io.RawIOBase, self.source.open("rb")))

    def read(self) -> bytes:
        with self.open() as stream:
            return stream.read()

    def once(self) -> "File":
        """This file; a workbook, which is slow to read, as the CSV of its first sheet in memory."""
        is_workbook = self.name.lower().endswith(WORKBOOKS)
        if not is_workbook:
            return self
        return replace(self, source=self.read(), sheets=self._sheets())

    def records(
        self, *, header_faults: HeaderFaults
    ) -> Iterator[tuple[int, dict[str, str]] | BadLine]:
        """The rows of a CSV file or workbook, as in `lines.records`."""
        with self.open() as stream:
            for entry in records(
                stream, self.name, header_faults=header_faults, changes=self.changes
            ):
                yield self._with_sheets(entry) if isinstance(entry, BadLine) else entry

    def _with_sheets(self, bad: BadLine) -> BadLine:
        """The fault of a row; if nothing more is read, with the other sheets of a workbook."""
        if not bad.fault.ends_reading or not (about := about_sheets(self._sheets())):
            return bad
        return BadLine(replace(bad.fault, remedy=f"{bad.fault.remedy} {about}"))

    def _sheets(self) -> tuple[str, ...]:
        if self.sheets or not self.name.lower().endswith(WORKBOOKS):
            return self.sheets
        with self.raw() as raw:
            return tuple(sheets_of(raw))

    def head(self) -> bytes:
        """Its first bytes after white space and a byte order mark."""
        with self.open() as stream:
            return stream.read(1024).lstrip(b"\xef\xbb\xbf").lstrip()

    def blocks(self) -> Iterator[bytes]:
        with self.open() as stream:
            yield from iter(lambda: stream.read(_BLOCK), b"")

    def count_lines(self) -> int:
        return sum(block.count(b"\n") for block in self.blocks())

    def sha256(self) -> str:
        hashed = hashlib.sha256()
        for block in self.blocks():
            hashed.update(block)
        return hashed.hexdigest()


def _is_packed(raw: IO[bytes]) -> bool:
    start = raw.read(len(MAGIC))
    raw.seek(0)
    return is_parquet(start) or start.startswith((ZIPPED, GZIPPED))


def _send_blocks(send: Send, file: File) -> None:
    for block in file.blocks():
        send(block)


@dataclass(frozen=True)
class Bundle:
    """A file of items with the other files of its folder; a single file has no `dataset`."""

    name: str
    items: File
    dataset: dict[str, Any] = field(default_factory=dict)
    personas: File | None = None
    feature_words: File | None = None
    media: DeliveredMedia | None = None


def readable(stream: IO[bytes], name: str, encoding: str = "") -> IO[bytes]:
    """A stream from its start; of a Parquet file, its rows as lines of JSON. Raises `Refused`.

    A text file in another `encoding` is read as UTF-8.
    """
    start = stream.read(LOOKED_AT)
    stream.seek(0)
    try:
        if is_parquet(start):
            return json_stream(stream, name)
        return unpacked(stream, name, start, encoding)
    except BaseException:
        stream.close()
        raise


def open_path(path: str | Path) -> Bundle:
    """The bundle at `path`. Raises `Refused` if it cannot be read or a part is missing."""
    path = Path(path)
    try:
        if path.is_dir():
            parts = {
                name: file_at(_sized(path / name)) for name in _PARTS if (path / name).is_file()
            }
            return _bundle(path.name, parts, keeper().in_folder(path))
        return _opened(file_at(_sized(path)))
    except OSError as error:
        reason = error.strerror or str(error)
        raise refused(path.name, f"{path} cannot be read: {reason}.", "Check the path.") from error


def _sized(path: Path) -> Path:
    if path.stat().st_size > MAX_BYTES:
        raise _too_big(path.name)
    return path


def file_at(path: Path) -> File:
    """The file at `path`; a pipe is read at once. Raises `OSError`, and `Refused` if it is long."""
    if not path.is_file():
        with path.open("rb") as pipe:
            content = pipe.read(MAX_BYTES + 1)
        if len(content) > MAX_BYTES:
            raise _too_big(path.name)
        return File(path.name, content)
    path.open("rb").close()
    return File(path.name, path)


def _opened(file: File) -> Bundle:
    """The bundle in a file. A zip stays open as long as its members are used."""
    if file.name.lower().endswith(_OTHER_WORKBOOKS):
        raise unreadable(file.name, "this kind of workbook is not read.")
    packed = file.source if isinstance(file.source, (Path, bytes)) else file.read()
    source = io.BytesIO(packed) if isinstance(packed, bytes) else packed
    try:
        if not zipfile.is_zipfile(source):
            with file.open():  # refuses what is no table
                pass
            if file.name.lower().endswith(WORKBOOKS):
                raise unreadable(file.name)
            return Bundle(file.name, file)
        archive = open_zip(file.name, source)
        if is_single(archive):
            archive.close()
            return Bundle(file.name, file.once())
        return _bundle(file.name, *_members(file.name, archive))
    except BROKEN_ZIP as error:
        raise bad_zip(file.name, error) from error


def bad_zip(name: str, error: Exception) -> Refused:
    message = f"the zip file cannot be read: {error}."
    return refused(name, message, "Pack the folder again, without a password.")


def open_zip(name: str, file: Path | IO[bytes]) -> zipfile.ZipFile:
    """Open a zip file within the limits. Raises `Refused`, and one of `BROKEN_ZIP`."""
    check_list(name, file)
    archive = zipfile.ZipFile(file)
    infos = archive.infolist()
    size = sum(info.file_size for info in infos)
    if len(infos) <= MAX_MEMBERS and size <= MAX_UNPACKED:
        return archive
    archive.close()
    if size > MAX_UNPACKED:
        message = f"the zip file unpacks to {size // 2**20:,} MB; at most 500 MB are read."
        raise refused(name, message, "Split it and import the parts.")
    raise too_many_files(name)


def _members(name: str, archive: zipfile.ZipFile) -> tuple[dict[str, File], DeliveredMedia]:
    """The parts of a zip, at its top or in one folder of it, and its pictures and sounds.

    Other files are not unpacked.
    """
    parts: dict[str, File] = {}
    inner = within = ""
    for info in archive.infolist():
        folder, _, base = info.filename.rpartition("/")
        if base.lower().endswith(".zip"):
            inner = inner or info.filename
        if base not in _PARTS or "/" in folder or folder.startswith("__MACOSX"):
            continue
        if info.file_size > MAX_BYTES:
            raise _too_big(f"{name}/{base}")
        if base in parts:
            raise refused(name, f"the zip file contains {base} twice.", "Pack one folder only.")
        parts[base] = File(base, zipfile.Path(archive, info.filename))
        within = folder if base in _ITEMS else within
        with archive.open(info) as start:
            if start.read(len(ZIPPED)) == ZIPPED:
                raise _zip_in_zip(name, info.filename)
    if inner and not parts:
        raise _zip_in_zip(name, inner)
    return parts, keeper().in_zip(archive, within)


def _zip_in_zip(name: str, inner: str) -> Refused:
    message = f"the zip file holds another zip file, {inner[:120]}."
    return refused(name, message, "Unpack it, and import the inner file or its folder.")


def unpacked_size(name: str, file: IO[bytes], size: int) -> int:
    """The number of bytes to read of a file of `size` bytes; of a zip, its unpacked size.

    A zip that cannot be read counts with its own size; a Parquet or gzip file, which may unpack to
    any size, counts as the largest file. Raises `Refused` as `open_zip` does.
    """
    try:
        start = file.read(len(MAGIC))
        if is_parquet(start) or start.startswith(GZIPPED):
            return MAX_BYTES
        file.seek(0)
        if not zipfile.is_zipfile(file):
            return size
        with open_zip(name, file) as archive:
            return max(size, sum(info.file_size for info in archive.infolist()))
    except BROKEN_ZIP:
        return size
    finally:
        file.seek(0)


def size_of(path: Path) -> int:
    """The unpacked bytes of a file or a folder's files; 0 for a pipe or a missing file.

    A zip beyond the limits counts as the largest file.
    """
    try:
        if path.is_dir():
            return sum(size_of(file) for file in path.rglob("*") if file.is_file())
        if not path.is_file():
            return 0
        with path.open("rb") as stream:
            return unpacked_size(path.name, stream, path.stat().st_size)
    except (OSError, Refused):
        return MAX_BYTES


def _bundle(name: str, parts: dict[str, File], media: DeliveredMedia) -> Bundle:
    items = next((part for part in _ITEMS if part in parts), None)
    if items is None:
        raise refused(
            name, "the bundle has no items.jsonl.", "Put items.jsonl and dataset.json into it."
        )
    if "dataset.json" in parts:
        dataset = _dataset(name, parts["dataset.json"])
    elif media.has_files:
        dataset = {}
    else:
        raise refused(
            name, "the bundle has no dataset.json.", "Add it, or import items.jsonl by itself."
        )
    stated = dataset.get("sha256")
    if stated and stated != parts[items].sha256():
        raise refused(
            name,
            f"{items} is not the file that dataset.json describes: their sha256 differ.",
            "Use both from one bundle, or remove sha256 from dataset.json.",
        )
    return Bundle(
        name,
        parts[items],
        dataset,
        parts.get("personas.jsonl"),
        parts.get("persona_features.csv"),
        media,
    )


def _dataset(name: str, file: File) -> dict[str, Any]:
    try:
        with file.open() as stream:
            dataset = document(stream)
    except NotJson as error:
        raise refused(name, f"dataset.json is not JSON: {error}.", "Correct it.") from error
    if any(b"\\u0000" in block for block in file.blocks()):
        raise refused(name, "dataset.json holds the character U+0000.", "Remove it.")
    if not isinstance(dataset, dict) or dataset.get("format") != FORMAT:
        raise refused(
            name, f"dataset.json has no format “{FORMAT}”.", "Add it, or import the right file."
        )
    version = str(dataset.get("format_version", ""))
    if version.partition(".")[0] != "1":
        raise refused(
            name,
            f"dataset.json has format_version “{version}”; this program reads 1.",
            "Write the bundle in version 1.0.",
        )
    for key, kind in (("source", dict), ("title", str), ("name", str), ("language", str)):
        if not isinstance(dataset.get(key, kind()), kind):
            what = "an object" if kind is dict else "text"
            raise refused(name, f"{key} in dataset.json must be {what}.", "Correct it.")
    word = dataset.get("source", {}).get("redistribution")
    if word and word not in REDISTRIBUTION:
        raise refused(
            name,
            f"source.redistribution in dataset.json is “{word}”.",
            f"Use one of: {', '.join(REDISTRIBUTION)}.",
        )
    return dataset


def _too_big(name: str) -> Refused:
    return refused(name, "the file is larger than 200 MB.", "Split it and import the parts.")
