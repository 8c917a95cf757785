"""A simulated annotator: an HTTP client, and the path through the pages; no Django here.

It does little work per request, so that it can measure a server on the same machine.
"""

import asyncio
import json
import random
import re
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode, urlsplit

_TIMEOUT = 60.0  # seconds for one response


class UnexpectedResponse(Exception):
    """A response that no page on the path can give."""


class ConnectionLost(OSError):
    """The server closed the connection before the response was complete."""


@dataclass(frozen=True)
class Response:
    status: int
    headers: dict[str, str]
    text: str

    @property
    def location(self) -> str:
        """The path and query of a redirect; empty for other responses."""
        target = urlsplit(self.headers.get("location", ""))
        return target.path + (f"?{target.query}" if target.query else "")


class Browser:
    """Sends one request at a time, over a connection that stays open if the server allows it."""

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
        """The page at the end of the redirects after `response`."""
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


# The header of the pages' script: the response to an answer may be the next item.
ITEM = "text/vnd.thirdperson.item+html"

_MOST_STEPS = 50  # before the items
_BOXES = 30  # of a consent page
_HIDDEN = re.compile(r'name="(csrfmiddlewaretoken|start|assignment|try)" value="([^"]+)"')
_RADIO = re.compile(r'type="radio" name="([^"]+)" value="([^"]+)"')
_TEXT = re.compile(r'type="text" name="([^"]+)"')
_AFTER_ADDED = re.compile(r'class="levels|data-answer-bar')
_PLACE = re.compile(r'type="radio" name="(place_[a-e])"')
_UNDERSTOOD = re.compile(r'name="understood" value="([^"]+)"')
_STEP = re.compile(r"/s/[^/]+/([a-z]+)/(?:(\d+)/)?")


class SimulatedAnnotator:
    """Enters by the link of a study and does every step of the study.

    Options: `slug`; `link`, the address to enter by instead of one with a made-up id; `about`,
    answers to questions about the annotator; `quiz`, the right option of each comprehension
    question; `script`, whether to send answers like browsers with JavaScript.
    """

    def __init__(
        self, browser: Browser, number: int, rng: random.Random, options: dict[str, Any]
    ) -> None:
        self._browser, self._rng = browser, rng
        identity = f"{options.get('prefix', 'simulated')}{number}"
        made_up = {"PROLIFIC_PID": identity, "STUDY_ID": "s", "SESSION_ID": identity}
        self._link: str = options.get("link") or f"/s/{options['slug']}/?{urlencode(made_up)}"
        self._about: dict[str, str] = options.get("about", {})
        self._quiz: list[int] = options.get("quiz", [])
        self._script: bool = options.get("script", False)
        self._location = ""
        self._page = ""

    async def enter(self) -> None:
        self._location = self._link
        page = await self._browser.get(self._link)
        # An open link has a page with a button.
        self._move(page if page.location else await self._send(page.text, {}))
        for _ in range(_MOST_STEPS):
            if self._step in ("task", "feedback", "done"):
                return
            page = await self._browser.get(self._location)
            self._move(page if page.location else await self._send(page.text, self._fill(page)))
        raise UnexpectedResponse(f"{self._step or 'entry'}: leads to no item")

    async def open_item(self) -> bool:
        if self._page or self._step != "task":
            return False
        while self._step == "task" and not self._page:
            response = await self._browser.get(self._location)
            if response.location:
                self._move(response)
            elif response.status == 200:
                self._page = response.text
            else:
                raise UnexpectedResponse(f"an item's page: status {response.status}")
        return True

    @property
    def has_item(self) -> bool:
        return bool(self._page)

    async def answer(self) -> None:
        page, self._page = self._page, ""
        entries = {
            "choice": self._rng.choice("ab"),
            **self._places(page),
            **self._added(page),
            "certainty": str(self._rng.randint(1, 100)),
            "active_ms": "1000",
        }
        headers = {"Accept": ITEM} if self._script else None
        response = await self._send(page, entries, headers)
        if address := response.headers.get("content-location"):
            self._location, self._page = address, response.text
        else:
            self._move(response)

    def _places(self, page: str) -> dict[str, str]:
        """A place for each response of a whole set; nothing on a page with a pair."""
        names = list(dict.fromkeys(_PLACE.findall(page)))
        drawn = self._rng.sample(range(1, len(names) + 1), len(names))
        return {name: str(place) for name, place in zip(names, drawn, strict=True)}

    def _added(self, page: str) -> dict[str, str]:
        """An answer to each question that extras ask next to the choice."""
        part = _AFTER_ADDED.split(page.partition("data-added")[2])[0]
        return self._drawn(part) | dict.fromkeys(_TEXT.findall(part), "A word or two.")

    def _drawn(self, page: str) -> dict[str, str]:
        """One of the options of each group on a page."""
        offered: dict[str, list[str]] = {}
        for name, value in _RADIO.findall(page):
            offered.setdefault(name, []).append(value)
        return {name: self._rng.choice(values) for name, values in offered.items()}

    async def leave(self) -> None:
        if self._step != "feedback":
            return
        page = await self._browser.get(self._location)
        if page.location:
            # An extra's page may come first.
            self._move(page)
            added = await self._browser.get(self._location)
            self._move(await self._send(added.text, {"do": "decide"}))
            page = await self._browser.get(self._location)
        self._move(await self._send(page.text, {"comments": ""}))

    @property
    def _step(self) -> str:
        found = _STEP.match(self._location)
        return found[1] if found else ""

    def _fill(self, page: Response) -> dict[str, str]:
        """The form data for the page of a step before the items."""
        if self._step == "consent":
            # A page without boxes ignores them.
            return {"consent": "yes"} | {f"agree-{number}": "yes" for number in range(_BOXES)}
        if self._step == "about":
            return self._drawn(page.text) | self._about
        if self._step == "quiz":
            found = _STEP.match(self._location)
            return {"answer": str(self._quiz[int(found[2]) - 1] if found else 0)}
        if self._step == "practice":
            if understood := _UNDERSTOOD.search(page.text):
                return {"understood": understood[1]}
            return {"choice": "a", "certainty": "50"} | self._added(page.text)
        return {}

    async def _send(
        self, page: str, entries: dict[str, str], headers: dict[str, str] | None = None
    ) -> Response:
        """Send the form of the current page."""
        form = {**dict(_HIDDEN.findall(page)), **entries}
        return await self._browser.post(self._location, form, headers)

    def _move(self, response: Response) -> None:
        """Follow a redirect; any other response here is an error."""
        if not response.location:
            raise UnexpectedResponse(f"{self._step or 'entry'}: status {response.status}")
        self._location = response.location
