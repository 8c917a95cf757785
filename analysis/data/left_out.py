"""People and items that researchers left out of the analysis: why, when and by whom."""

from collections.abc import Iterator, Mapping
from datetime import datetime

from django.db.models import Count, Min, Q, QuerySet

from analysis.data.arrays import Exclusion, LeftOutItem
from analysis.data.moments import StudyThen
from analysis.models import Report
from annotation.models import Annotation, Annotator, AnnotatorEvent
from annotation.services.faulty_items import TAKEN_OUT
from studies.models import Item, Study, StudyLog

# The study's log also records reports that the command wrote to a folder.
REPORT_WRITTEN = "report written"


def exclusions_of(study: Study, then: StudyThen | None = None) -> tuple[Exclusion, ...]:
    """All people excluded by researchers, whatever happened to their answers, by pseudonym.

    `then` keeps those who were already excluded at an earlier moment.
    """
    if then is not None:
        return tuple(_exclusions_then(study, then))
    people = list(Annotator.objects.filter(study=study).exclude(excluded_at=None))
    if not people:
        return ()
    first = _first_report(study)
    events = AnnotatorEvent.objects.filter(annotator__in=people, event="excluded")
    users = dict(events.order_by("pk").values_list("annotator", "user__username"))
    counts = _by_person(
        Annotation.objects.filter(
            assignment__annotator__in=people, assignment__item__split=Item.Split.MAIN
        ).exclude(standing=Annotation.Standing.WITHDRAWN)
    )
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


def _exclusions_then(study: Study, then: StudyThen) -> Iterator[Exclusion]:
    first = _first_report(study)
    items = then.items().values("pk")
    counts = _by_person(
        then.given().filter(assignment__annotator__in=[*then.excluded], assignment__item__in=items)
    )
    names = Annotator.objects.filter(pk__in=[*then.excluded]).values_list("pseudonym", "pk")
    for name, pk in sorted(names):
        event = then.excluded[pk]
        yield Exclusion(
            rater=name,
            reason=event.detail["reason"],
            on=f"{event.created_at:%Y-%m-%d}",
            by=event.user.get_username() if event.user else "",
            answers=counts.get(pk, 0),
            after_report=first is not None and first < event.created_at,
        )


def _by_person(answers: QuerySet[Annotation]) -> dict[int, int]:
    found = answers.order_by().values_list("assignment__annotator")
    return dict(found.annotate(n=Count("pk")))


def left_out_of(study: Study, then: StudyThen | None = None) -> tuple[LeftOutItem, ...]:
    """The items that were taken out of the analysis, by key; `then`, those out at a moment."""
    if then is None:
        items = Item.everything.filter(study=study, split=Item.Split.LEFT_OUT)
        given = Q(assignments__annotation__isnull=False) & ~Q(
            assignments__annotation__standing=Annotation.Standing.WITHDRAWN
        )
    else:
        items = Item.everything.filter(study=study, key__in=then.taken_out)
        given = Q(assignments__annotation__in=then.given().values("pk"))
    counted = items.annotate(n=Count("assignments", filter=given)).order_by()
    found = sorted(counted.values_list("key", "left_out_reason", "n"))
    if not found:
        return ()
    first = _first_report(study)
    log = study.log.filter(event=TAKEN_OUT).order_by("pk").select_related("user")
    now = {entry.detail["item"]: entry for entry in log}
    made: Mapping[str, StudyLog | None] = now if then is None else then.taken_out
    out = []
    for key, reason, answers in found:
        # Imported as taken out: when and by whom is not known here.
        entry = made.get(key)
        if entry is None:
            out.append(LeftOutItem(key, reason, "", "", answers, False))
            continue
        late = first is not None and first < entry.created_at
        by = entry.user.get_username() if entry.user else ""
        on = f"{entry.created_at:%Y-%m-%d}"
        out.append(LeftOutItem(key, entry.detail["reason"], on, by, answers, late))
    return tuple(out)


def _first_report(study: Study) -> datetime | None:
    """When the first report of the study was requested, on a page or by command."""
    built = Report.objects.filter(study=study, state=Report.State.DONE)
    written = study.log.filter(event=REPORT_WRITTEN)
    firsts = [found.aggregate(at=Min("created_at"))["at"] for found in (built, written)]
    return min(filter(None, firsts), default=None)
