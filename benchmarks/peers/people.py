"""The paths of simulated people through the peers' pages; see `benchmarks.load.client`."""

import random
import re
from typing import Any
from urllib.parse import urlencode

from benchmarks.load.participants import Browser, Response, UnexpectedResponse

_ITEMS_EACH = 30
_CSRF = re.compile(r'name="csrfmiddlewaretoken" value="([^"]+)"')
_INSTANCE = re.compile(r'id="instance_id"[^>]* value="([^"]+)"')


class OTreeParticipant:
    """A page and a form for each item; option `session` is the code of the session's link."""

    def __init__(
        self, browser: Browser, number: int, rng: random.Random, options: dict[str, Any]
    ) -> None:
        self._browser, self._rng, self._number = browser, rng, number
        self._link = f"/join/{options['session']}"
        self._location = ""
        self.has_item = False

    async def enter(self) -> None:
        label = urlencode({"participant_label": f"simulated{self._number}"})
        response = await self._browser.get(f"{self._link}?{label}")
        while "/p/" not in response.location:
            if not response.location:
                raise UnexpectedResponse(f"entry: status {response.status}")
            response = await self._browser.get(response.location)
        self._location = response.location

    async def open_item(self) -> bool:
        if "/Task/" not in self._location:
            return False
        _expect(await self._browser.get(self._location), 200)
        self.has_item = True
        return True

    async def answer(self) -> None:
        self.has_item = False
        form = {"choice": self._rng.choice("ab"), "certainty": str(self._rng.randint(1, 100))}
        response = await self._browser.post(self._location, form)
        if not response.location:
            raise UnexpectedResponse(f"answer: status {response.status}")
        self._location = response.location

    async def leave(self) -> None:
        _expect(await self._browser.get(self._location), 200)


class BarePerson:
    """The form of `benchmarks.peers.bare`, again and again."""

    def __init__(
        self, browser: Browser, number: int, rng: random.Random, options: dict[str, Any]
    ) -> None:
        self._browser, self._rng, self._left, self._token = browser, rng, _ITEMS_EACH, ""

    async def enter(self) -> None:
        pass

    async def open_item(self) -> bool:
        if not self._left:
            return False
        found = _CSRF.search(_expect(await self._browser.get("/"), 200).text)
        self._token = found[1] if found else ""
        return True

    @property
    def has_item(self) -> bool:
        return bool(self._token)

    async def answer(self) -> None:
        form = {"choice": self._rng.choice("ab"), "certainty": str(self._rng.randint(1, 100))}
        form["csrfmiddlewaretoken"], self._token = self._token, ""
        self._left -= 1
        _expect(await self._browser.post("/", form), 302)

    async def leave(self) -> None:
        pass


class PotatoAnnotator:
    """A page for each item, the answer as JSON, and a request to move to the next item."""

    def __init__(
        self, browser: Browser, number: int, rng: random.Random, options: dict[str, Any]
    ) -> None:
        self._browser, self._rng, self._number = browser, rng, number
        self._item = ""

    async def enter(self) -> None:
        ids = {"PROLIFIC_PID": f"simulated{self._number}", "SESSION_ID": "s", "STUDY_ID": "t"}
        first = await self._browser.get(f"/?{urlencode(ids)}")
        if not first.location:
            raise UnexpectedResponse(f"entry: status {first.status}")

    async def open_item(self) -> bool:
        """Its browser asks for the next item and then loads the page again."""
        if self._item:
            moved = await self._browser.post_json("/annotate", {"action": "next_instance"})
            await self._browser.follow(moved)
        page = await self._browser.follow(await self._browser.get("/annotate"))
        found = _INSTANCE.search(_expect(page, 200).text)
        self._item = found[1] if found else ""
        return True

    @property
    def has_item(self) -> bool:
        return bool(self._item)

    async def answer(self) -> None:
        annotations = {
            f"preference:::{(choice := self._rng.choice('AB'))}": choice,
            "certainty:::slider": str(self._rng.randint(1, 100)),
        }
        saved = await self._browser.post_json(
            "/updateinstance",
            {"instance_id": self._item, "annotations": annotations, "span_annotations": []},
        )
        if '"status":"success"' not in _expect(saved, 200).text.replace(" ", ""):
            raise UnexpectedResponse("the answer was not stored")

    async def leave(self) -> None:
        pass


def _expect(response: Response, status: int) -> Response:
    if response.status != status:
        raise UnexpectedResponse(f"status {response.status} instead of {status}")
    return response
