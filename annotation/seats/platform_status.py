"""The recruiting platform's status of an annotator: lost their place, or unknown there."""

from annotation.models import Annotator, ProlificIdentity

# Whoever has one of these statuses takes no place on the platform any more, without a rejection.
LEFT = frozenset({"RETURNED", "TIMED-OUT", "SCREENED OUT", "PARTIALLY APPROVED"})


def has_lost_place(annotator: Annotator) -> bool:
    """Whether the platform has given the annotator's place to others, by the last reading."""
    newest = annotator.prolific_submissions.order_by("-started_at", "-pk").first()
    return newest is not None and newest.status in LEFT


def is_doubtful(annotator: Annotator) -> bool:
    """Whether the platform said that it does not know the annotator's session.

    Until it does, they hold neither a seat nor a place and see no completion code.
    """
    return ProlificIdentity.objects.filter(
        annotator=annotator, unknown_since__isnull=False
    ).exists()
