"""Permission to decide about participants' money: only owners of the study have it."""

from django.contrib.auth.models import User

from annotation.prolific.api.errors import NotAllowed
from studies.models import Membership, Study
from studies.selectors import studies_for


def is_owner(user: User, study: Study) -> bool:
    return studies_for(user, role=Membership.Role.OWNER).filter(pk=study.pk).exists()


def owners_only(user: User | None, study: Study) -> None:
    """Raise `NotAllowed` for a user who is no owner; commands pass no user and are allowed."""
    if user is not None and not is_owner(user, study):
        raise NotAllowed(why_not(study))


def why_not(study: Study) -> str:
    """The reason why a user who is no owner cannot continue, and whom to ask."""
    owned = Membership.objects.filter(study=study, role=Membership.Role.OWNER)
    names = ", ".join(owned.order_by("pk").values_list("user__username", flat=True))
    owners = names or "an administrator"
    return f"Only an owner of this study can approve, reject or pay. Ask {owners}."
