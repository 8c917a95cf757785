"""Connections to one address of one server; the most recently used one is used next.

The HTTP library's own pool looks at all its connections for every request. With 64 of them that is
half of a request's work, and the limiter already decides how many requests run at once.
"""

import asyncio
import importlib.util
import ssl
import urllib.request
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache

import httpcore2
import httpx2

from judging.backends.backend import is_link_local
from judging.backends.completions import short
from judging.engine.interface import Garbage, Interrupted, Misconfigured, TimedOut, Unreachable
from judging.errors import BadJudge

CONNECT_SECONDS = 10.0
Headers = Sequence[tuple[str, str]] | Sequence[tuple[bytes, bytes]]
_KEEP_SECONDS = 5.0  # how long an idle connection is kept; servers close theirs soon after


@cache
def certificates() -> ssl.SSLContext:
    """Whom to trust, read once: it takes longer than a request, and clients come and go."""
    return httpx2.create_ssl_context()


class _NoLinkLocal(httpcore2.AnyIOBackend):
    """Closes a connection to a link-local address before anything is sent.

    The address of the connection is checked, because a name can mean another one at each look.
    """

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        stream = await super().connect_tcp(host, port, timeout, local_address, socket_options)
        address = stream.get_extra_info("server_addr")
        if address is not None and is_link_local(str(address[0])):
            await stream.aclose()
            raise Misconfigured(
                f"{host} is a link-local or metadata address. Use another address, or ask the "
                "administrator to set JUDGE_LINK_LOCAL=1."
            )
        return stream


class Connections:
    """One connection per request under way; redirects are not followed, nothing is retried."""

    def __init__(
        self,
        address: str,
        *,
        headers: Mapping[str, str],
        timeout: float,
        link_local: bool = False,
        through_proxy: bool = True,
        secrets: Sequence[str] = (),
    ) -> None:
        url = httpx2.URL(address)
        self._server = (url.raw_scheme, url.raw_host, url.port)
        self._url = httpcore2.URL(
            scheme=url.raw_scheme, host=url.raw_host, port=url.port, target=url.raw_path
        )
        # Without this header a server may compress its response.
        plain = ("Accept-Encoding", "identity")
        self._headers = [("Host", url.netloc.decode()), plain, *headers.items()]
        self.secrets = secrets  # which responses may repeat
        self._timeout = timeout
        self._extensions = {
            "timeout": {"connect": CONNECT_SECONDS, "read": timeout, "write": timeout}
        }
        self._maker = httpcore2.AsyncConnectionPool(
            proxy=_proxy_to(url) if through_proxy else None,
            ssl_context=certificates() if url.scheme == "https" else None,
            keepalive_expiry=_KEEP_SECONDS,
            network_backend=None if link_local else _NoLinkLocal(),
        )
        self._idle: list[httpcore2.AsyncConnectionInterface] = []

    async def post(self, content: bytes) -> httpcore2.Response:
        return await self._send("POST", content)

    async def read(self, content: bytes = b"", *, most: int) -> tuple[int, bytes]:
        """Status and body of a GET, or of a POST with content; at most so many bytes are read.

        For what a server says about itself. Raises `Garbage` if it says more.
        """
        connection = self._maker.create_connection(self._url.origin)
        received = bytearray()
        try:
            with _faults(self._timeout):
                async with connection.stream(
                    "POST" if content else "GET",
                    self._url,
                    headers=self._headers,
                    content=content,
                    extensions=self._extensions,
                ) as response:
                    async for part in response.aiter_stream():
                        received += part
                        if len(received) > most:
                            raise Garbage(f"the answer is longer than {most:,} bytes")
                    return response.status, bytes(received)
        finally:
            await connection.aclose()

    async def forward(
        self, method: str, url: httpx2.URL, headers: Headers, content: bytes
    ) -> httpcore2.Response:
        """Send a request that a provider's library has written, to this server and no other."""
        if (url.raw_scheme, url.raw_host, url.port) != self._server:
            raise Misconfigured("The library of the provider asks another server than the judge's.")
        return await self._send(method, content, target=url.raw_path, headers=headers)

    async def _send(
        self,
        method: str,
        content: bytes,
        *,
        target: bytes | None = None,
        headers: Headers | None = None,
    ) -> httpcore2.Response:
        """The whole response. Raises `Unreachable`, `TimedOut` or `Interrupted`."""
        url = self._url
        if target is not None:
            url = httpcore2.URL(scheme=url.scheme, host=url.host, port=url.port, target=target)
        # The library's own limits are per received piece, and pieces can keep arriving.
        with _faults(self._timeout):
            async with asyncio.timeout(self._timeout + CONNECT_SECONDS):
                return await self._request(method, url, headers or self._headers, content)

    async def _request(
        self, method: str, url: httpcore2.URL, headers: Headers, content: bytes
    ) -> httpcore2.Response:
        connection = await self._take()
        try:
            return await connection.request(
                method,
                url,
                headers=headers,
                content=content,
                extensions=self._extensions,
            )
        finally:
            if connection.is_available():  # otherwise it has closed itself
                self._idle.append(connection)

    async def _take(self) -> httpcore2.AsyncConnectionInterface:
        while self._idle:
            connection = self._idle.pop()
            if not connection.has_expired():
                return connection
            await connection.aclose()
        return self._maker.create_connection(self._url.origin)

    async def close(self) -> None:
        while self._idle:
            await self._idle.pop().aclose()


