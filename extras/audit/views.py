"""Pages of the audit of items before launch."""

from dataclasses import dataclass
from typing import cast

from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect, JsonResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_GET, require_POST

from analysis.errors import BadParameters
from extras.audit.findings import AuditFinding, FindingState, Level
from extras.audit.job import accept, audit_again, audit_for, findings_in
from extras.audit.models import AcceptedFinding, Audit
from studies.jobs.retry import Retry, job_status
from studies.models.studies import Membership, Study
from studies.pages.listing import role_of
from studies.pages.workbench import AfterImport, SectionPage
from studies.selectors import get_study

_HEADINGS = {
    "blocking": "Blocks the opening",
    "advisory": "Advice",
    "informative": "For your information",
    "unknown": "Could not be checked",
    "clear": "Clear",
}


@dataclass(frozen=True)
class AuditLine:
    """A finding, and the reason if it was accepted."""

    finding: AuditFinding
    accepted: AcceptedFinding | None

    @property
    def may_be_accepted(self) -> bool:
        return (
            self.accepted is None and self.finding.is_found and self.finding.level == Level.BLOCKING
        )


@require_GET
@login_required
def findings(request: HttpRequest, slug: str) -> HttpResponse:
    """Show the audit of the items."""
    return _audit_page(request, get_study(request.user, slug))


@require_GET
@login_required
def status(request: HttpRequest, slug: str) -> JsonResponse:
    """Show the progress that the page polls while a worker audits the items."""
    study = get_study(request.user, slug)
    return job_status(Audit.objects.filter(study=study).first())


@require_POST
@login_required
def again(request: HttpRequest, slug: str) -> HttpResponse:
    """Audit the items again."""
    study = get_study(request.user, slug, role=Membership.Role.EDITOR)
    audit_again(study)
    return HttpResponseRedirect(_address(study))


@require_POST
@login_required
def accept_finding(request: HttpRequest, slug: str) -> HttpResponse:
    """Record why the study goes ahead despite a blocking finding."""
    study = get_study(request.user, slug, role=Membership.Role.EDITOR)
    check, reason = request.POST.get("check", ""), request.POST.get("reason", "")
    try:
        accept(study=study, check=check, reason=reason[:1000], user=cast(User, request.user))
    except BadParameters as error:
        return _audit_page(request, study, error=str(error), about=check, status=422)
    return HttpResponseRedirect(f"{_address(study)}#{check}")


def _audit_page(
    request: HttpRequest, study: Study, *, error: str = "", about: str = "", status: int = 200
) -> HttpResponse:
    audit = audit_for(study)
    accepted = {
        one.check_name: one
        for one in AcceptedFinding.objects.filter(study=study).select_related("accepted_by")
    }
    lines = [AuditLine(one, accepted.get(one.check)) for one in findings_in(audit)]
    parts = {name: [line for line in lines if _part(line.finding) == name] for name in _HEADINGS}
    context = {
        "study": study,
        "audit": audit,
        "parts": [(name, _HEADINGS[name], part) for name, part in parts.items() if part],
        "retry": Retry(_address(study), label="Audit again", fields={"action": "again"}),
        "may_edit": role_of(request.user, study) != Membership.Role.VIEWER,
        "error": error,
        "about": about,
    }
    return render(request, "audit/findings.html", context, status=status)


def _part(finding: AuditFinding) -> str:
    return finding.level.value if finding.state == FindingState.FOUND else finding.state.value


def _address(study: Study) -> str:
    return reverse("audit:findings", args=[study.slug])


def section_page(study: Study) -> list[SectionPage]:
    return [SectionPage("items", "Audit", _address(study), once="items")]


AFTER_IMPORT = AfterImport(
    "A worker looks for problems in the items. What it finds is under Items, Audit.",
    "See the audit of the items",
    _address,
)
