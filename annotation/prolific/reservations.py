"""What was set aside on Prolific, noted as it happens: publishing, and places added later."""

from django.contrib.auth.models import User

from annotation.models import ProlificReservation, ProlificStudy


def note_reservation(
    row: ProlificStudy,
    *,
    places: int,
    rewards: int,
    total: int | None,
    user: User | None = None,
) -> None:
    """Note that the last `places` of a study are paid for; a repeat notes nothing twice.

    `total` is the whole cost with fees and tax, None where Prolific did not say it.
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
