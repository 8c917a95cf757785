"""Requests to an archive, which send the token only to its own hosts, and the files to send."""

import hashlib
import json
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any
from urllib.parse import urlsplit

from analysis.errors import ExportError

_TRIES = 4
_SECONDS = (10, 300)  # to connect, and to wait for the next byte
_LOCAL = ("localhost", "127.0.0.1", "::1")
_AGENT = "thirdperson"
_TOLD = 300  # characters of an answer in an error


class PublicationRefused(ExportError):
    """The rules of the study, or a missing choice, forbid sending its data."""


class PublicationFailed(ExportError):
    """An archive did not accept the files; the same command continues where it stopped."""


class ArchiveConnection:
    """A server with a token. `domain` covers other hosts to which the server sends us."""

    def __init__(self, base: str, token: str, *, domain: str = "") -> None:
        import requests
        from requests.adapters import HTTPAdapter
        from urllib3.util import Retry

        self.base = base.rstrip("/")
        where = urlsplit(self.base)
        if where.scheme != "https" and where.hostname not in _LOCAL:
            raise PublicationRefused(
                f"{base} is not an https address, so others could read your token. Use an address "
                "that begins with https://."
            )
        self._host, self._domain = where.hostname or "", domain
        self._token = token
        self._session = requests.Session()
        # Without this, a password from .netrc would replace the token.
        self._session.auth = lambda request: request
        # Only safe requests are repeated: a draft is never created twice.
        retry = Retry(
            total=_TRIES,
            backoff_factor=1,
            status_forcelist=(429, 502, 503, 504),
            raise_on_status=False,
        )
        for scheme in ("https://", "http://"):
            self._session.mount(scheme, HTTPAdapter(max_retries=retry))

    def ask(
        self,
        method: str,
        address: str,
        *,
        expected: tuple[int, ...] = (200, 201),
        body: Any = None,
        data: IO[bytes] | bytes | None = None,
        params: dict[str, str] | None = None,
        headers: dict[str, str] | None = None,
        with_token: bool = True,
    ) -> Any:
        """The answer to a request. Raises `PublicationFailed`, also for an unexpected status."""
        import requests

        url = address if "://" in address else self.base + address
        sent = {"User-Agent": _AGENT, **(headers or {})}
        if body is not None:
            sent.setdefault("Content-Type", "application/json")
            data = json.dumps(body).encode()
        if with_token:
            self._check_host(url)
            sent["Authorization"] = f"Bearer {self._token}"
        asked = f"{method} {urlsplit(url).hostname}{urlsplit(url).path}"
        try:
            reply = self._session.request(
                method,
                url,
                data=data,
                params=params,
                headers=sent,
                timeout=_SECONDS,
                allow_redirects=False,
            )
        except requests.RequestException:
            raise PublicationFailed(
                f"{asked} was not answered. Run the same command again: "
                "it sends only what is missing."
            ) from None
        if reply.status_code not in expected:
            raise PublicationFailed(
                f"{asked} was answered with {reply.status_code}: {_words(reply.text)}"
                f"{_remedy(reply.status_code)}"
            )
        return reply

    def _check_host(self, url: str) -> None:
        """Keep the token from foreign addresses that a server names."""
        where = urlsplit(url)
        host = where.hostname or ""
        is_ours = host == self._host or (self._domain and host.endswith(f".{self._domain}"))
        if not is_ours or (where.scheme != "https" and host not in _LOCAL):
            raise PublicationFailed(
                f"The server sent us to {where.scheme}://{host}, which is not one of its own "
                "hosts. Nothing was sent there."
            )


def _words(text: str) -> str:
    short = " ".join(text.split())
    return short if len(short) <= _TOLD else f"{short[:_TOLD]}…"


def _remedy(status: int) -> str:
    if status in (401, 403):
        return " Check that the token is valid and may write."
    if status >= 500 or status == 429:
        return " Run the same command again later: it sends only what is missing."
    return ""


# Files that archives show next to the zip file, so that readers need not unpack it.
_SHOWN = ("README.md", "LICENSE", "CITATION.cff", "croissant.json", "CHECKSUMS.sha256")
# A fixed time, so that the same files make the same zip file.
_DATE = (1980, 1, 1, 0, 0, 0)
_BLOCK = 2**20


@dataclass(frozen=True)
class Leaving:
    """A file to send: its name at the archive, its place here, size and checksums."""

    name: str
    path: Path
    size: int
    sha256: str
    md5: str
    # Git's name of the content, which the hub lists for small files.
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
    """The folder as a zip file next to it, and the files that readers see before unpacking."""
    archive = folder.with_name(f"{name}.zip")
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED, compresslevel=6) as bundle:
        for path in sorted(folder.rglob("*")):
            if path.is_file():
                entry = zipfile.ZipInfo(f"{name}/{path.relative_to(folder).as_posix()}", _DATE)
                entry.compress_type = zipfile.ZIP_DEFLATED
                with path.open("rb") as source, bundle.open(entry, "w") as target:
                    for block in iter(lambda: source.read(_BLOCK), b""):
                        target.write(block)
    pages = (leaving(folder / page, page) for page in _SHOWN if (folder / page).exists())
    return (*pages, leaving(archive, archive.name))


@contextmanager
def part_of(file: Leaving, start: int, length: int) -> Iterator[bytes]:
    """A range of bytes of a file."""
    with file.path.open("rb") as opened:
        opened.seek(start)
        yield opened.read(length)
