"""The audit as work: every check sees every item once."""

from collections.abc import Iterator, Mapping
from typing import Any

from analysis.audit.checks import CHECKS
from analysis.audit.findings import AuditFinding
from analysis.data.items.audited_items import audit_fingerprint, audited_items, audited_study
from analysis.models import Audit
from studies.jobs.runner import JobProgress, carry_out
from studies.models.studies import Study

_REPORTED_EVERY = 500


def audit_queued(*, audit_id: int) -> Audit:
    """Audit the items of a queued audit; running it twice audits them once."""
    return carry_out(Audit, audit_id, _audit, expected=())


def findings_of(study: Study) -> list[AuditFinding]:
    """What the checks find now, without storing it."""
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
    """Show every item to every check; yields how many were shown."""
    for number, item in enumerate(audited_items(study), start=1):
        for check in checks:
            check.look(item)
        yield number
