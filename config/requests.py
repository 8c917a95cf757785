"""The end of an HTTP/1 request: as much parsing as a server needs to wait for all of it."""

import re
from collections.abc import Iterator
from tempfile import SpooledTemporaryFile

_CHUNK = 65_536
_IN_MEMORY = 262_144
# More than gunicorn reads of a head: gunicorn refuses this with its own message.
_LONGEST_HEAD = 131_072
# More than any upload here; gunicorn and Django report which one is too large.
_LONGEST_BODY = 256 * 1024 * 1024

_HEAD_ENDS = b"\r\n\r\n"
_LENGTH = re.compile(rb"^content-length[ \t]*:[ \t]*(\d{1,15})[ \t]*\r?$", re.I | re.M)
_NAMED = re.compile(rb"^content-length", re.I | re.M)
_CHUNKED = re.compile(rb"^transfer-encoding[ \t]*:", re.I | re.M)
_EXPECTS = re.compile(rb"^expect[ \t]*:[ \t]*100-continue", re.I | re.M)
_LAST_CHUNK = b"0\r\n\r\n"


class Incoming:
    """The bytes of one request as they arrive, and whether it is complete.

    A request that cannot be parsed counts as complete: the server that reads it reports the error.
    """

    def __init__(self) -> None:
        self._head = b""
        # Most requests have no body; gunicorn reads a large one from a file.
        self._body: SpooledTemporaryFile[bytes] | None = None
        self._received = 0
        self._tail = b""
        self._chunked = False
        # Whether every server agrees where this request ends: only then may another one follow.
        self.is_plain = True
        self.has_head = False
        self.expects_continue = False
        self.length = 0

    @property
    def is_empty(self) -> bool:
        return not self._head

    @property
    def is_whole(self) -> bool:
        if not self.has_head:
            return len(self._head) > _LONGEST_HEAD
        if self._received > _LONGEST_BODY:
            return True
        if self._chunked:
            return self._tail == _LAST_CHUNK
        return self._received >= self.length

    def feed(self, data: bytes) -> None:
        if self.has_head:
            self._take(data)
            return
        # The end may span the earlier bytes and the new ones.
        begin = max(0, len(self._head) - len(_HEAD_ENDS) + 1)
        self._head += data
        if (end := self._head.find(_HEAD_ENDS, begin)) >= 0:
            end += len(_HEAD_ENDS)
            body, self._head = self._head[end:], self._head[:end]
            self._read_head()
            self._take(body)

    def _read_head(self) -> None:
        self.has_head = True
        self.expects_continue = bool(_EXPECTS.search(self._head))
        self._chunked = bool(_CHUNKED.search(self._head))
        lengths = _LENGTH.findall(self._head)
        self.length = int(lengths[0]) if len(lengths) == 1 else 0
        self.is_plain = not self._chunked and len(lengths) == len(_NAMED.findall(self._head)) <= 1
        if self.length > _LONGEST_BODY:
            self.length, self.is_plain = 0, False

    def _take(self, data: bytes) -> None:
        if not self._chunked and len(data) > (own := max(0, self.length - self._received)):
            # Nobody sends a second request before the first is answered.
            data, self.is_plain = data[:own], False
        if data:
            if self._body is None:
                self._body = SpooledTemporaryFile(max_size=_IN_MEMORY)
            self._body.write(data)
        self._received += len(data)
        self._tail = (self._tail + data)[-len(_LAST_CHUNK) :]

    def chunks(self) -> Iterator[bytes]:
        """The whole request from its beginning."""
        yield self._head
        if self._body is not None:
            self._body.seek(0)
            while data := self._body.read(_CHUNK):
                yield data

    def close(self) -> None:
        if self._body is not None:
            self._body.close()
