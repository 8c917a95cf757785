"""The places of a study on Prolific that are still open, and why recruiting rests there."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace

from annotation.models import Assignment, ProlificStudy, Recruitment
from annotation.prolific.api import types
from annotation.prolific.launch.launch_plan import LaunchPlan
from annotation.prolific.launch.shares import places_of
from annotation.prolific.spending import PlacesNeeded
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
    left = [_places_left(row) for row in rows]
    # A study that is paused here is reopened here, which starts recruiting there too.
    rests = [study.state == Study.State.OPEN and row.status in RESTING for row in rows]
    return forecast_of(
        study,
        places_left=sum(
            coming + (0 if is_resting else free)
            for (free, coming), is_resting in zip(left, rests, strict=True)
        )
        if rows
        else None,
        resting=sum(free for (free, _), is_resting in zip(left, rests, strict=True) if is_resting),
        groups=groups,
    )


def need_of_places(study: Study, label: str = "") -> PlacesNeeded:
    """How many more places the study needs on Prolific; with a `label`, that group's study."""
    ahead = forecast_on_prolific(study)
    left = ahead.places_left or 0
    people = ahead.missing_places
    if ahead.room is not None:
        people = min(people, max(0, ahead.room - left))
    if label:
        row = ProlificStudy.objects.get(study=study, label=label)
        group = next(
            (quota_group for quota_group in study.quota_groups.all() if str(quota_group) == label),
            None,
        )
        missing = max(0, group.open - sum(_places_left(row))) if group else 0
        people = min(missing, max(0, ahead.needed - ahead.on_the_way))
    return PlacesNeeded(people, _why(study, ahead, people, left, label))


def _why(study: Study, ahead: SeatForecast, people: int, left: int, label: str) -> str:
    """What the study needs, in a sentence."""
    who = f"The group “{label}”" if label else "The study"
    more = (
        "1 more person" if people == 1 else f"{people:,} more people" if people else "nobody else"
    )
    if not ahead.open:
        return f"{who} needs {more}: every answer is in or on its way."
    seats = "1 answer is" if ahead.open == 1 else f"{ahead.open:,} answers are"
    reasons = [f"{seats} missing, at {ahead.items_per_person:,} for each person"]
    if ahead.on_the_way:
        reasons.append(f"{ahead.on_the_way:,} people are on their way")
    if left + ahead.resting:
        reasons.append(f"{left + ahead.resting:,} places are still open on Prolific")
    if ahead.room is not None and ahead.missing_room:
        reasons.append(f"the quota groups admit only {ahead.room:,} more")
    return f"{who} needs {more}: {', '.join(reasons)}."


def need_of_drafts(study: Study, plan: LaunchPlan, drafts: Iterable[ProlificStudy]) -> PlacesNeeded:
    """How many people publishing these drafts should bring: those whom the open seats need.

    Rounded up as the places of a plan are: to the balance, or to the quota groups.
    """
    ahead = forecast_of(study)
    unpublished = {row.pk for row in drafts}
    others = [row for row in ProlificStudy.objects.filter(study=study) if row.pk not in unpublished]
    left = sum(sum(_places_left(row)) for row in others)
    people = max(0, ahead.needed - ahead.on_the_way - left)
    if ahead.room is None:
        people = math.ceil(people / plan.groups) * plan.groups
    elif people:
        planned = places_of(replace(plan, places=None), study)
        people = max(people, min(planned, ahead.room) - left)
    return PlacesNeeded(people, _why(study, ahead, people, left, ""))


def rows_without_need(
    study: Study, rows: Iterable[ProlificStudy], ahead: SeatForecast | None = None
) -> list[ProlificStudy]:
    """Which of the study's rows need nobody else: all answers are in, or their group is full.

    An answer is in when it was given; a seat that somebody still holds may become free again. A
    page that has the forecast passes it as `ahead`.
    """
    rows, ahead = list(rows), ahead or forecast_of(study)
    held = Assignment.objects.filter(
        annotator__study=study,
        annotator__expires_at__isnull=False,
        state=Assignment.State.RESERVED,
        is_surplus=False,
    )
    if ahead.items_per_person and not ahead.open and not held.exists():
        return rows
    groups = [group for group in study.quota_groups.all() if group.target]
    full = {str(group) for group in groups if group.completed >= group.target}
    if groups and len(full) == len(groups):
        return rows
    return [row for row in rows if row.label in full]


def _places_left(row: ProlificStudy) -> tuple[int, int]:
    """Free places, and places of participants who have not opened the link yet."""
    coming = row.submissions.filter(
        annotator=None, status__in=[types.ACTIVE, types.RESERVED]
    ).count()
    # An ended study admits no new participants.
    free = 0 if row.status == types.COMPLETED else max(0, row.places - good_submissions(row))
    return free, coming


# The log's event of an automatic pause. Logs of existing studies contain these texts.
PAUSED_FULL = "paused on Prolific, nobody else is needed"
_PAUSED, _STARTED = "pause on Prolific", "start on Prolific"


def paused_here(study: Study, event: str = _PAUSED) -> bool:
    """Whether a user paused recruiting from here; otherwise Prolific did, or somebody there.

    With another `event`, whether it was the last one.
    """
    events = study.log.filter(event__in=[_PAUSED, _STARTED, PAUSED_FULL])
    last = events.order_by("-pk").values_list("event", flat=True).first()
    return last == event


def free_places(rows: Iterable[ProlificStudy]) -> int:
    """The places that people can still take."""
    return sum(max(0, row.places - good_submissions(row)) for row in rows)


def used_screen_outs(study: Study, rows: Iterable[ProlificStudy]) -> int:
    """The paid screen-outs of a study that Prolific paused because all were used; 0 if none."""
    recruitment = Recruitment.objects.filter(study=study).first()
    slots = (LaunchPlan.of(recruitment.plan).screen_out_slots or 0) if recruitment else 0
    paused = [row for row in rows if row.status == "PAUSED"] if slots else []
    is_used = any(
        row.submissions.filter(status=types.SCREENED_OUT).count() >= slots for row in paused
    )
    return slots if is_used else 0
