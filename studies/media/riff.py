"""RIFF, the container of WebP and WAV: chunks, each with a name and a length."""

from collections.abc import Iterable, Iterator

from studies.media.errors import BadMedia

_HEAD = 8


def chunks_of(data: bytes) -> Iterator[tuple[bytes, bytes]]:
    """The chunks after the name of the format. Raises `BadMedia` for one that is cut."""
    end = min(len(data), _HEAD + int.from_bytes(data[4:8], "little"))
    place = 12
    while place + _HEAD <= end:
        name, size = data[place : place + 4], int.from_bytes(data[place + 4 : place + 8], "little")
        start = place + _HEAD
        if start + size > end:
            raise BadMedia("is cut off.", "Save it again.")
        yield name, data[start : start + size]
        place = start + size + size % 2


def riff(kind: bytes, chunks: Iterable[tuple[bytes, bytes]]) -> bytes:
    """A file of this format with these chunks."""
    body = b"".join(
        name + len(content).to_bytes(4, "little") + content + b"\0" * (len(content) % 2)
        for name, content in chunks
    )
    return b"RIFF" + (len(body) + 4).to_bytes(4, "little") + kind + body
