"""Queries for the studies that a user can read."""

from collections import Counter
from typing import NamedTuple

from django.contrib.auth.models import AnonymousUser, User
from django.db.models import Count, F, QuerySet
from django.http import Http404

from studies.models import Item, Membership, Study

RANK: dict[str, int] = {
    Membership.Role.VIEWER: 0,
    Membership.Role.EDITOR: 1,
    Membership.Role.OWNER: 2,
}


def studies_for(
    user: User | AnonymousUser, *, role: str = Membership.Role.VIEWER
) -> QuerySet[Study]:
    """Studies in which `user` has at least `role`; a superuser has every role."""
    if user.is_superuser:
        return Study.objects.all()
    roles = [name for name, rank in RANK.items() if rank >= RANK[Membership.Role(role)]]
    return Study.objects.filter(memberships__user=user.pk, memberships__role__in=roles)


class SeatGroup(NamedTuple):
    """How many items have the same numbers of seats and answers."""

    needed: int
    taken: int
    answered: int
    items: int


def seat_groups(study: Study) -> list[SeatGroup]:
    """The items by their seats and answers: a few groups, from one reading of all items."""
    rows = (
        Item.objects.filter(study=study)
        .order_by()
        .values_list("seats_needed", "seats_taken", "answered")
        .annotate(items=Count("pk"))
    )
    return [SeatGroup(*row) for row in rows]


def language_of(study: Study, language: str) -> str:
    """The language of an item: its own, otherwise the study's."""
    return (language or study.language).replace("_", "-")


def item_languages(study: Study) -> list[str]:
    """The languages of the items that are judged, the most frequent first.

    An item that states none has that of the study.
    """
    counts = Counter[str]()
    rows = Item.objects.filter(study=study).order_by().values_list("language")
    for language, n in rows.annotate(n=Count("pk")):
        counts[language_of(study, language)] += n
    return sorted(counts, key=lambda language: (-counts[language], language))


def owner_names(study: Study) -> list[str]:
    """The full names of the owners, where known."""
    memberships = study.memberships.filter(role=Membership.Role.OWNER).select_related("user")
    names = [owner.user.get_full_name() for owner in memberships.order_by("created_at", "pk")]
    return [name for name in names if name]


def get_study(
    user: User | AnonymousUser, slug: str, *, role: str = Membership.Role.VIEWER
) -> Study:
    """The study `slug` if `user` has at least `role` in it.

    Otherwise 404, so that it does not reveal whether the study exists.
    """
    studies = studies_for(user, role=role)
    if not user.is_superuser:
        # Pages ask for it several times, and here it costs no extra query.
        studies = studies.annotate(role=F("memberships__role"))
    try:
        return studies.get(slug=slug)
    except Study.DoesNotExist:
        raise Http404 from None
