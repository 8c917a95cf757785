"""A study's reports: build, follow the progress, open, download the files."""

import io
import shutil
import zipfile
from typing import cast

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import AnonymousUser, User
from django.http import FileResponse, Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_GET, require_POST

from analysis.errors import BadParameters
from analysis.lifecycle.parameters import ITEM_ROWS, report_dir
from analysis.lifecycle.plans import registered
from analysis.lifecycle.requests import request_recheck, request_report
from analysis.models import Report
from analysis.pages.forms import ReportForm
from analysis.report.files.item_rows import read_item_rows
from analysis.selectors import get_report, reports_for
from studies.file_storage.stored import Stored
from studies.jobs.pages import Retry, job_status
from studies.models.studies import Membership
from studies.selectors import get_study, studies_for

PANEL_REPORTS = 3


@login_required
@require_GET
def list_reports(request: HttpRequest, slug: str) -> HttpResponse:
    """List the versions of the report, and build a new one."""
    study = get_study(request.user, slug)
    context = {
        "study": study,
        "reports": reports_for(request.user, slug),
        "registered": registered(study),
        "form": ReportForm(study=study),
        "may_build": _may_build(request, slug),
    }
    return render(request, "analysis/list.html", context)


@login_required
@require_GET
def panel(request: HttpRequest, slug: str) -> HttpResponse:
    """Show the part of a study's home that is about reports."""
    study = get_study(request.user, slug)
    context = {
        "study": study,
        "reports": reports_for(request.user, slug)[:PANEL_REPORTS],
        "registered": registered(study),
        "may_build": _may_build(request, slug),
    }
    return render(request, "analysis/_panel.html", context)


@login_required
@require_POST
def build(request: HttpRequest, slug: str) -> HttpResponse:
    """Queue a new version of the report."""
    study = get_study(request.user, slug, role=Membership.Role.EDITOR)
    form = ReportForm(request.POST, study=study)
    if form.is_valid():
        try:
            user = cast(User, request.user)
            report = request_report(study_id=study.pk, user=user, **form.chosen())
        except BadParameters as error:
            messages.error(request, str(error))
        else:
            return redirect("analysis:report", slug=slug, public_id=report.public_id)
    context = {
        "study": study,
        "reports": reports_for(request.user, slug),
        "registered": registered(study),
        "form": form,
        "may_build": True,
    }
    return render(request, "analysis/list.html", context, status=422)


@login_required
@require_GET
def show_report(request: HttpRequest, slug: str, public_id: str) -> HttpResponse:
    """Show the progress of a report, or its result and downloads."""
    report = get_report(request.user, slug, public_id)
    recheck = report.rechecks.first()
    same = {"threshold": report.threshold, "bootstrap": report.bootstrap, "seed": report.seed}
    verify_label = "Verify report again" if recheck else "Verify report"
    context = {
        "study": report.study,
        "report": report,
        "status_url": reverse("analysis:status", args=[slug, public_id]),
        "retry": Retry(
            reverse("analysis:build", args=[slug]),
            "Rebuild with current answers",
            fields=same,
        ),
        "retry_recheck": Retry(reverse("analysis:verify", args=[slug, public_id]), verify_label),
        "headline": report.result.get("headline") if report.result else None,
        "registered": registered(report.study),
        "recheck": recheck,
        "may_build": _may_build(request, slug),
        "may_share": studies_for(request.user, role=Membership.Role.OWNER)
        .filter(slug=slug)
        .exists(),
    }
    return render(request, "analysis/report.html", context)


@login_required
@require_GET
def status(request: HttpRequest, slug: str, public_id: str) -> JsonResponse:
    """Show the progress that the page fetches while a report is being built."""
    report = get_report(request.user, slug, public_id)
    # The page of a finished report follows its recheck.
    return job_status(report.rechecks.first() if report.state == Report.State.DONE else report)


