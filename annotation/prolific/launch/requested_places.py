"""More places that somebody asked for: stored before they are sent, and until they are there.

Whoever asks for as many again after a crash gets those, and none besides.
"""

from dataclasses import dataclass

from annotation.models import ProlificStudy
from annotation.prolific.api.types import RemoteStudy


@dataclass(frozen=True)
class Wish:
    """From so many places to so many."""

    before: int
    wanted: int


def open_wish(row: ProlificStudy, remote: RemoteStudy, *, extra: int) -> Wish | None:
    """An earlier wish for as many places whose end nobody saw; None where there is none.

    It is void when Prolific shows neither the number before it nor the one after it: then the
    places were changed there meanwhile.
    """
    if row.places_before is None or row.places_wanted is None:
        return None
    wish = Wish(row.places_before, row.places_wanted)
    is_same = wish.wanted - wish.before == extra
    return wish if is_same and remote.places in (wish.before, wish.wanted) else None


def store(row: ProlificStudy, wish: Wish | None) -> None:
    """Keep a wish before it is sent; None once it is fulfilled or refused."""
    row.places_before = wish.before if wish else None
    row.places_wanted = wish.wanted if wish else None
    row.save(update_fields=["places_before", "places_wanted"])