@contextmanager
def _faults(timeout: float) -> Iterator[None]:
    """Raise errors of the library as faults of the backend."""
    try:
        yield
    except (httpcore2.LocalProtocolError, UnicodeError, TypeError) as error:
        raise Misconfigured(
            "The request cannot be sent: the judge's address or key has a character that no "
            "request can carry. Enter both again."
        ) from error
    except httpcore2.ConnectTimeout as error:
        raise Unreachable(f"no connection within {CONNECT_SECONDS:.0f} seconds") from error
    except (httpcore2.TimeoutException, TimeoutError) as error:
        raise TimedOut(f"no answer within {timeout:.0f} seconds") from error
    except (httpcore2.ConnectError, httpcore2.ProxyError) as error:
        raise Unreachable(_because("no connection", error)) from error
    except (httpcore2.NetworkError, httpcore2.ProtocolError) as error:
        raise Interrupted(_because("connection lost", error)) from error


def _because(what: str, error: Exception) -> str:
    reason = short(str(error))
    return f"{what} ({reason})" if reason else what


def _proxy_to(url: httpx2.URL) -> httpcore2.Proxy | None:
    """The proxy that the environment names for an address. Raises `BadJudge` if it is none."""
    proxies = urllib.request.getproxies()
    scheme = url.scheme if proxies.get(url.scheme) else "all"
    named = proxies.get(scheme, "").strip()
    if not named or urllib.request.proxy_bypass(url.host):
        return None
    # Other programs take an address without a scheme, and write socks:// for socks5://.
    named = named if "://" in named else f"http://{named}"
    named = f"socks5{named[5:]}" if named.startswith("socks://") else named
    variable = f"{scheme.upper()}_PROXY"
    try:
        proxy = httpx2.Proxy(named)  # takes a name and a password out of the address
    except (ValueError, httpx2.InvalidURL) as error:
        raise BadJudge(
            f"The environment variable {variable} names no proxy that can be used here. Give it an "
            "address like http://HOST:PORT, or remove it, where this program and its workers run."
        ) from error
    if proxy.url.scheme.startswith("socks") and importlib.util.find_spec("socksio") is None:
        raise BadJudge(
            f"The environment variable {variable} names a SOCKS proxy, which needs the Python "
            "package socksio. Install it where this program and its workers run, name an HTTP "
            f"proxy, or list {url.host} in NO_PROXY."
        )
    return httpcore2.Proxy(str(proxy.url), auth=proxy.raw_auth)
