"""The ids that may enter a study that is open only to a list of ids."""

import re
from dataclasses import dataclass

from django.contrib.auth.models import User
from django.db import transaction

from annotation.errors import InvitationError
from annotation.models import Invitation
from studies.models import Study
from studies.services.studies import lock_study, record

_ACCEPTED = re.compile(r"[A-Za-z0-9_-]{1,64}")
_BETWEEN = re.compile(r"[\s,;]+")


@dataclass(frozen=True)
class Invited:
    """The result of adding ids."""

    added: int
    known: int


@transaction.atomic
def invite(*, study_id: int, text: str, user: User | None = None) -> Invited:
    """Add the ids in `text`, separated by spaces, commas or lines, to a study's list; all or none.

    Ids already on the list stay. The log counts the ids and names none. Raises `InvitationError`.
    """
    keys = list(dict.fromkeys(filter(None, _BETWEEN.split(text))))
    if not keys:
        raise InvitationError("Enter at least one id.")
    faulty = [key for key in keys if not _ACCEPTED.fullmatch(key)]
    if faulty:
        raise InvitationError(
            f"{len(faulty)} of {len(keys)} ids cannot be part of a link, the first is number "
            f"{keys.index(faulty[0]) + 1}. Use up to 64 letters, digits, - and _. Nobody was added."
        )
    study = lock_study(study_id)
    if study.entry != Study.Entry.LIST:
        raise InvitationError("This study is not entered by a list of ids.")
    known = set(Invitation.objects.filter(study=study, key__in=keys).values_list("key", flat=True))
    new = [key for key in keys if key not in known]
    Invitation.objects.bulk_create(Invitation(study=study, key=key) for key in new)
    if new:
        record(study, "people invited", user=user, people=len(new))
    return Invited(len(new), len(known))
