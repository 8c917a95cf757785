"""The path of one simulated annotator through the participants' pages; no Django here."""

import random
import re
from typing import Any
from urllib.parse import urlencode

from annotation.load_test.browser import Browser, Response, UnexpectedResponse

# What the pages' script accepts: the next item in the response to an answer.
ITEM = "text/vnd.thirdperson.item+html"

_MOST_STEPS = 50  # before the items
_BOXES = 30  # that a consent page may have
_HIDDEN = re.compile(r'name="(csrfmiddlewaretoken|assignment|try)" value="([^"]+)"')
_RADIO = re.compile(r'type="radio" name="(attr_[^"]+)" value="([^"]+)"')
_PLACE = re.compile(r'type="radio" name="(place_[a-e])"')
_UNDERSTOOD = re.compile(r'name="understood" value="([^"]+)"')
_STEP = re.compile(r"/s/[^/]+/([a-z]+)/(?:(\d+)/)?")


class SimulatedAnnotator:
    """Enters by the link of a study and does every step that the study has.

    Options: `slug`; `quiz`, the right option of each comprehension question; `script`, whether
    answers are sent as browsers with JavaScript send them.
    """

    def __init__(
        self, browser: Browser, number: int, rng: random.Random, options: dict[str, Any]
    ) -> None:
        self._browser, self._rng = browser, rng
        self._slug: str = options["slug"]
        self._quiz: list[int] = options.get("quiz", [])
        self._script: bool = options.get("script", False)
        self._id = f"{options.get('prefix', 'simulated')}{number}"
        self._location = ""
        self._page = ""

    async def enter(self) -> None:
        query = urlencode({"PROLIFIC_PID": self._id, "STUDY_ID": "s", "SESSION_ID": self._id})
        self._move(await self._browser.get(f"/s/{self._slug}/?{query}"))
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

    async def leave(self) -> None:
        if self._step != "feedback":
            return
        page = await self._browser.get(self._location)
        if page.location:
            # A page that an extra adds comes before.
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
        """The entries for the page of a step before the items."""
        if self._step == "consent":
            # A page without boxes ignores them.
            return {"consent": "yes"} | {f"agree-{number}": "yes" for number in range(_BOXES)}
        if self._step == "about":
            offered: dict[str, list[str]] = {}
            for name, value in _RADIO.findall(page.text):
                offered.setdefault(name, []).append(value)
            return {name: self._rng.choice(values) for name, values in offered.items()}
        if self._step == "quiz":
            found = _STEP.match(self._location)
            return {"answer": str(self._quiz[int(found[2]) - 1] if found else 0)}
        if self._step == "practice":
            if understood := _UNDERSTOOD.search(page.text):
                return {"understood": understood[1]}
            return {"choice": "a", "certainty": "50"}
        return {}

    async def _send(
        self, page: str, entries: dict[str, str], headers: dict[str, str] | None = None
    ) -> Response:
        """Send the form of the current page."""
        form = {**dict(_HIDDEN.findall(page)), **entries}
        return await self._browser.post(self._location, form, headers)

    def _move(self, response: Response) -> None:
        """Continue where a redirect leads; any other response here is an error."""
        if not response.location:
            raise UnexpectedResponse(f"{self._step or 'entry'}: status {response.status}")
        self._location = response.location
