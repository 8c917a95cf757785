"""Exports: request, follow, download, delete."""

from datetime import datetime
from functools import partial
from typing import Any, Literal

from django.http import FileResponse, HttpRequest
from ninja import Query, Router, Schema, Status
from pydantic import ConfigDict, Field

from analysis.data.annotators.answers import changes_of_people
from analysis.exports.delivery.listing import Changes, Since
from analysis.exports.delivery.requests import delete_export, note_download, request_export
from analysis.models import Export
from analysis.pages.export_forms import ExportForm
from analysis.pages.export_views import export_file, find_export
from api.problems import Problem
from api.v1.cursors import PageOf, PageQuery, page
from api.v1.faults import refuse_form
from api.v1.jobs import JobOut, job_fields
from api.v1.routes.access import EDITOR, VIEWER, owns, study_of, user_of
from api.v1.scopes import EXPORT, READ, WRITE, needs

router = Router()


class NewExport(Schema):
    """What to export (docs/exports.md). Exports that name people are for owners."""

    model_config = ConfigDict(extra="forbid")

    what: str = Field("all", max_length=20)
    format: Literal["", "jsonl", "csv", "parquet", "xlsx"] = ""
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
        description="People who withdrew after the file was written: it is not given out any more."
    )
    excluded_since: int = Field(
        description="How often people were excluded or included again after it was written."
    )
    stale: str = Field(description="The same in a sentence; empty if the file is up to date.")


@router.get(
    "studies/{slug}/exports",
    response=PageOf[ExportOut],
    auth=needs(READ),
    operation_id="list_exports",
)
def index(request: HttpRequest, slug: str, query: Query[PageQuery]) -> dict[str, Any]:
    """The exports of a study, newest first."""
    study = study_of(request, slug)
    exports, changes = study.exports.order_by("-pk"), changes_of_people(study)
    if after := query.after("exports", int):
        exports = exports.filter(pk__lt=after[0])
    rows = list(exports[: query.limit + 1])
    show = partial(_shown, changes=changes)
    return page("exports", rows, query, key=lambda export: [export.pk], show=show)


@router.post(
    "studies/{slug}/exports",
    response={202: ExportOut},
    auth=needs(WRITE, EXPORT),
    operation_id="request_export",
)
def create(request: HttpRequest, slug: str, body: NewExport) -> Status[dict[str, Any]]:
    """Request an export, which a worker writes."""
    study = study_of(request, slug, EDITOR)
    is_owner = owns(request, study)
    if (body.free_text or body.identified) and not is_owner:
        raise Problem(403, "Only an owner of the study may export data that name people.")
    form = ExportForm(body.dict(), study=study, is_owner=is_owner)
    if not form.is_valid():
        refuse_form(form)
    export = request_export(study_id=study.pk, user=user_of(request), **form.cleaned_data)
    return Status(202, _shown(export))


@router.get(
    "studies/{slug}/exports/{export}",
    response=ExportOut,
    auth=needs(READ),
    operation_id="read_export",
)
def read(request: HttpRequest, slug: str, export: str) -> dict[str, Any]:
    """An export, or the progress of its writing."""
    return _shown(find_export(request.user, slug, export, role=VIEWER))


@router.get(
    "studies/{slug}/exports/{export}/file", auth=needs(EXPORT), operation_id="download_export"
)
def download(request: HttpRequest, slug: str, export: str, outdated: bool = False) -> Any:
    """The file of an export. Copies that name annotators are for owners, and are logged.

    One from before somebody was excluded is sent with `outdated=true`; from before somebody
    withdrew, not at all.
    """
    found = find_export(request.user, slug, export, role=VIEWER)
    since = Since.of(found, changes_of_people(found.study))
    if since.withdrew:
        raise Problem(409, f"{since.words} The file holds their answers. Request it again.")
    if since.others and not outdated:
        raise Problem(409, f"{since.words} Request it again, or add ?outdated=true.")
    content = export_file(found)
    note_download(export=found, user=user_of(request))
    return FileResponse(content, as_attachment=True, filename=found.filename)


@router.delete(
    "studies/{slug}/exports/{export}",
    response={204: None},
    auth=needs(WRITE),
    operation_id="delete_export",
)
def delete(request: HttpRequest, slug: str, export: str) -> Status[None]:
    """Delete the file of an export, or stop its writing."""
    found = find_export(request.user, slug, export, role=EDITOR)
    delete_export(export_id=found.pk, user=user_of(request))
    return Status(204, None)


def _shown(export: Export, changes: Changes | None = None) -> dict[str, Any]:
    since = Since.of(export, changes_of_people(export.study) if changes is None else changes)
    names = ("what", "format", "names_people", "rows", "filename", "size", "sha256", "expires_at")
    fields = {name: getattr(export, name) for name in names}
    fields |= {
        "withdrawn_since": since.withdrew,
        "excluded_since": since.others,
        "stale": since.words,
    }
    return job_fields(export, export.public_id) | fields
