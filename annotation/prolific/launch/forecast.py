"""Whether the remaining places on Prolific and in the quota groups fill every open seat."""

from collections.abc import Sequence

from annotation.models import ProlificStudy
from annotation.prolific.api import types
from annotation.prolific.launch.publication import good_submissions
from annotation.seats.forecast import Forecast, forecast_of
from studies.models import Study
from studies.selectors import SeatGroup


def look_ahead(study: Study, groups: Sequence[SeatGroup] | None = None) -> Forecast:
    """The forecast of a study with the places that Prolific still fills, as last read.

    A page that has counted the items already hands over their `groups`.

    Before a draft exists, nothing is known of its places. The pay is without Prolific's fee: for
    the whole sum, ask Prolific what this number of places costs.
    """
    rows = list(ProlificStudy.objects.filter(study=study))
    places_left = sum(map(_places_left, rows)) if rows else None
    return forecast_of(study, places_left=places_left, groups=groups)


def _places_left(row: ProlificStudy) -> int:
    """Places that nobody has, and places of participants who have not opened the link yet."""
    coming = row.submissions.filter(
        annotator=None, status__in=[types.ACTIVE, types.RESERVED]
    ).count()
    # No new participant is admitted once it has ended.
    free = 0 if row.status == types.COMPLETED else max(0, row.places - good_submissions(row))
    return free + coming
