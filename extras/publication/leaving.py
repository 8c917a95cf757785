"""The files that leave: a folder as it is, or packed for an archive that has no folders."""

import hashlib
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

# What archives show next to the zip file, so that readers need not unpack it.
_SHOWN = ("README.md", "LICENSE", "CITATION.cff", "croissant.json", "CHECKSUMS.sha256")
# Without times of their own, the same files make the same zip file.
_DATE = (1980, 1, 1, 0, 0, 0)
_BLOCK = 2**20


@dataclass(frozen=True)
class Leaving:
    """A file to give away: its name at the archive, its place here, size and checksums."""

    name: str
    path: Path
    size: int
    sha256: str
    md5: str
    # How git names the content, which the hub lists for small files.
    git_sha1: str


def leaving(path: Path, name: str) -> Leaving:
    size = path.stat().st_size
    md5, sha256 = hashlib.md5(usedforsecurity=False), hashlib.sha256()
    git = hashlib.sha1(f"blob {size}\0".encode(), usedforsecurity=False)
    for block in _blocks(path):
        for digest in (md5, sha256, git):
            digest.update(block)
    return Leaving(name, path, size, sha256.hexdigest(), md5.hexdigest(), git.hexdigest())


def _blocks(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        while block := file.read(_BLOCK):
            yield block


def files_of(folder: Path) -> tuple[Leaving, ...]:
    """Every file below the folder, by its path in it."""
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    return tuple(leaving(path, path.relative_to(folder).as_posix()) for path in paths)


def packed(folder: Path, name: str) -> tuple[Leaving, ...]:
    """The folder as one zip file next to it, and what readers look at before they unpack it."""
    archive = folder.with_name(f"{name}.zip")
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED, compresslevel=6) as bundle:
        for path in sorted(folder.rglob("*")):
            if path.is_file():
                entry = zipfile.ZipInfo(f"{name}/{path.relative_to(folder).as_posix()}", _DATE)
                entry.compress_type = zipfile.ZIP_DEFLATED
                with path.open("rb") as source, bundle.open(entry, "w") as target:
                    for block in iter(lambda: source.read(_BLOCK), b""):
                        target.write(block)
    shown = (leaving(folder / each, each) for each in _SHOWN if (folder / each).exists())
    return (*shown, leaving(archive, archive.name))


@contextmanager
def part_of(file: Leaving, start: int, length: int) -> Iterator[bytes]:
    """Some bytes of a file."""
    with file.path.open("rb") as opened:
        opened.seek(start)
        yield opened.read(length)
