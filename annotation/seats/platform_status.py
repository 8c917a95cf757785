"""What the recruiting platform says of a person: lost their place, or is unknown there."""

from annotation.models import Annotator, ProlificIdentity


def has_lost_place(annotator: Annotator) -> bool:
    """Whether the platform has given the person's place to others, as far as was read."""
    newest = annotator.prolific_submissions.order_by("-started_at", "-pk").first()
    return newest is not None and newest.status in ("RETURNED", "TIMED-OUT")


def is_doubtful(annotator: Annotator) -> bool:
    """Whether the platform said that it does not know the person's session.

    Until it does, they hold neither a seat nor a place and see no completion code.
    """
    return ProlificIdentity.objects.filter(
        annotator=annotator, unknown_since__isnull=False
    ).exists()
