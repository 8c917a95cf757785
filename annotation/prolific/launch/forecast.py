"""Whether the remaining places on Prolific and in the quota groups fill every open seat."""

from annotation.models import ProlificStudy
from annotation.prolific.api import types
from annotation.prolific.launch.publication import good_submissions
from annotation.seats.forecast import Forecast, forecast_of
from studies.models import Study


def look_ahead(study: Study) -> Forecast:
    """The forecast of a study with the places that Prolific still fills, as last read.

    Before a draft exists, nothing is known of its places. The pay is without Prolific's fee: for
    the whole sum, ask Prolific what this number of places costs.
    """
    rows = list(ProlificStudy.objects.filter(study=study))
    return forecast_of(study, places_left=sum(map(_places_left, rows)) if rows else None)


def _places_left(row: ProlificStudy) -> int:
    """Places that nobody has, and places of participants who have not opened the link yet."""
    coming = row.submissions.filter(
        annotator=None, status__in=[types.ACTIVE, types.RESERVED]
    ).count()
    # No new participant is admitted once it has ended.
    free = 0 if row.status == types.COMPLETED else max(0, row.places - good_submissions(row))
    return free + coming
