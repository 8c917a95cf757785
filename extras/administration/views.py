"""The administrators' pages: only superusers see them, others get a 404."""

import io
import tempfile
import zipfile
from collections.abc import Callable, Iterable, Iterator
from functools import wraps
from pathlib import Path
from typing import Any

from django.contrib.auth.decorators import login_required
from django.core.paginator import Page, Paginator
from django.db.models import QuerySet
from django.http import (
    FileResponse,
    Http404,
    HttpRequest,
    HttpResponse,
    HttpResponseBase,
    StreamingHttpResponse,
)
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_GET

from config.health import free_bytes
from extras.administration import selectors
from extras.administration.models import BackupJob
from studies.exporters.tables import workbook
from studies.file_storage.storage import Stored
from studies.models import Heartbeat, Retention, Study
from studies.pages.listing import ARCHIVED
from studies.pages.responses import csv_response
from studies.pages.workbench import PageLink
from studies.version import version

_PER_PAGE = 50
LINK = PageLink("administration", "Administration", lambda: reverse("administration:studies"))


def for_superusers(
    view: Callable[..., HttpResponseBase],
) -> Callable[..., HttpResponseBase]:
    @login_required
    @wraps(view)
    def checked(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        if not request.user.is_superuser:
            raise Http404
        return view(request, *args, **kwargs)

    return checked


@require_GET
@for_superusers
def studies(request: HttpRequest) -> HttpResponse | FileResponse:
    """Every study, with the agreement in its latest report; also as a file."""
    chosen = {name: request.GET.get(name, "") for name in ("search", "state", "people")}
    matching = selectors.all_studies(**chosen)
    if request.GET.get("format") == "csv":
        rows = selectors.agreement_rows(matching)
        return csv_response("agreement", selectors.FILE_COLUMNS, map(dict.values, rows))
    if request.GET.get("format") == "xlsx":
        return _workbook(selectors.agreement_rows(matching))
    page = page_of(request, matching)
    on_page = list(page)
    agreement, owners = selectors.agreement_of(on_page), selectors.owners_of(on_page)
    context = {
        "page": page,
        "rows": [(s, owners.get(s.pk, ""), agreement.get(s.pk)) for s in on_page],
        "chosen": chosen,
        "states": [*Study.State.choices, (ARCHIVED, "archived")],
        "people": selectors.PEOPLE.items(),
        "nothing": [selectors.ReportedShare()] * 3,
        "is_filtered": any(chosen.values()),
    }
    return render(request, "administration/studies.html", context)


def _workbook(rows: Iterable[dict[str, Any]]) -> FileResponse:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "agreement.xlsx"
        with workbook(path) as book:
            sheet = book.sheet("agreement", list(selectors.FILE_COLUMNS))
            sheet.rows(tuple(row.values()) for row in rows)
            about = book.sheet("columns", ["column", "meaning"])
            about.rows(selectors.FILE_COLUMNS.items())
        content = io.BytesIO(path.read_bytes())
    return FileResponse(content, as_attachment=True, filename=path.name)


@require_GET
@for_superusers
def reports(request: HttpRequest) -> HttpResponse:
    """List all reports of all studies, to open and to download."""
    page = page_of(request, selectors.all_reports())
    return render(request, "administration/reports.html", {"page": page})


_BLOCK = 256 * 1024


class ArchiveSink(io.RawIOBase):
    """Collects what `zipfile` writes, until it is taken."""

    def __init__(self) -> None:
        self._blocks: list[bytes] = []

    def writable(self) -> bool:
        return True

    def write(self, block: "bytes | bytearray | memoryview") -> int:  # type: ignore[override]
        self._blocks.append(bytes(block))
        return len(block)

    def take(self) -> bytes:
        taken, self._blocks = b"".join(self._blocks), []
        return taken


def zipped(files: Iterable[tuple[str, Stored]]) -> Iterator[bytes]:
    """The files under their names, block by block. One that is gone meanwhile is left out."""
    sink = ArchiveSink()
    with zipfile.ZipFile(sink, "w", zipfile.ZIP_DEFLATED) as bundle:
        for name, stored in files:
            try:
                source = stored.open()
            except FileNotFoundError:
                continue
            with source, bundle.open(name, "w", force_zip64=True) as member:
                while block := source.read(_BLOCK):
                    member.write(block)
                    yield sink.take()
    yield sink.take()


@require_GET
@for_superusers
def reports_file(request: HttpRequest) -> StreamingHttpResponse:
    """The latest report of every study with its numbers and tables, in one zip file."""
    response = StreamingHttpResponse(zipped(selectors.files_of_reports()), "application/zip")
    response["Content-Disposition"] = 'attachment; filename="reports.zip"'
    return response


@require_GET
@for_superusers
def installation(request: HttpRequest) -> HttpResponse:
    """Health of the server's parts, and what is on its disk."""
    context = {
        "parts": selectors.parts(),
        "version": version(),
        "storage": selectors.storage(),
        "files": selectors.files_location(),
        "free": free_bytes(),
        "processes": Heartbeat.objects.order_by("role"),
        "work": selectors.work(),
        "job": BackupJob.objects.first(),
        "backups": selectors.backups(),
        "due": Retention.objects.exclude(obstacle="").select_related("study"),
    }
    return render(request, "administration/server.html", context)


def page_of(request: HttpRequest, rows: QuerySet[Any]) -> Page:
    return Paginator(rows, _PER_PAGE).get_page(request.GET.get("page"))
