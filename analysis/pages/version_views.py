"""Two versions of a study's report, side by side."""

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from analysis.lifecycle.version_comparison import compare_reports
from analysis.models import Report
from analysis.pages.forms import CompareForm
from analysis.selectors import reports_for
from studies.selectors import get_study


@login_required
@require_GET
def compare(request: HttpRequest, slug: str) -> HttpResponse:
    """Show two versions side by side, by default the last two."""
    study = get_study(request.user, slug)
    reports = list(reports_for(request.user, slug).filter(state=Report.State.DONE))
    form = CompareForm(request.GET or None, reports=reports)
    chosen = (reports[1], reports[0]) if len(reports) > 1 else None
    if form.is_bound and form.is_valid():
        chosen = form.chosen()
    elif chosen:
        form.initial = {"before": chosen[0].public_id, "after": chosen[1].public_id}
    context = {"study": study, "form": form, "chosen": chosen}
    if chosen:
        context["compared"] = compare_reports(*chosen)
        context["headlines"] = [
            (report, (report.result or {}).get("headline")) for report in chosen
        ]
    status = 422 if form.is_bound and form.errors else 200
    return render(request, "analysis/compare.html", context, status=status)
