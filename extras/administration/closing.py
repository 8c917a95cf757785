"""Closing an account: the studies that work through it, and who takes them over."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from django.contrib.auth.models import User
from django.db import transaction

from studies.errors import StudyError
from studies.models import Membership, Study
from studies.selectors import RANK
from studies.services.accounts.team import GivenRight, granted_by, hand_over, keep_an_owner


@transaction.atomic
def close_account(
    *, user: User, by: User, heirs: Mapping[int, int], keep: Collection[str] = ()
) -> None:
    """Close an account after its studies went to others, by the ids of study and new owner.

    An administrator who is no member of a study becomes one by taking it over. Raises `StudyError`
    if somebody else than a member is named.
    """
    for member in user.memberships.select_related("study").order_by("study"):
        to = heirs.get(member.study_id)
        if to is None:
            continue
        if to == by.pk:
            Membership.objects.get_or_create(study=member.study, user=by)
        try:
            hand_over(
                study_id=member.study_id, to=to, by=by, keep=keep, leaving=user.pk, afterwards=""
            )
        except Membership.DoesNotExist:
            raise StudyError(
                f"Choose a member of “{member.study.slug}” who takes it over."
            ) from None
    user.is_active = False
    user.save(update_fields=["is_active"])


@dataclass(frozen=True)
class HeldStudy:
    """A study that works through somebody: as its only owner, or by what they have given out."""

    study: Study
    is_only_owner: bool
    grants: list[GivenRight]
    heirs: list[User]


def studies_of(user: User, *, heir: User) -> list[HeldStudy]:
    """The studies that an account takes along when it is closed, and who could take them over.

    `heir` is the administrator, who can take over every study.
    """
    held = []
    for member in user.memberships.select_related("study", "user").order_by("study__slug"):
        study, is_only = member.study, False
        try:
            keep_an_owner(study, member)
        except StudyError:
            is_only = True
        grants = granted_by(study, user.pk)
        if is_only or grants:
            others = study.memberships.filter(user__is_active=True).select_related("user")
            others = others.exclude(user__in=[user, heir])
            ranked = sorted(others, key=lambda other: (-RANK[other.role], other.created_at))
            heirs = [*(other.user for other in ranked), heir]
            held.append(HeldStudy(study, is_only, grants, heirs))
    return held


def left_behind(user: User) -> list[str]:
    """What somebody whose account is closed leaves to others, one sentence per study."""
    lines = []
    for held in studies_of(user, heir=user):
        parts = ["no owner is left who can sign in"] if held.is_only_owner else []
        if held.grants:
            parts.append(
                f"these work through the account: {', '.join(grant.label for grant in held.grants)}"
            )
        lines.append(f"“{held.study.slug}”: {'; '.join(parts)}.")
    return lines
