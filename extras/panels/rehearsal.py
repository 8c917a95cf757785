"""A rehearsal: each ending walked against the simulated panel. Nothing is stored or sent."""

from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import urlsplit

from django.http import QueryDict

from extras.panels.links import LinkRefused, read_link
from extras.panels.models import Panel
from extras.panels.returns import ENDING_OF_KIND, KINDS_OF_ENDING, PanelWayBack, way_back
from extras.panels.simulated_panel import SimulatedPanel


@dataclass(frozen=True)
class RehearsedEnding:
    """How a simulated person would go back, what the panel understands, and what is wrong."""

    kind: str
    way: PanelWayBack
    understood: str
    fault: str = ""

    @property
    def title(self) -> str:
        return KINDS_OF_ENDING[self.kind]


@dataclass(frozen=True)
class Rehearsal:
    """The simulated link, why it lets nobody in, and otherwise each ending."""

    link: str
    refused: str
    endings: tuple[RehearsedEnding, ...]

    @property
    def has_fault(self) -> bool:
        return bool(self.refused) or any(ending.fault for ending in self.endings)


def rehearse(panel: Panel) -> Rehearsal:
    """Walk every ending of a panel."""
    try:
        simulated = SimulatedPanel(panel)
        opened = simulated.link
        link = read_link(panel, QueryDict(urlsplit(opened).query), opened)
    except LinkRefused as refusal:
        return Rehearsal("", _refusal_in_words(panel, refusal), ())
    ways = ((kind, way_back(panel, link, ending)) for kind, ending in ENDING_OF_KIND.items())
    endings = {kind: _rehearsed(panel, simulated, kind, way) for kind, way in ways}
    return Rehearsal(opened, "", tuple(endings[kind] for kind in KINDS_OF_ENDING))


def _refusal_in_words(panel: Panel, refusal: LinkRefused) -> str:
    if refusal.fault == "signature":
        return "The secret cannot be read, because the server’s key has changed. Enter it again."
    return (
        f"{panel.kind.title} sends other ids than “{refusal.parameter}” takes. Check the names of "
        "the parameters."
    )


def _rehearsed(
    panel: Panel, simulated: SimulatedPanel, kind: str, way: PanelWayBack
) -> RehearsedEnding:
    if not way.url:
        return RehearsedEnding(kind, way, "", " ".join(_faults_without_address(panel, kind)))
    received = simulated.receive(way.url, way.fields)
    if received.fault:
        return RehearsedEnding(kind, way, "", received.fault)
    understood = KINDS_OF_ENDING.get(received.ending, "")
    fault = ""
    if kind == "complete" and received.ending not in ("", "complete"):
        fault = f"The panel would read this as “{understood}”."
    elif kind not in ("complete", "failed") and received.ending == "complete":
        fault = "The panel would count and pay this as complete."
    elif not received.person and not _is_known_otherwise(panel):
        fault = "The address does not say who comes back. Add {person} where the panel wants it."
    return RehearsedEnding(kind, way, understood, fault)


def _is_known_otherwise(panel: Panel) -> bool:
    """Whether the panel knows people by their sign-in, as where they also enter a code."""
    return panel.pay != Panel.Pay.NOTHING


def _faults_without_address(panel: Panel, kind: str) -> Iterator[str]:
    if getattr(panel, kind):
        yield "The address has a placeholder for which the panel’s link has no parameter."
    elif kind == "complete" and panel.pay == Panel.Pay.NOTHING:
        yield "Without an address the panel does not know that somebody has finished."
