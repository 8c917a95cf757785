"""The members of a study: invitations by link, roles, and who owns it."""

import datetime as dt
import hashlib
import secrets
from collections.abc import Callable, Collection
from dataclasses import dataclass

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Exists, OuterRef, Q, QuerySet

from studies.errors import StudyError
from studies.extra import Kind
from studies.models import Membership, Study, TeamInvitation
from studies.selectors import RANK, studies_for
from studies.services.related_studies import all_related
from studies.services.studies import lock_study, record
from studies.statements import clock

_VALID_FOR = dt.timedelta(days=7)
_MOST_OPEN = 50


@dataclass(frozen=True)
class GivenRight:
    """Something of one member that others depend on: a link, a key of a judge.

    `end` ends it for the study, `hand_to` gives it to another member.
    """

    key: str
    label: str
    end: Callable[[User], object]
    hand_to: Callable[[User], object]


RIGHTS: Kind[Callable[[Study, int], list[GivenRight]]] = Kind("holdings", "rights")


def granted_by(study: Study, user_id: int) -> list[GivenRight]:
    """What the user has given out in the study and is still valid."""
    return [grant for source in (_invitations, *RIGHTS) for grant in source(study, user_id)]


def _invitations(study: Study, user_id: int) -> list[GivenRight]:
    def grant(invitation: TeamInvitation) -> GivenRight:
        row = TeamInvitation.objects.filter(pk=invitation.pk)
        return GivenRight(
            key=f"invitation {invitation.public_id}",
            label=f"invitation as {invitation.role}"
            + (f" for {invitation.note}" if invitation.note else ""),
            end=lambda by: withdraw_invitation(
                study_id=study.pk, public_id=invitation.public_id, by=by
            ),
            hand_to=lambda heir: row.update(invited_by=heir),
        )

    return [grant(invitation) for invitation in _unused(study).filter(invited_by=user_id)]


def hash_of(secret: str) -> str:
    """The stored hash of a secret; its 256 random bits need no slow hash."""
    return hashlib.sha256(secret.encode()).hexdigest()


@transaction.atomic
def invite(*, study_id: int, role: str, by: User, note: str = "") -> tuple[TeamInvitation, str]:
    """An invitation for one person, and its secret, which is not stored."""
    study = lock_study(study_id)
    if open_invitations(study).count() >= _MOST_OPEN:
        raise StudyError(
            f"{_MOST_OPEN} invitations to this study are open. Withdraw one that you do not need."
        )
    secret = secrets.token_hex(32)
    invitation = TeamInvitation.objects.create(
        study=study,
        role=role,
        note=note,
        invited_by=by,
        secret_sha256=hash_of(secret),
        expires_at=clock.now() + _VALID_FOR,
    )
    record(study, "invitation created", user=by, role=role, note=note)
    return invitation, secret


def open_invitations(study: Study) -> QuerySet[TeamInvitation]:
    """The valid invitations: their author must still be allowed to invite."""
    return _valid(_unused(study))


def invitation_of(secret: str) -> TeamInvitation | None:
    """The open invitation with this secret."""
    invitations = _valid(_unused()).filter(secret_sha256=hash_of(secret))
    return invitations.select_related("study", "invited_by").first()


def _unused(study: Study | None = None) -> QuerySet[TeamInvitation]:
    invitations = TeamInvitation.objects.filter(ended_at=None, expires_at__gt=clock.now())
    return invitations if study is None else invitations.filter(study=study)


def _valid(invitations: QuerySet[TeamInvitation]) -> QuerySet[TeamInvitation]:
    owns = Membership.objects.filter(
        user=OuterRef("invited_by"), study=OuterRef("study"), role=Membership.Role.OWNER
    )
    return invitations.filter(
        Exists(owns) | Q(invited_by__is_superuser=True), invited_by__is_active=True
    )


@transaction.atomic
def accept(*, secret: str, user: User) -> Study:
    """Make the user a member, or keep a higher role. An invitation works once."""
    invitation = invitation_of(secret)
    if invitation is None:
        raise StudyError("This invitation was used or withdrawn, or has expired.")
    study = lock_study(invitation.study_id)
    # Checked again under the lock: two people may open the link at once.
    if not TeamInvitation.objects.filter(pk=invitation.pk, ended_at=None).update(
        ended_at=clock.now(), accepted_by=user
    ):
        raise StudyError("This invitation was used in the meantime.")
    member, is_new = Membership.objects.get_or_create(
        study=study, user=user, defaults={"role": invitation.role}
    )
    if not is_new and RANK[invitation.role] > RANK[member.role]:
        member.role = invitation.role
        member.save(update_fields=["role"])
    record(study, "invitation accepted", user=user, role=member.role)
    return study


@transaction.atomic
def withdraw_invitation(*, study_id: int, public_id: str, by: User) -> bool:
    study = lock_study(study_id)
    withdrawn = _unused(study).filter(public_id=public_id).update(ended_at=clock.now())
    if withdrawn:
        record(study, "invitation withdrawn", user=by)
    return bool(withdrawn)


