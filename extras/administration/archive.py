"""A zip file that is sent while it is made, so that it needs neither memory nor a disk."""

import io
import zipfile
from collections.abc import Iterable, Iterator

from studies.file_storage.storage import Stored

_BLOCK = 256 * 1024


class ArchiveSink(io.RawIOBase):
    """Collects what `zipfile` writes, until it is taken."""

    def __init__(self) -> None:
        self._blocks: list[bytes] = []

    def writable(self) -> bool:
        return True

    def write(self, block: "bytes | bytearray | memoryview") -> int:  # type: ignore[override]
        self._blocks.append(bytes(block))
        return len(block)

    def take(self) -> bytes:
        taken, self._blocks = b"".join(self._blocks), []
        return taken


def zipped(files: Iterable[tuple[str, Stored]]) -> Iterator[bytes]:
    """The files under their names, block by block. One that is gone meanwhile is left out."""
    sink = ArchiveSink()
    with zipfile.ZipFile(sink, "w", zipfile.ZIP_DEFLATED) as bundle:
        for name, stored in files:
            try:
                source = stored.open()
            except FileNotFoundError:
                continue
            with source, bundle.open(name, "w", force_zip64=True) as member:
                while block := source.read(_BLOCK):
                    member.write(block)
                    yield sink.take()
    yield sink.take()
