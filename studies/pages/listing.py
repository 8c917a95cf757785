"""The list of studies and the figures of one, from the data of this app."""

from dataclasses import dataclass

from django.contrib.auth.models import AnonymousUser, User
from django.db.models import Count, Q, QuerySet, Sum
from django.db.models.functions import Coalesce

from studies.models import Item, Membership, Study
from studies.selectors import studies_for

SORTS = {
    "title": "title",
    "state": "state",
    "items": "items",
    "answers": "answers",
    "created": "created_at",
}
_MAIN = Q(all_items__split=Item.Split.MAIN)


def list_studies(
    user: User | AnonymousUser, *, search: str = "", state: str = "", sort: str = "-created"
) -> QuerySet[Study]:
    """The studies that `user` can see, with `items`, `answers` and `seats` counted."""
    found = studies_for(user).annotate(
        items=Count("all_items", filter=_MAIN),
        answers=Coalesce(Sum("all_items__answered", filter=_MAIN), 0),
        seats=Coalesce(Sum("all_items__seats_needed", filter=_MAIN), 0),
    )
    if search:
        found = found.filter(Q(title__icontains=search) | Q(slug__icontains=search))
    if state in Study.State.values:
        found = found.filter(state=state)
    if sort.removeprefix("-") not in SORTS:
        sort = "-created"
    column = SORTS[sort.removeprefix("-")]
    return found.order_by(f"-{column}" if sort.startswith("-") else column, "pk")


@dataclass(frozen=True)
class StudyFigures:
    """The size of a study, and the progress of its annotators."""

    items: int
    checks: int
    personas: int
    sampled: int
    seats: int
    answers: int

    @property
    def people_needed(self) -> str:
        return f"{self.answers:,} of {self.seats:,}"


def study_figures(study: Study) -> StudyFigures:
    main = Q(split=Item.Split.MAIN)
    counts = Item.everything.filter(study=study).aggregate(
        items=Count("pk", filter=main),
        checks=Count("pk", filter=~main),
        sampled=Count("pk", filter=main & Q(seats_needed__gt=0)),
        seats=Coalesce(Sum("seats_needed", filter=main), 0),
        answers=Coalesce(Sum("answered", filter=main), 0),
    )
    return StudyFigures(personas=study.personas.count(), **counts)


def role_of(user: User | AnonymousUser, study: Study) -> str:
    """The role of `user` in `study`; a superuser owns every study."""
    if user.is_superuser:
        return Membership.Role.OWNER
    return Membership.objects.values_list("role", flat=True).get(user=user.pk, study=study)
