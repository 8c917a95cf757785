"""The audit of a study: computed by a worker, shown on pages, and checked before launch."""

from collections.abc import Iterator, Mapping
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction
from django.urls import reverse

from analysis.errors import BadParameters
from extras.audit.checks import CHECKS
from extras.audit.findings import AuditFinding, Level, finding_from
from extras.audit.items import audit_fingerprint, audited_items, audited_study
from extras.audit.models import AcceptedFinding, Audit
from extras.audit.tasks import audit_items
from studies.jobs.queueing import queue
from studies.jobs.retry import start_over
from studies.jobs.runner import JobProgress, carry_out
from studies.models.studies import Study
from studies.pages.listing import study_figures
from studies.pages.workbench import SetupTask, TaskState
from studies.services.studies import LaunchCheck, record

_REPORTED_EVERY = 500


def audit_queued(*, audit_id: int) -> Audit:
    """Compute a queued audit; safe to run twice."""
    return carry_out(Audit, audit_id, _audit, expected=())


def findings_of(study: Study) -> list[AuditFinding]:
    """Run the checks without storing the findings."""
    checks = [check() for check in CHECKS]
    for _ in _looked(study, checks):
        pass
    facts = audited_study(study)
    return [check.finding(facts) for check in checks]


def _audit(audit: Audit, progress: JobProgress) -> Mapping[str, Any]:
    study = audit.study
    fingerprint = audit_fingerprint(study)
    checks = [check() for check in CHECKS]
    facts = audited_study(study)
    done = 0
    for done in _looked(study, checks):
        if done % _REPORTED_EVERY == 0:
            progress(min(99, done * 100 // max(facts.items, done)), f"{done:,} items audited.")
    findings = [check.finding(facts).as_json() for check in checks]
    return {"fingerprint": fingerprint, "items": done, "findings": findings}


def _looked(study: Study, checks: list[Any]) -> Iterator[int]:
    """Show every item to every check; yields the number shown so far."""
    for number, item in enumerate(audited_items(study), start=1):
        for check in checks:
            check.look(item)
        yield number


# The event in the log. Existing logs contain this text; do not change it.
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
    """Queue the audit of a study even if nothing has changed or an earlier one failed."""
    audit = audit_for(study)
    if not audit.is_open and start_over(audit):
        transaction.on_commit(lambda: queue(audit_items, audit.pk))


def is_current(audit: Audit) -> bool:
    """Whether the findings are about the current items."""
    return not audit.is_open and audit.fingerprint == audit_fingerprint(audit.study)


def findings_in(audit: Audit) -> list[AuditFinding]:
    return [finding_from(stored) for stored in audit.findings]


def accept(*, study: Study, check: str, reason: str, user: User) -> None:
    """Record why the study goes ahead despite a blocking finding.

    Raises `BadParameters` without a reason, or if the audit has no such finding.
    """
    reason = reason.strip()
    if not reason:
        raise BadParameters("Say why the study goes ahead despite this finding.")
    audit = Audit.objects.filter(study=study).first()
    findings = findings_in(audit) if audit else []
    if not any(
        one.check == check and one.is_found and one.level == Level.BLOCKING for one in findings
    ):
        raise BadParameters("The audit no longer has this finding. Reload the page.")
    with transaction.atomic():
        _, is_new = AcceptedFinding.objects.get_or_create(
            study=study, check_name=check, defaults={"reason": reason, "accepted_by": user}
        )
        if is_new:
            record(study, ACCEPTED, user=user, check=check, reason=reason)


def opening_checks(study: Study) -> list[LaunchCheck]:
    """The audit's findings; an accepted blocking finding becomes advice with its reason."""
    if not study_figures(study).items:
        return []
    audit = audit_for(study)
    address = reverse("audit:findings", args=[study.slug])
    if audit.is_open:
        return [
            LaunchCheck("A worker is auditing the items. Its findings will appear here.", False)
        ]
    accepted = dict(AcceptedFinding.objects.filter(study=study).values_list("check_name", "reason"))
    findings = [
        one for one in findings_in(audit) if one.is_found and one.level != Level.INFORMATIVE
    ]
    if not findings:
        return [LaunchCheck("The audit of the items found nothing that needs attention.", False)]
    return [_line(one, accepted.get(one.check), address) for one in findings]


def _line(finding: AuditFinding, reason: str | None, address: str) -> LaunchCheck:
    words = f"{finding.title}: {finding.sentence}"
    if finding.level == Level.BLOCKING and reason is None:
        return LaunchCheck(words, True, True, address)
    if reason is not None:
        words += f" Accepted: {reason}"
    return LaunchCheck(words, True, fix=address)


def items_task(study: Study) -> list[SetupTask]:
    """The task “Items”, if the audit found something in them."""
    if not study_figures(study).items:
        return []
    findings = [one for one in findings_in(audit_for(study)) if one.is_found]
    known = set(AcceptedFinding.objects.filter(study=study).values_list("check_name", flat=True))
    blocking = [one for one in findings if one.level == Level.BLOCKING and one.check not in known]
    if not blocking:
        return []
    words = f"The audit found: {blocking[0].sentence}"
    address = reverse("audit:findings", args=[study.slug])
    return [SetupTask("items", "Items", TaskState.ATTENTION, words, address)]
