"""The two pages and the article's tables of a report, to open and to download."""

from django.contrib.auth.decorators import login_required
from django.http import FileResponse, HttpRequest, HttpResponse
from django.views.decorators.gzip import gzip_page
from django.views.decorators.http import require_GET

from analysis.pages.files import drawn, own_page, report_files, scripted_page, zipped


# As the page of the report, these have neither secrets nor words of a request.
@gzip_page
@login_required
@require_GET
def open_article(request: HttpRequest, slug: str, public_id: str) -> HttpResponse:
    """Send the page with the tables and figures as in the source article."""
    report, folder = report_files(request.user, slug, public_id)
    page = drawn(folder / "article/article.html")
    return scripted_page(request, page, report.content_security_policy)


@gzip_page
@login_required
@require_GET
def open_paper(request: HttpRequest, slug: str, public_id: str) -> HttpResponse:
    """Send the report on two pages."""
    _, folder = report_files(request.user, slug, public_id)
    return own_page(drawn(folder / "paper/paper.html").read_bytes())


@login_required
@require_GET
def download_paper(request: HttpRequest, slug: str, public_id: str) -> FileResponse:
    """Download what a paper needs: two pages, figures, tables, report.json, methods, BibTeX."""
    _, folder = report_files(request.user, slug, public_id)
    drawn(folder / "paper/paper.html")
    files = ("paper/", "tables/", "card.", "report.json", "cite.bib", "methods.txt")
    archive = zipped(folder, *files)
    return FileResponse(archive, as_attachment=True, filename=f"{slug}.paper.zip")


@login_required
@require_GET
def download_article(request: HttpRequest, slug: str, public_id: str) -> FileResponse:
    """Download the tables and figures as in the source article."""
    _, folder = report_files(request.user, slug, public_id)
    drawn(folder / "article/article.html")
    archive = zipped(folder, "article/")
    return FileResponse(archive, as_attachment=True, filename=f"{slug}.article.zip")
