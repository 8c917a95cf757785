"""What the audit adds to the set-up of a study, and to the checks before it opens."""

from django.urls import reverse

from analysis.audit.findings import AuditFinding, Level
from analysis.audit.freshness import audit_for, findings_in
from analysis.models import AcceptedFinding
from studies.models.studies import Study
from studies.pages.listing import study_figures
from studies.pages.workbench.registry import SetupTask, TaskState
from studies.services.launch_checks import LaunchCheck


def opening_checks(study: Study) -> list[LaunchCheck]:
    """The audit's findings; a blocking one that was accepted is advice with its reason."""
    if not study_figures(study).items:
        return []
    audit = audit_for(study)
    address = reverse("audit:findings", args=[study.slug])
    if audit.is_open:
        return [LaunchCheck("A worker audits the items; its findings will be listed here.", False)]
    accepted = dict(AcceptedFinding.objects.filter(study=study).values_list("check_name", "reason"))
    found = [one for one in findings_in(audit) if one.is_found and one.level != Level.INFORMATIVE]
    if not found:
        return [LaunchCheck("The audit of the items found nothing that needs attention.", False)]
    return [_line(one, accepted.get(one.check), address) for one in found]


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
    found = [one for one in findings_in(audit_for(study)) if one.is_found]
    known = set(AcceptedFinding.objects.filter(study=study).values_list("check_name", flat=True))
    blocking = [one for one in found if one.level == Level.BLOCKING and one.check not in known]
    if not blocking:
        return []
    words = f"The audit found: {blocking[0].sentence}"
    address = reverse("audit:findings", args=[study.slug])
    return [SetupTask("items", "Items", TaskState.ATTENTION, words, address)]
