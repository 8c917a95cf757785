"""The members of a study: invitations by link, roles, and who owns it."""

import datetime as dt
import hashlib
import secrets

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import QuerySet

from studies.errors import StudyError
from studies.models import Invitation, Membership, Study
from studies.selectors import RANK
from studies.services.studies import lock_study, record
from studies.statements import clock

_VALID_FOR = dt.timedelta(days=7)
_MOST_OPEN = 50


def hash_of(secret: str) -> str:
    """What is stored of a secret with 256 random bits, which needs no slow hash."""
    return hashlib.sha256(secret.encode()).hexdigest()


@transaction.atomic
def invite(*, study_id: int, role: str, by: User, note: str = "") -> tuple[Invitation, str]:
    """An invitation for one person, and its secret, which is not kept."""
    study = lock_study(study_id)
    if open_invitations(study).count() >= _MOST_OPEN:
        raise StudyError(
            f"{_MOST_OPEN} invitations to this study are open. Withdraw one that is not needed."
        )
    secret = secrets.token_hex(32)
    invitation = Invitation.objects.create(
        study=study,
        role=role,
        note=note,
        invited_by=by,
        secret_sha256=hash_of(secret),
        expires_at=clock.now() + _VALID_FOR,
    )
    record(study, "invitation created", user=by, role=role, note=note)
    return invitation, secret


def open_invitations(study: Study) -> QuerySet[Invitation]:
    return Invitation.objects.filter(study=study, ended_at=None, expires_at__gt=clock.now())


def invitation_of(secret: str) -> Invitation | None:
    """The open invitation with this secret."""
    found = Invitation.objects.filter(
        secret_sha256=hash_of(secret), ended_at=None, expires_at__gt=clock.now()
    )
    return found.select_related("study", "invited_by").first()


@transaction.atomic
def accept(*, secret: str, user: User) -> Study:
    """Make the user a member; a role that is higher already stays. An invitation works once."""
    found = invitation_of(secret)
    if found is None:
        raise StudyError("This invitation was used or withdrawn, or its time is over.")
    study = lock_study(found.study_id)
    # Again under the lock: two people may open the link at once.
    if not Invitation.objects.filter(pk=found.pk, ended_at=None).update(
        ended_at=clock.now(), accepted_by=user
    ):
        raise StudyError("This invitation was used in the meantime.")
    member, is_new = Membership.objects.get_or_create(
        study=study, user=user, defaults={"role": found.role}
    )
    if not is_new and RANK[found.role] > RANK[member.role]:
        member.role = found.role
        member.save(update_fields=["role"])
    record(study, "invitation accepted", user=user, role=member.role)
    return study


@transaction.atomic
def withdraw_invitation(*, study_id: int, public_id: str, by: User) -> bool:
    study = lock_study(study_id)
    withdrawn = open_invitations(study).filter(public_id=public_id).update(ended_at=clock.now())
    if withdrawn:
        record(study, "invitation withdrawn", user=by)
    return bool(withdrawn)


@transaction.atomic
def set_role(*, study_id: int, user_id: int, role: str, by: User) -> Membership:
    """Change the role of a member. Raises `StudyError` if no owner would be left."""
    study = lock_study(study_id)
    member = Membership.objects.select_related("user").get(study=study, user=user_id)
    if member.role == role:
        return member
    if role != Membership.Role.OWNER:
        _keep_an_owner(study, member)
    before, member.role = member.role, role
    member.save(update_fields=["role"])
    record(study, "role changed", user=by, of=_name(member), before=before, after=role)
    return member


@transaction.atomic
def remove_member(*, study_id: int, user_id: int, by: User) -> None:
    """End a membership. Raises `StudyError` if no owner would be left."""
    study = lock_study(study_id)
    member = Membership.objects.select_related("user").get(study=study, user=user_id)
    _keep_an_owner(study, member)
    member.delete()
    record(study, "member removed", user=by, of=_name(member), before=member.role)


@transaction.atomic
def hand_over(*, study_id: int, to: int, by: User) -> None:
    """Make another member the owner; the present one becomes an editor."""
    study = lock_study(study_id)
    set_role(study_id=study.pk, user_id=to, role=Membership.Role.OWNER, by=by)
    if to != by.pk and Membership.objects.filter(study=study, user=by).exists():
        set_role(study_id=study.pk, user_id=by.pk, role=Membership.Role.EDITOR, by=by)


def _keep_an_owner(study: Study, leaving: Membership) -> None:
    owners = Membership.objects.filter(study=study, role=Membership.Role.OWNER)
    if leaving.role == Membership.Role.OWNER and not owners.exclude(pk=leaving.pk).exists():
        raise StudyError(
            f"{_name(leaving)} is the only owner, and a study needs one. Make another member "
            "an owner first."
        )


def _name(member: Membership) -> str:
    return str(member.user.get_username())
