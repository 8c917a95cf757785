"""The list of studies and the figures of a study, from the data of this app."""

from dataclasses import dataclass

from django.contrib.auth.models import AnonymousUser, User
from django.db.models import Case, Count, Exists, OuterRef, Q, QuerySet, Sum, Value, When

from studies.models import Item, Membership, Study
from studies.pages.workbench import once
from studies.selectors import SeatGroup, seat_groups, studies_for
from studies.statements.kept_figures import kept

# A filter of the list besides the states; the list otherwise hides archived studies.
ARCHIVED = "archived"
SORTS = {
    "title": "title",
    "state": "state",
    "items": "items",
    "answers": "answers",
    "created": "created_at",
}


def list_studies(
    user: User | AnonymousUser, *, search: str = "", state: str = "", sort: str = "-created"
) -> QuerySet[Study]:
    """The studies that `user` can see, with `items`, `answers` and `seats` counted."""
    studies = studies_for(user)
    sizes = _sizes_of(studies, user)
    studies = studies.annotate(
        **{
            name: Case(
                *(When(pk=pk, then=Value(size[n])) for pk, size in sizes.items()), default=Value(0)
            )
            for n, name in enumerate(("items", "answers", "seats"))
        }
    )
    if search:
        studies = studies.filter(Q(title__icontains=search) | Q(slug__icontains=search))
    studies = studies.filter(archived_at__isnull=state != ARCHIVED)
    if state in Study.State.values:
        studies = studies.filter(state=state)
    if sort.removeprefix("-") not in SORTS:
        sort = "-created"
    column = SORTS[sort.removeprefix("-")]
    return studies.order_by(f"-{column}" if sort.startswith("-") else column, "pk")


ITEM_SORTS = {"": "id", "answered": "fewest answers", "-answered": "most answers"}


def find_items(
    study: Study, *, search: str = "", split: str = "", sort: str = ""
) -> QuerySet[Item]:
    """The items of a study, of every split or one, with `search` in question or key."""
    items = Item.everything.filter(study=study).order_by(*filter(None, [sort]), "key")
    if search:
        items = items.filter(Q(question__icontains=search) | Q(key__icontains=search))
    if split in Item.Split.values:
        items = items.filter(split=split)
    return items


def _sizes_of(
    studies: QuerySet[Study], user: User | AnonymousUser
) -> dict[int, tuple[int, int, int]]:
    def count() -> dict[int, tuple[int, int, int]]:
        rows = (
            Item.objects.filter(study__in=studies.values("pk"))
            .order_by()
            .values_list("study")
            .annotate(Count("pk"), Sum("answered"), Sum("seats_needed"))
        )
        return {study: (items, answers, seats) for study, items, answers, seats in rows}

    return kept(
        "studies",
        user.pk,
        count=count,
        rows=lambda counts: sum(items for items, *_ in counts.values()),
    )


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
    return kept(
        "study",
        study.pk,
        study.version,
        count=lambda: _count_study(study),
        rows=lambda counts: counts.items,
    )


def _count_study(study: Study) -> StudyFigures:
    groups = recent_seat_groups(study)
    checks = Item.everything.filter(study=study).exclude(split=Item.Split.MAIN)
    return StudyFigures(
        items=sum(group.items for group in groups),
        checks=checks.count(),
        # Ready-made practice items have personas of their own.
        personas=study.personas.filter(Exists(Item.objects.filter(persona=OuterRef("pk")))).count(),
        sampled=sum(group.items for group in groups if group.needed),
        seats=sum(group.needed * group.items for group in groups),
        answers=sum(group.answered * group.items for group in groups),
    )


def recent_seat_groups(study: Study) -> list[SeatGroup]:
    """`seat_groups` for pages; for a large study they may be some seconds old.

    All figures of a page that count all items use them, so the items are read once.
    """
    return once(
        study,
        "seat groups",
        lambda: kept(
            "seat-groups",
            study.pk,
            study.version,
            count=lambda: seat_groups(study),
            rows=lambda groups: sum(group.items for group in groups),
        ),
    )


def role_of(user: User | AnonymousUser, study: Study) -> str:
    """The role of `user` in `study`; a superuser owns every study."""
    if user.is_superuser:
        return Membership.Role.OWNER
    known: str | None = getattr(study, "role", None)
    if known is not None:
        return known  # `get_study` has read it for the user of the page
    return Membership.objects.values_list("role", flat=True).get(user=user.pk, study=study)
