"""A file that is read block by block from somewhere else."""

import io
from collections.abc import Callable
from typing import IO, cast


def read_blocks(size: int, block_bytes: int, block: Callable[[int], bytes]) -> IO[bytes]:
    """A seekable file of `size` bytes. `block(n)` returns those from `n * block_bytes`.

    One block at a time is in memory.
    """
    raw = _Blocks(size, block_bytes, block)
    return cast(IO[bytes], io.BufferedReader(raw, buffer_size=64 * 1024))


class _Blocks(io.RawIOBase):
    def __init__(self, size: int, block_bytes: int, block: Callable[[int], bytes]) -> None:
        self._size, self._block_bytes, self._block = size, block_bytes, block
        self._position = 0
        self._number, self._data = -1, b""

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._position

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._position, io.SEEK_END: self._size}[whence]
        self._position = max(0, base + offset)
        return self._position

    def readinto(self, buffer) -> int:
        if self._position >= self._size:
            return 0
        number, start = divmod(self._position, self._block_bytes)
        if number != self._number:
            self._number, self._data = number, self._block(number)
        found = self._data[start : start + len(buffer)]
        if not found:
            raise OSError("a file is shorter than it should be")
        buffer[: len(found)] = found
        self._position += len(found)
        return len(found)
