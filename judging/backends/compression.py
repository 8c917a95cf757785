"""Answers that a server has compressed, although requests ask for plain ones."""

import importlib
import zlib
from typing import Any

from judging.engine.interface import Garbage, Misconfigured

MOST_BYTES = 64_000_000  # when unpacked; a completion is a few thousand
_GZIP_OR_ZLIB, _RAW = 47, -15
# Unpacked if the package is installed; no dependency needs it.
_PACKAGES = {"br": ("brotli", "brotlicffi"), "zstd": ("zstandard",)}


def unpacked(content: bytes, encodings: str, *, status: int) -> bytes:
    """The uncompressed content, by the header `Content-Encoding`.

    Raises `Garbage` if it is broken or too large, `Misconfigured` if it cannot be read here.
    """
    names = [name.strip().lower() for name in encodings.split(",") if name.strip()]
    for name in reversed(names):
        if content and name != "identity":
            content = _unpack(content, name, status)
    return content


def _unpack(content: bytes, name: str, status: int) -> bytes:
    try:
        if name in ("gzip", "x-gzip"):
            return _inflate(content, _GZIP_OR_ZLIB)
        if name == "deflate":
            try:
                return _inflate(content, _GZIP_OR_ZLIB)
            except zlib.error:  # some servers leave the wrapping out
                return _inflate(content, _RAW)
        for package in _PACKAGES.get(name, ()):
            try:
                module = importlib.import_module(package)
            except ImportError:
                continue
            return _by_package(module, content)
    except Exception as error:
        # Other words are the package's own.
        why = f" ({error})" if type(error) is ValueError else ""
        sentence = f"the answer is compressed as {name} and cannot be unpacked{why}"
        raise Garbage(sentence, status=status) from error
    needed = " or ".join(_PACKAGES.get(name, ()))
    install = f"install the package {needed}, or " if needed else ""
    raise Misconfigured(
        f"The server compresses its answers as {name[:20]}, which was not asked for and cannot be "
        f"read here. To continue, {install}switch compression off at the server or its proxy.",
        status=status,
    )


def _inflate(content: bytes, format: int) -> bytes:
    parts, left = [], content
    room = MOST_BYTES
    while left:  # a gzip file may have several members
        unpacker = zlib.decompressobj(format)
        parts.append(unpacker.decompress(left, room))
        if not unpacker.eof:
            raise ValueError(f"more than {MOST_BYTES:,} bytes, or cut off")
        room -= len(parts[-1])
        left = unpacker.unused_data
        if room <= 0:
            raise ValueError(f"more than {MOST_BYTES:,} bytes")
    return b"".join(parts)


# A few bytes of Brotli can hold many million, so what they hold is counted after so many.
_FEW = 16


def _by_package(module: Any, content: bytes) -> bytes:
    parts, room = [], MOST_BYTES
    if hasattr(module, "ZstdDecompressor"):
        parts.append(module.ZstdDecompressor().stream_reader(content).read(MOST_BYTES + 1))
        room -= len(parts[-1])
    else:
        unpacker = module.Decompressor()
        for start in range(0, len(content), _FEW):
            parts.append(unpacker.process(content[start : start + _FEW]))
            room -= len(parts[-1])
            if room < 0:
                break
    if room < 0:
        raise ValueError(f"more than {MOST_BYTES:,} bytes")
    return b"".join(parts)
