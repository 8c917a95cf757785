"""Reservations on Prolific, stored when they are made: publishing, and places added later."""

from decimal import ROUND_HALF_UP, Decimal

from django.contrib.auth.models import User

from annotation.models import ProlificReservation, ProlificStudy
from studies.models import Study


def note_reservation(
    row: ProlificStudy,
    *,
    places: int,
    rewards: int,
    total: int | None,
    user: User | None = None,
) -> None:
    """Store that the last `places` of a study are paid for; a repeat stores nothing twice.

    `total` is the whole cost with fees and tax, None if Prolific did not state it.
    """
    ProlificReservation.objects.get_or_create(
        prolific_study=row,
        places_after=row.places,
        defaults={
            "places": places,
            "rewards": rewards,
            "fees": None if total is None else max(0, total - rewards),
            "user": user,
        },
    )


def with_fees(study: Study, rewards: int) -> int | None:
    """The cost of rewards with fees and tax, at the rate of the study's newest reservation.

    None before Prolific has stated a rate.
    """
    newest = (
        ProlificReservation.objects.filter(
            prolific_study__study=study, fees__isnull=False, rewards__gt=0
        )
        .order_by("-pk")
        .first()
    )
    if newest is None or newest.fees is None:
        return None
    rate = Decimal(newest.rewards + newest.fees) / newest.rewards
    return int((rewards * rate).quantize(Decimal(1), rounding=ROUND_HALF_UP))
