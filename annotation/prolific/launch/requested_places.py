"""More places that somebody asked for: stored before they are sent, and until they are there.

Whoever asks for as many again after a crash gets those, and none besides.
"""

from dataclasses import dataclass

from annotation.models import ProlificStudy
from annotation.prolific.api.types import RemoteStudy


@dataclass(frozen=True)
class PlacesRequest:
    """From so many places to so many."""

    before: int
    wanted: int


def open_request(row: ProlificStudy, remote: RemoteStudy, *, extra: int) -> PlacesRequest | None:
    """An earlier request for as many places whose end nobody saw; None where there is none.

    It is void when Prolific shows neither the number before it nor the one after it: then the
    places were changed there meanwhile.
    """
    if row.places_before is None or row.places_wanted is None:
        return None
    request = PlacesRequest(row.places_before, row.places_wanted)
    is_same = request.wanted - request.before == extra
    return request if is_same and remote.places in (request.before, request.wanted) else None


def store(row: ProlificStudy, request: PlacesRequest | None) -> None:
    """Keep a request before it is sent; None once it is fulfilled or refused."""
    row.places_before = request.before if request else None
    row.places_wanted = request.wanted if request else None
    row.save(update_fields=["places_before", "places_wanted"])
