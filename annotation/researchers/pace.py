"""How fast answers arrive, and when the last one is expected."""

import datetime as dt
from dataclasses import dataclass
from statistics import median

from django.utils import timezone

from annotation.models import Annotation, Annotator
from annotation.researchers.selectors import Coverage
from studies.models import Study
from studies.statements.kept_figures import kept

HOUR = dt.timedelta(hours=1)
# Nobody works longer on one set of items: the time limit of a place is a few hours.
_LONGEST = dt.timedelta(days=1)
_NEWEST = 2_000


@dataclass(frozen=True)
class Pace:
    """The answers of the last hour; `seconds` is the median active time of one, or None."""

    answers: int
    seconds: float | None

    def end(self, coverage: Coverage) -> dt.datetime | None:
        """When every seat has its answer if the pace stays that of the last hour."""
        left = coverage.needed - coverage.answers
        if not self.answers or left <= 0:
            return None
        return timezone.now() + HOUR * (left / self.answers)


def pace(study: Study) -> Pace:
    return kept("pace", study.pk, count=lambda: _measure(study), rows=lambda found: found.answers)


def _measure(study: Study) -> Pace:
    now = timezone.now()
    # Named by their annotators, because answers have no index of their times.
    at_work = Annotator.objects.filter(study=study, started_at__gte=now - _LONGEST)
    answers = Annotation.objects.filter(
        assignment__annotator__in=at_work,
        answered_at__gte=now - HOUR,
        standing=Annotation.Standing.COUNTED,
    )
    times = answers.values_list("active_ms", flat=True)[: _NEWEST + 1]
    seconds = [ms / 1000 for ms in times if ms is not None]
    count = len(times) if len(times) <= _NEWEST else answers.count()
    return Pace(count, median(seconds) if seconds else None)
