"""The HTTP client of one server: it reaches no address that it must not, and says what failed."""

import asyncio
import importlib.util
import re
import ssl
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Any

import httpx2

from judging.backends.backend import is_link_local
from judging.backends.completions import short
from judging.backends.compression import MOST_BYTES, unpacked
from judging.engine.interface import Garbage, Interrupted, Misconfigured, TimedOut, Unreachable
from judging.errors import BadJudge

CONNECT_SECONDS = 10.0
_KEEP_SECONDS = 5.0  # how long an idle connection is kept; servers close theirs soon after
# The library looks at every connection of a pool before and after each request. With 64 requests at
# a time, that takes a fifth of the processor time of the client in one pool, and little in these.
_POOLS = 16
_ABOUT_THE_BODY = frozenset({b"content-encoding", b"content-length", b"transfer-encoding"})


@cache
def certificates() -> ssl.SSLContext:
    """Whom to trust, read once: it takes longer than a request, and clients come and go."""
    return httpx2.create_ssl_context()


async def _refuse_link_local(event: str, info: Mapping[str, Any]) -> None:
    """Close a connection to a link-local address before anything is sent.

    The address of the connection is checked, because a name can mean another one at each look.
    """
    if not event.endswith(".connect_tcp.complete"):
        return
    stream = info["return_value"]
    address = stream.get_extra_info("server_addr")
    if address is not None and is_link_local(str(address[0])):
        await stream.aclose()
        raise Misconfigured(
            "The judge’s address is a link-local or metadata address. Use another address, or ask "
            "the administrator to set JUDGE_LINK_LOCAL=1."
        )


class _Guarded(httpx2.AsyncBaseTransport):
    """Whole and uncompressed responses. Raises `Unreachable`, `TimedOut`, `Interrupted` …

    A request goes to the pool that has the fewest, the first of them: few requests at a time keep
    using the same connections.
    """

    def __init__(
        self,
        pools: Sequence[httpx2.AsyncHTTPTransport],
        *,
        timeout: float,
        link_local: bool,
        most: int,
    ) -> None:
        self._pools = pools
        self._asked = [0] * len(pools)  # requests in progress
        self._timeout = timeout
        self._link_local = link_local
        self._most = most

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        if not self._link_local:
            request.extensions = {**request.extensions, "trace": _refuse_link_local}
        received = bytearray()
        # The library's own limits are per received piece, and pieces can keep arriving.
        number = self._asked.index(min(self._asked))
        self._asked[number] += 1
        try:
            with faults(self._timeout):
                async with asyncio.timeout(self._timeout + CONNECT_SECONDS):
                    response = await self._pools[number].handle_async_request(request)
                    try:
                        async for part in response.aiter_raw():
                            received += part
                            if len(received) > self._most:
                                raise Garbage(f"the answer is longer than {self._most:,} bytes")
                    finally:
                        await response.aclose()
        finally:
            self._asked[number] -= 1
        encodings = response.headers.get("content-encoding", "")
        # As bytes, because servers send what is not ASCII.
        kept = [(n, v) for n, v in response.headers.raw if n.lower() not in _ABOUT_THE_BODY]
        return httpx2.Response(
            response.status_code,
            headers=kept,
            content=unpacked(bytes(received), encodings, status=response.status_code),
            request=request,
        )

    async def aclose(self) -> None:
        for pool in self._pools:
            await pool.aclose()


def client_for(
    address: str,
    *,
    timeout: float,
    link_local: bool = False,
    through_proxy: bool = True,
    most: int = MOST_BYTES,
) -> httpx2.AsyncClient:
    """A client for one address. Redirects are not followed, and nothing is sent again."""
    url = httpx2.URL(address)
    limits = httpx2.Limits(
        max_connections=None, max_keepalive_connections=None, keepalive_expiry=_KEEP_SECONDS
    )
    proxy = _proxy_to(url) if through_proxy else None
    pools = [
        httpx2.AsyncHTTPTransport(
            verify=certificates() if url.scheme == "https" else False,
            trust_env=False,
            limits=limits,
            proxy=proxy,
        )
        for _ in range(_POOLS)
    ]
    return httpx2.AsyncClient(
        transport=_Guarded(pools, timeout=timeout, link_local=link_local, most=most),
        timeout=httpx2.Timeout(timeout, connect=CONNECT_SECONDS, pool=None),
        # Without this header a server may compress its response.
        headers={"Accept-Encoding": "identity", "User-Agent": "thirdperson"},
        trust_env=False,
    )


@contextmanager
def faults(timeout: float) -> Iterator[None]:
    """Raise errors of the library as faults of the backend."""
    try:
        yield
    except (httpx2.LocalProtocolError, UnicodeError, TypeError) as error:
        raise Misconfigured(
            "The request cannot be sent: the judge's address or key has a character that no "
            "request can carry. Enter both again."
        ) from error
    except httpx2.ConnectTimeout as error:
        raise Unreachable(f"no connection within {CONNECT_SECONDS:.0f} seconds") from error
    except (httpx2.TimeoutException, TimeoutError) as error:
        raise TimedOut(f"no answer within {timeout:.0f} seconds") from error
    except (httpx2.ConnectError, httpx2.ProxyError) as error:
        if "CERTIFICATE_VERIFY_FAILED" in str(error):
            raise Unreachable(_because(_UNTRUSTED, error)) from error
        raise Unreachable(_because("no connection", error)) from error
    except (httpx2.NetworkError, httpx2.ProtocolError) as error:
        raise Interrupted(_because("connection lost", error)) from error


_UNTRUSTED = (
    "the certificate of the server is not trusted; set SSL_CERT_FILE, where this program and its "
    "workers run, to a file with the certificate of its authority"
)
_BYTES = re.compile(r"(?:bytearray\()?\bb(['\"])(.*?)\1\)?")


def _because(what: str, error: Exception) -> str:
    reason = short(_BYTES.sub(r"“\2”", str(error)))  # some quote what a server sent
    return f"{what} ({reason})" if reason else what


def _proxy_to(url: httpx2.URL) -> httpx2.Proxy | None:
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
    return proxy
