"""A report's files: its pages with their own policies, its pictures, and downloads."""

import io
import json
import shutil
import zipfile

from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import AnonymousUser, User
from django.http import FileResponse, Http404, HttpRequest, HttpResponse, JsonResponse
from django.templatetags.static import static
from django.urls import reverse
from django.views.decorators.gzip import gzip_page
from django.views.decorators.http import require_GET

from analysis.errors import BadParameters
from analysis.lifecycle.storage import ITEM_ROWS, get_report, report_dir
from analysis.models import Report
from analysis.report.rules import MORE_PAGES, PLOTLY
from analysis.report.table_files import read_item_rows
from studies.file_storage.storage import Stored

# In templates/analysis/report/document.html.
PLOTLY_PLACE = b"<!-- plotly -->"
# Of a page without scripts, whose pictures are inside it.
_STYLED = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"


def report_files(user: User | AnonymousUser, slug: str, public_id: str) -> tuple[Report, Stored]:
    """A finished report and its folder; 404 if it is not finished or its files are gone."""
    report = get_report(user, slug, public_id)
    folder = report_dir(report.public_id)
    if report.state != Report.State.DONE or not (folder / "report.html").is_file():
        raise Http404("The files of this report do not exist. Build it again.")
    return report, folder


# The pages of a report have neither secrets nor words of a request, so they may be compressed.
@gzip_page
@login_required
@require_GET
def open_report(request: HttpRequest, slug: str, public_id: str) -> HttpResponse:
    """Send the report with its own content security policy."""
    report, folder = report_files(request.user, slug, public_id)
    return scripted_page(
        request, folder / "report.html", report.content_security_policy, study=slug
    )


@gzip_page
@login_required
@require_GET
def open_own_page(request: HttpRequest, slug: str, public_id: str, name: str) -> HttpResponse:
    """Make a page of an extra from the report's numbers."""
    report, folder = report_files(request.user, slug, public_id)
    page = next((page for page in MORE_PAGES if page.name == name), None)
    if page is None:
        raise Http404("There is no such page of a report.")
    from analysis.data.runs import asked_on  # loads arrays, which other files do not need

    result = json.loads((folder / "report.json").read_bytes())
    try:
        html = page.html(
            result,
            date=report.created_at.date(),
            asked_on=asked_on(slug),
            judge=request.GET.get("judge", ""),
            is_served=True,
        )
    except BadParameters as error:
        raise Http404(str(error)) from None
    return own_page(with_way_back(html.encode(), slug))


def with_way_back(html: bytes, slug: str) -> bytes:
    """The page with a link to the reports of its study, which a downloaded file does not have."""
    address = reverse("analysis:list", args=[slug])
    link = f'<nav aria-label="Back"><p><a href="{address}">‹ Reports</a></p></nav>'
    return html.replace(b'<div class="frame">', f'<div class="frame">\n{link}'.encode(), 1)


def scripted_page(
    request: HttpRequest, page: Stored, policy: str, *, study: str = ""
) -> HttpResponse:
    """A stored page, with plotly as a file that comes later and that browsers keep.

    Pages of older versions have it inside, and stay as they are.
    """
    html = page.read_bytes()
    if study:
        html = with_way_back(html, study)
    if PLOTLY_PLACE in html:
        html, policy = with_plotly(request, html, policy)
    return own_page(html, policy)


def with_plotly(request: HttpRequest, html: bytes, policy: str) -> tuple[bytes, str]:
    """The page and its policy with plotly, which draws over the still pictures."""
    html = html.replace(PLOTLY_PLACE, f'<script async src="{static(PLOTLY)}"></script>'.encode())
    address = request.build_absolute_uri(static(PLOTLY))
    html = html.replace(b"script-src ", f"script-src {address} ".encode(), 1)
    return html, policy.replace("script-src ", f"script-src {address} ")


def own_page(html: bytes, policy: str = _STYLED) -> HttpResponse:
    """A page with its own content security policy; by default without scripts."""
    response = HttpResponse(html, content_type="text/html")
    response["Content-Security-Policy"] = f"{policy}; frame-ancestors 'none'"
    response["Cache-Control"] = "private"
    return response


def drawn(file: Stored) -> Stored:
    """A file that a worker draws with a report; 404 for reports that are older than the file."""
    if not file.is_file():
        raise Http404("This report has no such file. Build it again.")
    return file


@login_required
@require_GET
def card(request: HttpRequest, slug: str, public_id: str, kind: str) -> FileResponse:
    """Send the verdict as a card, a picture."""
    _, folder = report_files(request.user, slug, public_id)
    return card_picture(folder / f"card.{kind}", kind, slug)


def card_picture(stored: Stored, kind: str, name: str) -> FileResponse:
    file = drawn(stored).open()
    content_type = {"svg": "image/svg+xml", "png": "image/png"}[kind]
    response = FileResponse(file, content_type=content_type, filename=f"{name}.card.{kind}")
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
    archive = zipped(folder, "tables/")
    return FileResponse(archive, as_attachment=True, filename=f"{slug}.tables.zip")


def zipped(folder: Stored, *beginnings: str) -> io.BytesIO:
    """The files of a report whose paths begin with one of these words, as a zip file."""
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as bundle:
        for file in folder.files():
            inside = file.path.removeprefix(f"{folder.path}/")
            if inside.startswith(beginnings):
                with file.open() as source, bundle.open(inside, "w") as out:
                    shutil.copyfileobj(source, out)
    archive.seek(0)
    return archive


@login_required
@require_GET
def download_table(request: HttpRequest, slug: str, public_id: str, name: str) -> FileResponse:
    """Send one table as CSV, because the page links to files in the report's folder."""
    _, folder = report_files(request.user, slug, public_id)
    path = folder / "tables" / f"{name}.csv"
    if not path.is_file():
        raise Http404("The report has no such table.")
    return FileResponse(path.open(), as_attachment=True, filename=f"{slug}.{name}.csv")


@login_required
@require_GET
def item_rows(request: HttpRequest, slug: str, public_id: str) -> JsonResponse:
    """Send the next rows of the items table after a key, for the page's script."""
    _, folder = report_files(request.user, slug, public_id)
    try:
        rows, more = read_item_rows(folder / ITEM_ROWS, after=request.GET.get("after", ""))
    except FileNotFoundError:
        raise Http404("The page of this report has all rows.") from None
    response = JsonResponse({"rows": rows, "more": more})
    response["Cache-Control"] = "private"
    return response
