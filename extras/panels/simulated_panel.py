"""A simulated panel: it sends somebody by its link, and reads what comes back as the panel would.

It shares no code with what fills in return addresses, so that a rehearsal can find their faults.
"""

import base64
import hashlib
import hmac
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import parse_qsl, unquote, urlsplit

from django.conf import settings
from django.http import QueryDict

from extras.panels.links import example_query, path_of, signed, unseal
from extras.panels.models import Panel


@dataclass(frozen=True)
class Received:
    """What the panel understands: which ending, if it says one, for whom, or what is wrong."""

    ending: str = ""
    person: str = ""
    fault: str = ""


class SimulatedPanel:
    """One panel of a study, with a person whom nobody has."""

    def __init__(self, panel: Panel) -> None:
        self._panel = panel
        self.sent = example_query(panel)

    @property
    def link(self) -> str:
        """The link that the panel opens for its person."""
        query = QueryDict(mutable=True)
        query.update(self.sent)
        address = f"{settings.PUBLIC_BASE_URL}{path_of(self._panel)}?{query.urlencode()}"
        return signed(self._panel, address) if self._panel.signature else address

    def receive(self, url: str, fields: Mapping[str, str] | None = None) -> Received:
        """Read the address to which somebody was sent, with the fields of a form."""
        kind, parts = self._panel.kind, urlsplit(url)
        if parts.scheme != "https" or not kind.allows(parts.netloc):
            return Received(fault=f"“{parts.netloc}” is not a host of {kind.title}.")
        if self._panel.signs_returns and not self._is_ours(url):
            return Received(fault="The signature does not match.")
        values = [*(fields or {}).values(), *(value for _, value in parse_qsl(parts.query))]
        values += [unquote(part) for part in parts.path.split("/")]
        known = [value for name, value in self.sent.items() if name != kind.submits_to]
        person = next((value for value in known if value in values), "")
        understood = "complete" if fields else self._ending(url)
        return Received(ending=understood, person=person)

    def _ending(self, url: str) -> str:
        meanings = self._panel.kind.meanings.items()
        return next((ending for part, ending in meanings if part in url), "")

    def _is_ours(self, url: str) -> bool:
        name = self._panel.signature_parameter
        before, _, sent = url.rpartition(f"{name}=")
        algorithm = getattr(hashlib, self._panel.signature)
        code = hmac.new(unseal(self._panel).encode(), before.encode(), algorithm).digest()
        return hmac.compare_digest(sent, base64.urlsafe_b64encode(code).decode().rstrip("="))
