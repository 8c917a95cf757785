"""Whether the items of a study may be sent to providers of models, and who decided so.

A source that forbids to pass its items on, and an owner, can forbid it. An owner can confirm it
with a reason, which is logged. The confirmation holds for this source: items with other terms need
another one.
"""

from typing import Any

from django.contrib.auth.models import User
from django.db import transaction

from studies.errors import StudyError
from studies.models import Study
from studies.services.studies import lock_study, record
from studies.statements import clock

SHORTEST_REASON = 10
CONFIRMED, FORBIDDEN = "confirmed", "forbidden"
_NO_REASON = (
    f"Write the reason in at least {SHORTEST_REASON} letters, for example “Approved by the data "
    "owner on 3 May”."
)


def forbids_providers(study: Study) -> bool:
    """Whether the items must not be sent to a provider now."""
    decision = study.sharing.get("providers", "")
    if decision == CONFIRMED and study.sharing.get("terms") == terms_of(study):
        return False
    return decision == FORBIDDEN or is_forbidden_by_source(study)


def is_forbidden_by_source(study: Study) -> bool:
    """Whether the terms of the items' source forbid it, as far as they are recorded."""
    return study.source.get("redistribution") == "forbidden"


def terms_of(study: Study) -> dict[str, Any]:
    """What is recorded of the terms of the items' source."""
    return {name: study.source.get(name, "") for name in ("licence", "redistribution")}


@transaction.atomic
def confirm_providers(*, study_id: int, reason: str, by: User | None = None) -> None:
    """Allow that items are sent to providers. Raises `StudyError` without a reason."""
    reason = reason.strip()
    if len(reason) < SHORTEST_REASON:
        raise StudyError(_NO_REASON)
    study = lock_study(study_id)
    _decide(study, CONFIRMED, by, reason=reason, terms=terms_of(study))


@transaction.atomic
def forbid_providers(*, study_id: int, by: User | None = None) -> None:
    """Forbid it from now on, also for runs that are under way."""
    _decide(lock_study(study_id), FORBIDDEN, by)


@transaction.atomic
def follow_source(*, study_id: int, by: User | None = None) -> None:
    """Remove the owner's decision: the terms of the source count."""
    study = lock_study(study_id)
    study.sharing = {}
    study.save(update_fields=["sharing"])
    record(study, "sharing with providers: as the source says", user=by)


def _decide(study: Study, decision: str, by: User | None, **more: Any) -> None:
    study.sharing = {
        "providers": decision,
        "by": by.get_username() if by else "",
        "at": clock.now().isoformat(),
        **more,
    }
    study.save(update_fields=["sharing"])
    record(study, f"sharing with providers {decision}", user=by, **more)
