"""Requests for more places: stored before they are sent, and until they are fulfilled.

Repeating the same request after a crash adds these places once, and no others.
"""

from dataclasses import dataclass

from annotation.models import ProlificStudy
from annotation.prolific.api.types import RemoteStudy


@dataclass(frozen=True)
class PlacesRequest:
    """A request to change the number of places, from one number to another."""

    before: int
    wanted: int


def open_request(row: ProlificStudy, remote: RemoteStudy, *, extra: int) -> PlacesRequest | None:
    """An earlier request for the same places whose outcome is unknown; None if there is none.

    It is void when Prolific shows neither the number before it nor the one after it: then the
    places were changed on Prolific in the meantime.
    """
    if row.places_before is None or row.places_wanted is None:
        return None
    request = PlacesRequest(row.places_before, row.places_wanted)
    is_same = request.wanted - request.before == extra
    return request if is_same and remote.places in (request.before, request.wanted) else None


def store(row: ProlificStudy, request: PlacesRequest | None) -> None:
    """Store a request before it is sent; None once it is fulfilled or refused."""
    row.places_before = request.before if request else None
    row.places_wanted = request.wanted if request else None
    row.save(update_fields=["places_before", "places_wanted"])
