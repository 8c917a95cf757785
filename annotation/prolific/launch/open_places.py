"""The places of a study on Prolific that are still open, and why recruiting rests there."""

from collections.abc import Iterable, Sequence

from annotation.models import ProlificStudy, Recruitment
from annotation.prolific.api import types
from annotation.prolific.launch.launch_plan import LaunchPlan
from annotation.seats.capacity import SeatForecast, forecast_of
from studies.models import Study
from studies.selectors import SeatGroup

# Statuses in which returned places stay empty until recruiting is started again.
RESTING = ("PAUSED", types.AWAITING_REVIEW)


def good_submissions(row: ProlificStudy) -> int:
    """Submissions that hold a place, permanently or for now."""
    lost = ["RETURNED", "TIMED-OUT", "REJECTED", "SCREENED OUT", "UNKNOWN", ""]
    return row.submissions.exclude(status__in=lost).count()


def forecast_on_prolific(study: Study, groups: Sequence[SeatGroup] | None = None) -> SeatForecast:
    """The forecast of a study, with the places that Prolific still fills, as last read.

    A page that has already counted the items passes their `groups`.

    Before a draft exists, its places are unknown. The pay is without Prolific's fee: ask Prolific
    for the full cost of the places.
    """
    rows = list(ProlificStudy.objects.filter(study=study))
    found = [_places_left(row) for row in rows]
    # A study that is paused here is reopened here, which starts recruiting there too.
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
    """Free places, and places of participants who have not opened the link yet."""
    coming = row.submissions.filter(
        annotator=None, status__in=[types.ACTIVE, types.RESERVED]
    ).count()
    # An ended study admits no new participants.
    free = 0 if row.status == types.COMPLETED else max(0, row.places - good_submissions(row))
    return free, coming


def paused_here(study: Study) -> bool:
    """Whether a user paused recruiting from here; otherwise Prolific did, or somebody there."""
    events = study.log.filter(event__in=["pause on Prolific", "start on Prolific"])
    last = events.order_by("-pk").values_list("event", flat=True).first()
    return last == "pause on Prolific"


def used_screen_outs(study: Study, rows: Iterable[ProlificStudy]) -> int:
    """The paid screen-outs of a study that Prolific paused because all were used; 0 if none."""
    found = Recruitment.objects.filter(study=study).first()
    slots = (LaunchPlan.of(found.plan).screen_out_slots or 0) if found else 0
    paused = [row for row in rows if row.status == "PAUSED"] if slots else []
    is_used = any(
        row.submissions.filter(status=types.SCREENED_OUT).count() >= slots for row in paused
    )
    return slots if is_used else 0
