"""A bundle for blind review: the same data without names of researchers and places."""

import io
import re
import shutil
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from analysis.errors import ExportError
from analysis.exports.catalogue import ExportFolder, FolderOrder
from extras.report_readers.links.identities import CODE, Blinding, Identity, identities_of
from studies.models.studies import Study


def write_blind(study: Study, folder: Path, order: FolderOrder) -> dict[str, int]:
    """Fill the folder, and `order.named` with the same bundle with names.

    `order.on_doubts` gets what may still name somebody. Raises `ExportError` if a name is left.
    """
    # These load the statistics.
    from analysis.exports.bundle import (
        current_report,
        describe,
        fill_folder,
        write_checksums,
        write_report,
    )

    blinding = Blinding(identities_of(study))
    if named := order.named:
        contents = fill_folder(study, folder, order)
        shutil.copytree(folder, named)
        describe(named, contents)
        write_checksums(named)
        write_report(current_report(study, order.report), folder / "report", blinding.value)
    else:
        contents = fill_folder(study, folder, order, redacted=blinding.value)
    describe(folder, replace(contents, is_blind=True))
    doubts = blind_folder(folder, blinding)
    write_checksums(folder)
    order.on_doubts(doubts)
    return contents.rows


EXPORT = ExportFolder(
    "blind",
    ("jsonl",),
    "Everything for blind review: the same data without names of researchers and places",
    write_blind,
    is_blind=True,
)


# The tables have the same bytes as in the named bundle, which proves later that they are the same.
DATA = ("jsonl", "csv", "data", "other", "prompts")
_NOT_DATA = ("dataset.json",)
_MOST_NAMED = 5


def is_data(name: str) -> bool:
    """Whether a file of the bundle, named from its folder, has rows or prompts."""
    folder, _, file = name.partition("/")
    return folder in DATA and file not in _NOT_DATA


def blind_folder(folder: Path, blinding: Blinding) -> list[str]:
    """Remove names from the texts of a bundle, and search all of its files.

    Returns sentences on words that may name somebody or mean something else. Raises `ExportError`
    if a name is left.
    """
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if path.is_file() and not is_data(name):
            _rewrite(path, blinding)
    left, doubts = list[str](), list[str]()
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            name = path.relative_to(folder).as_posix()
            for one, n in search(name, path.read_bytes(), blinding).items():
                (left if one.is_sure else doubts).append(_sentence(one, n, name))
    if left:
        more = f" and {len(left) - _MOST_NAMED:,} more" if len(left) > _MOST_NAMED else ""
        raise ExportError(
            f"Names are left: {'; '.join(left[:_MOST_NAMED])}{more}. The data is never changed. "
            "Correct the items, their source or the notes, and export again."
        )
    return doubts


def _rewrite(path: Path, blinding: Blinding) -> None:
    try:
        text = path.read_text("utf-8")
    except UnicodeDecodeError:
        return
    parts = CODE.split(text) if path.suffix == ".html" else [text]
    new = "".join(part if CODE.fullmatch(part) else blinding.text(part) for part in parts)
    if new != text:
        path.write_text(new, "utf-8")


def _sentence(one: Identity, n: int, name: str) -> str:
    return f"“{one.word}” ({one.kind}) {'once' if n == 1 else f'{n:,} times'} in {name}"


def search(name: str, data: bytes, blinding: Blinding) -> Counter[Identity]:
    """How often each word is in a file, in its name, and in what it packs: zip, PNG, PDF."""
    counts = blinding.found_in(name.encode())
    if name.endswith(".html"):
        data = CODE.sub("", data.decode("utf-8", errors="replace")).encode()
    for part in _parts(data):
        counts += blinding.found_in(part)
    return counts


def _parts(data: bytes) -> Iterator[bytes]:
    yield data
    if b"\0" in data:  # texts of two bytes a letter, as in properties of pictures and sounds
        yield data.replace(b"\0", b"")
    if data[:4] == b"PK\x03\x04":  # also XLSX
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            for entry in archive.infolist():
                yield b"\n".join((entry.filename.encode(), entry.comment, entry.extra))
                yield from _parts(archive.read(entry))
    elif data[:8] == b"\x89PNG\r\n\x1a\n":
        for kind, chunk in re.findall(rb"(zTXt|iTXt|eXIf)(.{,65536})", data, re.DOTALL):
            yield kind + b"".join(_inflated(chunk))
    elif data[:5] == b"%PDF-":
        for stream in re.findall(rb"stream\r?\n(.*?)endstream", data, re.DOTALL):
            yield b"".join(_inflated(stream))


def _inflated(data: bytes) -> Iterator[bytes]:
    """What a compressed part of a file says, wherever it begins."""
    for start in re.finditer(rb"\x78[\x01\x5e\x9c\xda]", data):
        try:
            yield zlib.decompressobj().decompress(data[start.start() :])
        except zlib.error:
            continue
