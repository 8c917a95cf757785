"""Reports and exports: request, follow, download, delete."""

from datetime import datetime
from functools import partial
from typing import Any, Literal

from django.http import FileResponse, HttpRequest
from ninja import Query, Router, Schema, Status
from pydantic import ConfigDict, Field, JsonValue

from analysis.data.answer_rows import changes_of_people
from analysis.exports.requests import (
    ChangeMoments,
    Since,
    delete_export,
    format_labels,
    note_download,
    request_export,
)
from analysis.lifecycle.requests import request_report
from analysis.lifecycle.storage import BOOTSTRAP_RANGE, SEED_RANGE, get_report, reports_for
from analysis.models import Export, Report
from analysis.pages.export_views import ExportForm, export_file, find_export
from analysis.pages.files import report_files, zipped
from api.problems import Problem
from api.v1.access import (
    EDITOR,
    EXPORT,
    READ,
    VIEWER,
    WRITE,
    needs,
    owns,
    refuse_form,
    study_of,
    user_of,
)
from api.v1.responses import JobOut, PageOf, PageQuery, job_fields, page
from studies.file_storage.storage import Stored

router = Router(tags=["reports"])


class NewReport(Schema):
    """Parameters; missing ones come from the study's plan, or else from the defaults."""

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
def list_reports(request: HttpRequest, slug: str, query: Query[PageQuery]) -> dict[str, Any]:
    """The reports of a study, newest first."""
    study_of(request, slug)
    reports = reports_for(request.user, slug).filter(view={}).order_by("-number")
    if after := query.after("reports", int):
        reports = reports.filter(number__lt=after[0])
    rows = list(reports[: query.limit + 1])
    return page("reports", rows, query, key=lambda report: [report.number], show=_shown_report)


@router.post(
    "studies/{slug}/reports",
    response={202: ReportOut},
    auth=needs(WRITE),
    operation_id="request_report",
)
def create_report(request: HttpRequest, slug: str, body: NewReport) -> Status[dict[str, Any]]:
    """Request a report, which a worker builds; equal reports are not built at the same time."""
    study = study_of(request, slug, EDITOR)
    report = request_report(study_id=study.pk, user=user_of(request), **body.dict())
    return Status(202, _shown_report(get_report(request.user, slug, report.public_id)))


@router.get(
    "studies/{slug}/reports/{report}",
    response=ReportOut,
    auth=needs(READ),
    operation_id="read_report",
)
def read_report(request: HttpRequest, slug: str, report: str) -> dict[str, Any]:
    """A report, or its progress."""
    return _shown_report(get_report(request.user, slug, report))


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
def download_report(
    request: HttpRequest, slug: str, report: str, name: Literal["report.html", "tables.zip"]
) -> Any:
    """The report as one HTML file, or its tables as CSV, XLSX, LaTeX and Markdown in a zip file."""
    folder = _folder(request, slug, report)
    content = zipped(folder, "tables/") if name == "tables.zip" else (folder / name).open()
    return FileResponse(content, as_attachment=True, filename=f"{slug}.{name}")


def _folder(request: HttpRequest, slug: str, public_id: str) -> Stored:
    return report_files(request.user, slug, public_id)[1]


def _shown_report(report: Report) -> dict[str, Any]:
    names = ("number", "threshold", "seed", "bootstrap", "inputs_hash", "withdrawn_since")
    fields = {name: getattr(report, name) for name in names}
    return job_fields(report, report.public_id) | fields


export_router = Router(tags=["exports"])
# What the form of the page offers too; it refuses any other.
_FORMATS: list[JsonValue] = ["", *format_labels()]


class NewExport(Schema):
    """What to export (docs/exports.md). Exports that name people are for owners."""

    model_config = ConfigDict(extra="forbid")

    what: str = Field("all", max_length=20)
    format: str = Field("", max_length=10, json_schema_extra={"enum": _FORMATS})
    licence: str = Field("", max_length=20)
    fresh_pseudonyms: bool = False
    free_text: bool = False
    identified: bool = False
    confirmation: str = Field(
        "", max_length=60, description="The study's short name, for free text and platform ids."
    )


