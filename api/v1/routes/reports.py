"""Reports: request, follow, and their files."""

from typing import Any, Literal

from django.http import FileResponse, HttpRequest
from ninja import Query, Router, Schema, Status
from pydantic import ConfigDict, Field

from analysis.lifecycle.parameters import BOOTSTRAP_RANGE, SEED_RANGE
from analysis.lifecycle.requests import request_report
from analysis.models import Report
from analysis.pages.views import report_files, zipped_tables
from analysis.selectors import get_report, reports_for
from api.v1.cursors import PageOf, PageQuery, page
from api.v1.jobs import JobOut, job_fields
from api.v1.routes.access import EDITOR, study_of, user_of
from api.v1.scopes import READ, WRITE, needs
from studies.file_storage.stored import Stored

router = Router()


class NewReport(Schema):
    """Parameters; one that is left out comes from the study's plan, else from the defaults."""

    model_config = ConfigDict(extra="forbid")

    threshold: int | None = Field(None, ge=1, le=100)
    seed: int | None = Field(None, ge=SEED_RANGE[0], le=SEED_RANGE[1])
    bootstrap: int | None = Field(None, ge=BOOTSTRAP_RANGE[0], le=BOOTSTRAP_RANGE[1])


class ReportOut(JobOut):
    number: int = Field(description="1, 2, … within the study.")
    threshold: int
    seed: int
    bootstrap: int
    inputs_hash: str = Field(description="Of the data; empty until it is built.")
    withdrawn_since: int | None = Field(
        description="Answers that were withdrawn after it was built; null until it is built."
    )


@router.get(
    "studies/{slug}/reports",
    response=PageOf[ReportOut],
    auth=needs(READ),
    operation_id="list_reports",
)
def index(request: HttpRequest, slug: str, query: Query[PageQuery]) -> dict[str, Any]:
    """The reports of a study, newest first."""
    study_of(request, slug)
    reports = reports_for(request.user, slug).order_by("-number")
    if after := query.after("reports", int):
        reports = reports.filter(number__lt=after[0])
    rows = list(reports[: query.limit + 1])
    return page("reports", rows, query, key=lambda report: [report.number], show=_shown)


@router.post(
    "studies/{slug}/reports",
    response={202: ReportOut},
    auth=needs(WRITE),
    operation_id="request_report",
)
def create(request: HttpRequest, slug: str, body: NewReport) -> Status[dict[str, Any]]:
    """Request a report, which a worker builds; the same is not built twice at a time."""
    study = study_of(request, slug, EDITOR)
    report = request_report(study_id=study.pk, user=user_of(request), **body.dict())
    return Status(202, _shown(get_report(request.user, slug, report.public_id)))


@router.get(
    "studies/{slug}/reports/{report}",
    response=ReportOut,
    auth=needs(READ),
    operation_id="read_report",
)
def read(request: HttpRequest, slug: str, report: str) -> dict[str, Any]:
    """A report, or the progress of its building."""
    return _shown(get_report(request.user, slug, report))


@router.get(
    "studies/{slug}/reports/{report}/report.json",
    response=dict[str, Any],
    auth=needs(READ),
    operation_id="read_report_json",
)
def numbers(request: HttpRequest, slug: str, report: str) -> Any:
    """Every number of a report (docs/reports.md)."""
    folder = _folder(request, slug, report)
    return FileResponse((folder / "report.json").open(), content_type="application/json")


@router.get(
    "studies/{slug}/reports/{report}/files/{name}",
    auth=needs(READ),
    operation_id="download_report_file",
)
def download(
    request: HttpRequest, slug: str, report: str, name: Literal["report.html", "tables.zip"]
) -> Any:
    """The report as one HTML file, or its tables as CSV, XLSX, LaTeX and Markdown in a zip file."""
    folder = _folder(request, slug, report)
    content = zipped_tables(folder) if name == "tables.zip" else (folder / name).open()
    return FileResponse(content, as_attachment=True, filename=f"{slug}.{name}")


def _folder(request: HttpRequest, slug: str, public_id: str) -> Stored:
    return report_files(request.user, slug, public_id)[1]


def _shown(report: Report) -> dict[str, Any]:
    names = ("number", "threshold", "seed", "bootstrap", "inputs_hash", "withdrawn_since")
    fields = {name: getattr(report, name) for name in names}
    return job_fields(report, report.public_id) | fields
