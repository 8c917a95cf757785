"""Whether the remaining places on Prolific and in the quota groups fill every open seat."""

from collections.abc import Sequence

from annotation.models import ProlificStudy
from annotation.prolific.api import types
from annotation.prolific.launch.publication import RESTING, good_submissions
from annotation.seats.forecast import SeatForecast, forecast_of
from studies.models import Study
from studies.selectors import SeatGroup


def look_ahead(study: Study, groups: Sequence[SeatGroup] | None = None) -> SeatForecast:
    """The forecast of a study with the places that Prolific still fills, as last read.

    A page that has counted the items already hands over their `groups`.

    Before a draft exists, nothing is known of its places. The pay is without Prolific's fee: for
    the whole sum, ask Prolific what this number of places costs.
    """
    rows = list(ProlificStudy.objects.filter(study=study))
    found = [_places_left(row) for row in rows]
    # A study that is paused here is opened again here, which starts recruiting there too.
    rests = [study.state == Study.State.OPEN and row.status in RESTING for row in rows]
    return forecast_of(
        study,
        places_left=sum(
            coming + (0 if is_resting else free)
            for (free, coming), is_resting in zip(found, rests, strict=True)
        )
        if rows
        else None,
        resting=sum(free for (free, _), is_resting in zip(found, rests, strict=True) if is_resting),
        groups=groups,
    )


def _places_left(row: ProlificStudy) -> tuple[int, int]:
    """Places that nobody has, and places of participants who have not opened the link yet."""
    coming = row.submissions.filter(
        annotator=None, status__in=[types.ACTIVE, types.RESERVED]
    ).count()
    # No new participant is admitted once it has ended.
    free = 0 if row.status == types.COMPLETED else max(0, row.places - good_submissions(row))
    return free, coming