class ExportOut(JobOut):
    what: str
    format: str
    names_people: bool
    rows: dict[str, int] = Field(description="Rows by table.")
    filename: str
    size: int | None = Field(description="Bytes.")
    sha256: str
    expires_at: datetime | None
    withdrawn_since: int = Field(
        description="How many people withdrew after the file was written, which is then no longer "
        "available."
    )
    excluded_since: int = Field(
        description="How often people or items were excluded or included again after it."
    )
    stale: str = Field(description="The same in a sentence; empty if the file is up to date.")


@export_router.get(
    "studies/{slug}/exports",
    response=PageOf[ExportOut],
    auth=needs(READ),
    operation_id="list_exports",
)
def list_exports(request: HttpRequest, slug: str, query: Query[PageQuery]) -> dict[str, Any]:
    """The exports of a study, newest first."""
    study = study_of(request, slug)
    exports, changes = study.exports.order_by("-pk"), changes_of_people(study)
    if after := query.after("exports", int):
        exports = exports.filter(pk__lt=after[0])
    rows = list(exports[: query.limit + 1])
    show = partial(_shown_export, changes=changes)
    return page("exports", rows, query, key=lambda export: [export.pk], show=show)


@export_router.post(
    "studies/{slug}/exports",
    response={202: ExportOut},
    auth=needs(WRITE, EXPORT),
    operation_id="request_export",
)
def create_export(request: HttpRequest, slug: str, body: NewExport) -> Status[dict[str, Any]]:
    """Request an export, which a worker writes."""
    study = study_of(request, slug, EDITOR)
    is_owner = owns(request, study)
    if (body.free_text or body.identified) and not is_owner:
        raise Problem(403, "Only an owner of the study may export data that name people.")
    form = ExportForm(body.dict(), study=study, is_owner=is_owner)
    if not form.is_valid():
        refuse_form(form)
    export = request_export(study_id=study.pk, user=user_of(request), **form.cleaned_data)
    return Status(202, _shown_export(export))


@export_router.get(
    "studies/{slug}/exports/{export}",
    response=ExportOut,
    auth=needs(READ),
    operation_id="read_export",
)
def read_export(request: HttpRequest, slug: str, export: str) -> dict[str, Any]:
    """An export, or its progress."""
    return _shown_export(find_export(request.user, slug, export, role=VIEWER))


@export_router.get(
    "studies/{slug}/exports/{export}/file", auth=needs(EXPORT), operation_id="download_export"
)
def download_export(request: HttpRequest, slug: str, export: str, outdated: bool = False) -> Any:
    """The file of an export. Downloads that name annotators are only for owners, and logged.

    A file from before an exclusion needs `outdated=true`; one from before a withdrawal is not sent.
    """
    row = find_export(request.user, slug, export, role=VIEWER)
    since = Since.of(row, changes_of_people(row.study))
    if since.withdrew:
        raise Problem(409, f"{since.words} The file contains their answers. Request it again.")
    if since.others and not outdated:
        raise Problem(409, f"{since.words} Request it again, or add ?outdated=true.")
    content = export_file(row)
    note_download(export=row, user=user_of(request))
    return FileResponse(content, as_attachment=True, filename=row.filename)


@export_router.delete(
    "studies/{slug}/exports/{export}",
    response={204: None},
    auth=needs(WRITE),
    operation_id="delete_export",
)
def remove_export(request: HttpRequest, slug: str, export: str) -> Status[None]:
    """Delete the file of an export, or stop its writing."""
    row = find_export(request.user, slug, export, role=EDITOR)
    delete_export(export_id=row.pk, user=user_of(request))
    return Status(204, None)


def _shown_export(export: Export, changes: ChangeMoments | None = None) -> dict[str, Any]:
    since = Since.of(export, changes_of_people(export.study) if changes is None else changes)
    names = ("what", "format", "names_people", "rows", "filename", "size", "sha256", "expires_at")
    fields = {name: getattr(export, name) for name in names}
    fields |= {
        "withdrawn_since": since.withdrew,
        "excluded_since": since.others,
        "stale": since.words,
    }
    return job_fields(export, export.public_id) | fields