@transaction.atomic
def set_role(
    *, study_id: int, user_id: int, role: str, by: User, keep: Collection[str] = ()
) -> Membership:
    """Change the role of a member. Raises `StudyError` if no owner would be left.

    What an owner has given out ends with that role, except grants whose keys are in `keep`: those
    then belong to another owner.
    """
    study = lock_study(study_id)
    member = Membership.objects.select_related("user").get(study=study, user=user_id)
    if member.role == role:
        return member
    if role != Membership.Role.OWNER:
        keep_an_owner(study, member)
    before, member.role = member.role, role
    member.save(update_fields=["role"])
    record(study, "role changed", user=by, of=_name(member), before=before, after=role)
    if before == Membership.Role.OWNER:
        _end_grants(study, member, by, keep)
    return member


@transaction.atomic
def remove_member(*, study_id: int, user_id: int, by: User, keep: Collection[str] = ()) -> None:
    """End a membership, and its grants except `keep`, as `set_role` does.

    Raises `StudyError` if no owner would be left.
    """
    study = lock_study(study_id)
    member = Membership.objects.select_related("user").get(study=study, user=user_id)
    keep_an_owner(study, member)
    member.delete()
    record(study, "member removed", user=by, of=_name(member), before=member.role)
    _end_grants(study, member, by, keep)


@transaction.atomic
def hand_over(
    *,
    study_id: int,
    to: int,
    by: User,
    keep: Collection[str] = (),
    leaving: int | None = None,
    afterwards: str = Membership.Role.EDITOR,
    also: Collection[int] = (),
) -> None:
    """Make another member the owner instead of `by`, or of the member `leaving`.

    `afterwards` is the role of who leaves; empty removes them. What they have given out goes to the
    new owner where its key is in `keep`, and ends otherwise. `also` are the ids of studies among
    `staying_behind` that go along with all that works through them. Raises `StudyError` if the new
    owner cannot sign in.
    """
    study = lock_study(study_id)
    leaving = by.pk if leaving is None else leaving
    heir = Membership.objects.select_related("user").get(study=study, user=to).user
    if not heir.is_active:
        raise StudyError(f"The account of {heir.get_username()} is closed. Choose another member.")
    for other in staying_behind(study, leaving=leaving, by=by) if also else ():
        if other.pk in also:
            Membership.objects.get_or_create(study=other, user=heir)
            kept = [grant.key for grant in granted_by(other, leaving)]
            hand_over(
                study_id=other.pk, to=to, by=by, keep=kept, leaving=leaving, afterwards=afterwards
            )
    set_role(study_id=study.pk, user_id=to, role=Membership.Role.OWNER, by=by)
    member = Membership.objects.select_related("user").filter(study=study, user=leaving).first()
    if member is None or to == leaving:
        return
    if afterwards and RANK[afterwards] < RANK[member.role]:
        before, member.role = member.role, afterwards
        member.save(update_fields=["role"])
        record(study, "role changed", user=by, of=_name(member), before=before, after=afterwards)
    elif not afterwards:
        member.delete()
        record(study, "member removed", user=by, of=_name(member), before=member.role)
    _end_grants(study, member, by, keep, heir=heir)


def staying_behind(study: Study, *, leaving: int, by: User) -> list[Study]:
    """Studies of a member that belong with this one, and which `by` owns too."""
    owned = Study.objects.filter(memberships__user=leaving, memberships__role=Membership.Role.OWNER)
    own = studies_for(by, role=Membership.Role.OWNER).filter(pk__in=all_related(study))
    return list(own.filter(pk__in=owned.values("pk")).order_by("slug"))


def _end_grants(
    study: Study,
    member: Membership,
    by: User,
    keep: Collection[str],
    heir: User | None = None,
) -> None:
    """End a former owner's grants; what is kept goes to `heir`, to `by`, or to another owner."""
    heir = heir or by
    if heir.pk == member.user_id:
        heir = (
            User.objects.filter(
                memberships__study=study, memberships__role=Membership.Role.OWNER, is_active=True
            )
            .exclude(pk=by.pk)
            .earliest("memberships__created_at")
        )
    for grant in granted_by(study, member.user_id):
        if grant.key in keep:
            grant.hand_to(heir)
            record(study, "kept", user=by, what=grant.label, of=_name(member))
        else:
            grant.end(by)


def keep_an_owner(study: Study, leaving: Membership) -> None:
    """Raise `StudyError` if no other owner could sign in."""
    owners = Membership.objects.filter(
        study=study, role=Membership.Role.OWNER, user__is_active=True
    )
    if leaving.role == Membership.Role.OWNER and not owners.exclude(pk=leaving.pk).exists():
        raise StudyError(
            f"{_name(leaving)} is the only owner who can sign in, and a study needs one. Make "
            "another member an owner first."
        )


def _name(member: Membership) -> str:
    return str(member.user.get_username())
