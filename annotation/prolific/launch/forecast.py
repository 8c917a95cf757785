"""Whether the places left on Prolific and in the groups fill every seat that is open."""

from annotation.models import ProlificStudy
from annotation.prolific.api import types
from annotation.prolific.launch.publication import good_submissions
from annotation.seats.forecast import Forecast, forecast_of
from studies.models import Study


def look_ahead(study: Study) -> Forecast:
    """The forecast of a study with what Prolific still fills, from what was last read.

    Before there is a draft nothing is known of its places. The pay is without Prolific's fee: ask
    its cost of so many places for the whole sum.
    """
    rows = list(ProlificStudy.objects.filter(study=study))
    return forecast_of(study, places_left=sum(map(_places_left, rows)) if rows else None)


def _places_left(row: ProlificStudy) -> int:
    """Places that nobody has, and those of people who have not opened the link yet."""
    coming = row.submissions.filter(
        annotator=None, status__in=[types.ACTIVE, types.RESERVED]
    ).count()
    # Nobody new is let in once it has ended.
    free = 0 if row.status == types.COMPLETED else max(0, row.places - good_submissions(row))
    return free + coming