@login_required
@require_POST
def verify(request: HttpRequest, slug: str, public_id: str) -> HttpResponse:
    """Compute a finished report again in a worker; the page of the report shows the result."""
    report = get_report(request.user, slug, public_id, role=Membership.Role.EDITOR)
    if report.state != Report.State.DONE:
        raise Http404("This report is not finished, so there is nothing to verify yet.")
    request_recheck(report_id=report.pk, user=cast(User, request.user))
    return redirect("analysis:report", slug=slug, public_id=public_id)


@login_required
@require_GET
def open_report(request: HttpRequest, slug: str, public_id: str) -> FileResponse:
    """Send the report itself, under its own content security policy."""
    report, folder = report_files(request.user, slug, public_id)
    response = FileResponse((folder / "report.html").open(), content_type="text/html")
    policy = f"{report.content_security_policy}; frame-ancestors 'none'"
    response["Content-Security-Policy"] = policy
    response["Cache-Control"] = "private"
    return response


@login_required
@require_GET
def download_json(request: HttpRequest, slug: str, public_id: str) -> FileResponse:
    """Download every number of the report."""
    _, folder = report_files(request.user, slug, public_id)
    return FileResponse(
        (folder / "report.json").open(), as_attachment=True, filename=f"{slug}.report.json"
    )


@login_required
@require_GET
def download_html(request: HttpRequest, slug: str, public_id: str) -> FileResponse:
    """Download the report as one HTML file."""
    _, folder = report_files(request.user, slug, public_id)
    return FileResponse(
        (folder / "report.html").open(), as_attachment=True, filename=f"{slug}.report.html"
    )


@login_required
@require_GET
def download_tables(request: HttpRequest, slug: str, public_id: str) -> FileResponse:
    """Download every table as CSV, LaTeX and Markdown, and all of them as one workbook."""
    _, folder = report_files(request.user, slug, public_id)
    return FileResponse(zipped_tables(folder), as_attachment=True, filename=f"{slug}.tables.zip")


def zipped_tables(folder: Stored) -> io.BytesIO:
    """The tables of a report as a zip file."""
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as bundle:
        for file in (folder / "tables").files():
            with file.open() as source, bundle.open(f"tables/{file.name}", "w") as out:
                shutil.copyfileobj(source, out)
    archive.seek(0)
    return archive


@login_required
@require_GET
def download_table(request: HttpRequest, slug: str, public_id: str, name: str) -> FileResponse:
    """Send one table as CSV: the links of the page are those of the report's own folder."""
    _, folder = report_files(request.user, slug, public_id)
    path = folder / "tables" / f"{name}.csv"
    if not path.is_file():
        raise Http404("The report has no such table.")
    return FileResponse(path.open(), as_attachment=True, filename=f"{slug}.{name}.csv")


@login_required
@require_GET
def item_rows(request: HttpRequest, slug: str, public_id: str) -> JsonResponse:
    """Send the next rows of the table of items after a key, for the script of the page."""
    _, folder = report_files(request.user, slug, public_id)
    try:
        rows, more = read_item_rows(folder / ITEM_ROWS, after=request.GET.get("after", ""))
    except FileNotFoundError:
        raise Http404("The page of this report has all rows.") from None
    response = JsonResponse({"rows": rows, "more": more})
    response["Cache-Control"] = "private"
    return response


def _may_build(request: HttpRequest, slug: str) -> bool:
    return studies_for(request.user, role=Membership.Role.EDITOR).filter(slug=slug).exists()


def report_files(user: User | AnonymousUser, slug: str, public_id: str) -> tuple[Report, Stored]:
    """A finished report and its folder; 404 if it is not finished or its files are gone."""
    report = get_report(user, slug, public_id)
    folder = report_dir(report.public_id)
    if report.state != Report.State.DONE or not (folder / "report.html").is_file():
        raise Http404("The files of this report do not exist. Build it again.")
    return report, folder
