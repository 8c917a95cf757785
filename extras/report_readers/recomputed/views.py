"""The button that verifies a report, and the part of the report's page that shows the result."""

from collections.abc import Mapping
from typing import Any, cast

from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import User
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.http import require_GET, require_POST

from analysis.lifecycle.storage import get_report
from analysis.models import Report
from analysis.pages.workbench import ReportPart
from extras.report_readers.models import Recheck
from extras.report_readers.recomputed.rechecks import request_recheck
from studies.jobs.retry import Retry, job_status
from studies.models.studies import Membership
from studies.pages.addressed import PROGRESS


def newest(report: Report) -> Recheck | None:
    return Recheck.objects.filter(report=report).first()


def _context(report: Report) -> Mapping[str, Any]:
    recheck = newest(report)
    label = "Verify report again" if recheck else "Verify report"
    address = reverse("verification:verify", args=[report.study.slug, report.public_id])
    return {
        "job": recheck,
        "status_url": f"{address}?{PROGRESS}",
        "retry": Retry(address, label),
    }


PART = ReportPart("verification", "verification/_recheck.html", _context)


@login_required
@require_POST
def verify(request: HttpRequest, slug: str, public_id: str) -> HttpResponse:
    """Recompute a finished report in a worker; its page shows the result."""
    report = get_report(request.user, slug, public_id, role=Membership.Role.EDITOR)
    if report.state != Report.State.DONE:
        raise Http404("This report is not finished, so there is nothing to verify yet.")
    request_recheck(report_id=report.pk, user=cast(User, request.user))
    return redirect("analysis:report", slug=slug, public_id=public_id)


@login_required
@require_GET
def status(request: HttpRequest, slug: str, public_id: str) -> JsonResponse:
    """Show the progress that the report's page polls while it is computed again."""
    return job_status(newest(get_report(request.user, slug, public_id)))
