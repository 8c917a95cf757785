"""People and items that researchers left out of the analysis: why, when and by whom."""

from datetime import datetime

from django.db.models import Count, Min, Q

from analysis.data.arrays import Exclusion, LeftOutItem
from analysis.data.moments import StudyThen
from analysis.models import Report
from annotation.models import Annotation, Annotator, AnnotatorEvent
from annotation.services.faulty_items import TAKEN_OUT
from studies.models import Item, Study

# The study's log also records reports that the command wrote to a folder.
REPORT_WRITTEN = "report written"


def exclusions_of(study: Study, then: StudyThen | None = None) -> tuple[Exclusion, ...]:
    """All people excluded by researchers, whatever happened to their answers, by pseudonym.

    `then` keeps those who were already excluded at an earlier moment.
    """
    people = list(Annotator.objects.filter(study=study).exclude(excluded_at=None))
    if then is not None:
        people = [each for each in people if each.pk in then.excluded]
    if not people:
        return ()
    first = _first_report(study)
    events = AnnotatorEvent.objects.filter(annotator__in=people, event="excluded")
    users = dict(events.order_by("pk").values_list("annotator", "user__username"))
    answers = (
        Annotation.objects.filter(
            assignment__annotator__in=people, assignment__item__split=Item.Split.MAIN
        )
        .exclude(standing=Annotation.Standing.WITHDRAWN)
        .order_by()
        .values_list("assignment__annotator")
        .annotate(n=Count("pk"))
    )
    counts = dict(answers)
    return tuple(
        Exclusion(
            rater=each.pseudonym,
            reason=each.exclusion_reason,
            on=f"{each.excluded_at:%Y-%m-%d}",
            by=users.get(each.pk) or "",
            answers=counts.get(each.pk, 0),
            after_report=first is not None and first < each.excluded_at,
        )
        for each in sorted(people, key=lambda each: each.pseudonym)
        if each.excluded_at is not None
    )


def left_out_of(study: Study) -> tuple[LeftOutItem, ...]:
    """The items that were taken out of the analysis, by key."""
    items = Item.everything.filter(study=study, split=Item.Split.LEFT_OUT)
    given = Q(assignments__annotation__isnull=False) & ~Q(
        assignments__annotation__standing=Annotation.Standing.WITHDRAWN
    )
    counted = items.annotate(n=Count("assignments", filter=given)).order_by()
    found = sorted(counted.values_list("key", "left_out_reason", "n"))
    if not found:
        return ()
    first = _first_report(study)
    events = study.log.filter(event=TAKEN_OUT).order_by("pk")
    rows = events.values_list("detail__item", "created_at", "user__username")
    made = {item: (at, by) for item, at, by in rows}
    out = []
    for key, reason, answers in found:
        # Imported as taken out: when and by whom is not known here.
        at, by = made.get(key, (None, None))
        late = first is not None and at is not None and first < at
        on = f"{at:%Y-%m-%d}" if at else ""
        out.append(LeftOutItem(key, reason, on, by or "", answers, late))
    return tuple(out)


def _first_report(study: Study) -> datetime | None:
    """When the first report of the study was requested, on a page or by command."""
    built = Report.objects.filter(study=study, state=Report.State.DONE)
    written = study.log.filter(event=REPORT_WRITTEN)
    firsts = [found.aggregate(at=Min("created_at"))["at"] for found in (built, written)]
    return min(filter(None, firsts), default=None)
