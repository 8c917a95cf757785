"""A small HTTP client on asyncio: one connection, one cookie jar, no Django.

It does little work per request, so that a server on the same machine can be measured with it.
"""

import asyncio
import json
from dataclasses import dataclass
from urllib.parse import urlencode, urlsplit

_TIMEOUT = 60.0  # seconds for one response


class UnexpectedResponse(Exception):
    """A response that no page on the path can have."""


class ConnectionLost(OSError):
    """The server closed the connection before the response was complete."""


@dataclass(frozen=True)
class Response:
    status: int
    headers: dict[str, str]
    text: str

    @property
    def location(self) -> str:
        """The path and query that a redirect leads to; empty if it is none."""
        target = urlsplit(self.headers.get("location", ""))
        return target.path + (f"?{target.query}" if target.query else "")


class Browser:
    """Sends one request at a time, over a connection that it keeps open where the server does."""

    def __init__(self, base_url: str, headers: dict[str, str] | None = None) -> None:
        address = urlsplit(base_url)
        self._host, self._port = address.hostname or "127.0.0.1", address.port or 80
        self._headers = {"Host": address.netloc, **(headers or {})}
        self._cookies: dict[str, str] = {}
        self._reader: asyncio.StreamReader | None = None
        self._writer: asyncio.StreamWriter | None = None

    async def get(self, path: str) -> Response:
        return await self._send("GET", path)

    async def post(
        self, path: str, form: dict[str, str], headers: dict[str, str] | None = None
    ) -> Response:
        kind = {"Content-Type": "application/x-www-form-urlencoded", **(headers or {})}
        return await self._send("POST", path, urlencode(form).encode(), kind)

    async def post_json(self, path: str, data: object) -> Response:
        kind = {"Content-Type": "application/json"}
        return await self._send("POST", path, json.dumps(data).encode(), kind)

    async def follow(self, response: Response) -> Response:
        """The page that the redirects after `response` lead to."""
        while response.status in (301, 302, 303, 307):
            response = await self.get(response.location)
        return response

    def close(self) -> None:
        if self._writer is not None:
            self._writer.close()
        self._reader = self._writer = None

    async def _send(
        self, method: str, path: str, body: bytes = b"", headers: dict[str, str] | None = None
    ) -> Response:
        sent = {**self._headers, **(headers or {})}
        if self._cookies:
            sent["Cookie"] = "; ".join(f"{name}={value}" for name, value in self._cookies.items())
        if method == "POST":
            sent["Content-Length"] = str(len(body))
        lines = [f"{method} {path} HTTP/1.1", *(f"{key}: {value}" for key, value in sent.items())]
        head = ("\r\n".join(lines) + "\r\n\r\n").encode()
        try:
            async with asyncio.timeout(_TIMEOUT):
                reader, writer = await self._connection()
                writer.write(head + body)
                return await self._receive(reader)
        except asyncio.IncompleteReadError as error:
            self.close()
            raise ConnectionLost(f"{method} {_plain(path)}: connection lost") from error
        except TimeoutError as error:
            self.close()
            raise ConnectionLost(f"{method} {_plain(path)}: no response in 60 s") from error
        except BaseException:
            self.close()
            raise

    async def _connection(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """The open connection, or a new one if the server has closed it."""
        if self._reader is None or self._writer is None or self._reader.at_eof():
            self.close()
            self._reader, self._writer = await asyncio.open_connection(
                self._host, self._port, limit=2**20
            )
        return self._reader, self._writer

    async def _receive(self, reader: asyncio.StreamReader) -> Response:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        start, *lines = head.rstrip("\r\n").split("\r\n")
        headers: dict[str, str] = {}
        for line in lines:
            name, _, value = line.partition(":")
            name, value = name.lower(), value.strip()
            if name == "set-cookie":
                cookie, _, rest = value.partition("=")
                self._cookies[cookie] = rest.partition(";")[0]
            headers[name] = value
        version, status, *_ = start.split(" ", 2)
        body = await _body(reader, headers)
        if version == "HTTP/1.0" or headers.get("connection", "").lower() == "close":
            self.close()
        return Response(int(status), headers, body.decode("utf-8", "replace"))


async def _body(reader: asyncio.StreamReader, headers: dict[str, str]) -> bytes:
    if "content-length" in headers:
        return await reader.readexactly(int(headers["content-length"]))
    if headers.get("transfer-encoding", "").lower() != "chunked":
        return await reader.read()
    parts = []
    while size := int((await reader.readline()).partition(b";")[0] or b"0", 16):
        parts.append(await reader.readexactly(size))
        await reader.readexactly(2)
    await reader.readuntil(b"\r\n")
    return b"".join(parts)


def _plain(path: str) -> str:
    """A path without its query and its numbers, so that equal errors are counted together."""
    return "".join("N" if letter.isdigit() else letter for letter in path.partition("?")[0])
