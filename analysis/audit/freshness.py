"""The audit that a page or the opening of a study shows, and the findings that were accepted."""

from django.contrib.auth.models import User
from django.db import transaction

from analysis.audit.findings import AuditFinding, Level, finding_from
from analysis.data.items.audited_items import audit_fingerprint
from analysis.errors import BadParameters
from analysis.models import AcceptedFinding, Audit
from analysis.tasks import audit_items
from studies.jobs.queueing import queue
from studies.jobs.retry import start_over
from studies.models.studies import Study
from studies.services.studies import record

# The event of the log. Logs of existing studies hold this text; do not change it.
ACCEPTED = "finding of the audit accepted"


def audit_for(study: Study) -> Audit:
    """The audit of a study, queued again if the items have changed since."""
    audit, _ = Audit.objects.get_or_create(study=study, defaults={"state": Audit.State.DONE})
    audit.study = study
    is_old = audit.is_stalled if audit.is_open else audit.fingerprint != audit_fingerprint(study)
    if is_old and audit.state != Audit.State.FAILED and start_over(audit):
        transaction.on_commit(lambda: queue(audit_items, audit.pk))
        audit.refresh_from_db()
    return audit


def audit_again(study: Study) -> None:
    """Queue the audit of a study even if nothing has changed, or if it failed before."""
    audit = audit_for(study)
    if not audit.is_open and start_over(audit):
        transaction.on_commit(lambda: queue(audit_items, audit.pk))


def is_current(audit: Audit) -> bool:
    """Whether the findings are about the items as they are."""
    return not audit.is_open and audit.fingerprint == audit_fingerprint(audit.study)


def findings_in(audit: Audit) -> list[AuditFinding]:
    return [finding_from(stored) for stored in audit.findings]


def accept(*, study: Study, check: str, reason: str, user: User) -> None:
    """Record why the study goes ahead in spite of a blocking finding.

    Raises `BadParameters` without a reason, or if the audit has no such finding.
    """
    reason = reason.strip()
    if not reason:
        raise BadParameters("Say why the study goes ahead in spite of this finding.")
    audit = Audit.objects.filter(study=study).first()
    found = findings_in(audit) if audit else []
    if not any(
        one.check == check and one.is_found and one.level == Level.BLOCKING for one in found
    ):
        raise BadParameters("The audit has no such finding any more. Look at the page again.")
    with transaction.atomic():
        _, is_new = AcceptedFinding.objects.get_or_create(
            study=study, check_name=check, defaults={"reason": reason, "accepted_by": user}
        )
        if is_new:
            record(study, ACCEPTED, user=user, check=check, reason=reason)
