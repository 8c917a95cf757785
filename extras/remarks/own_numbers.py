"""What one's work gave: somebody's own numbers, on the last page of those who completed."""

from collections import defaultdict
from collections.abc import Mapping
from typing import Any

from django.db.models import Count, F

from annotation.models import Annotation, Annotator
from annotation.participants.added_steps import EndNote
from annotation.participants.item_context import progress_of
from extras.remarks.asking import shows_results
from studies.models import Item

FEWEST = 5  # Fewer items would tell what others chose at single ones.
_IN = (Annotation.Standing.COUNTED, Annotation.Standing.IMPORTED)


def with_most_others(annotator: Annotator) -> tuple[int, int]:
    """Items on which all others have answered and have a majority, and on how many one is in it."""
    own = dict(
        Annotation.objects.filter(
            assignment__annotator=annotator,
            assignment__item__split=Item.Split.MAIN,
            assignment__item__answered__gte=F("assignment__item__seats_needed"),
            ranking__isnull=True,
        ).values_list("assignment__item", "choice")
    )
    others = Annotation.objects.filter(
        assignment__item__in=own, assignment__annotator__excluded_at=None, standing__in=_IN
    ).exclude(assignment__annotator=annotator)
    counts: defaultdict[int, dict[str, int]] = defaultdict(dict)
    rows = others.values_list("assignment__item", "choice").annotate(n=Count("pk"))
    for item, choice, n in rows.order_by():
        counts[item][choice] = n
    compared = same = 0
    for item, votes in counts.items():
        most = max(votes.values())
        leading = [choice for choice, n in votes.items() if n == most]
        if sum(votes.values()) > 1 and len(leading) == 1:
            compared += 1
            same += own[item] == leading[0]
    return compared, same


def _shown(annotator: Annotator) -> Mapping[str, Any]:
    if not shows_results(annotator.study):
        return {}
    progress = progress_of(annotator.pk)
    times = [place.milliseconds or 0 for place in progress.places]
    compared, same = with_most_others(annotator)
    return {
        "answered": progress.answered,
        "minutes": max(1, round(sum(times) / 60_000)),
        "compared": compared if compared >= FEWEST else 0,
        "same": same,
    }


NOTE = EndNote("own_numbers", "annotation/endings/_own_numbers.html", _shown)
